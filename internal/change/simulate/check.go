package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
)

// allows reports whether the kernel takes a value for the task.
func (t *task) allows(a attr.Attribute, v attr.Value) bool {
	return a != attr.Affinity || !t.leader.limited || !attr.CPUs(v).And(limited).Empty()
}

// write is a write by a piton or a guard, which must be one that somebody asked for.
func (a *actor) write(c *cell, v attr.Value) {
	if why := a.unasked(c, v); why != "" {
		a.violate("%s sets %s to %s: %s", a.name, c, v, why)
	}
	a.set(c, v, a)
	if a.guard != nil || a.undoes {
		return
	}
	for _, w := range a.wishes {
		if w.covers(a.piton, c) {
			c.single = c.single || w.target.Scope == change.ScopeThread
		}
	}
}

// unasked says why nobody asked for a write, "" if somebody did.
func (a *actor) unasked(c *cell, v attr.Value) string {
	if c.task != nil && c.attribute == attr.Affinity && c.task.leader.limited {
		v = attr.CPUs(v).And(limited)
	}
	switch {
	case a.guard != nil && a.guard.kept:
		return "the change was confirmed"
	case a.guard != nil || a.undoes || a.tries && !a.wants(c, v):
		asked := slices.ContainsFunc(a.pitons, func(p *piton) bool { return p.disk == a.disk && p.asks(c) })
		switch {
		case c.task != nil && c.drifted() && slices.ContainsFunc(a.all, func(t *task) bool {
			return c.task.descends(t) && (t.cell(c.attribute).ours || a.tried(t.cell(c.attribute), c.value))
		}):
			c.excuse("somebody else has set it to what it could have inherited from piton")
		case !asked && !c.ours:
			return "piton has never been asked to change it"
		case c.hadValue(v):
		case c.guessed, c.creator() != nil && slices.ContainsFunc(a.all, func(t *task) bool {
			return c.task.descends(t) && t.cell(c.attribute).hadValue(v)
		}):
			c.excuse("nobody knows from which thread it has what")
		default:
			return "it never had that value"
		}
		return ""
	case a.danger && !a.consent.Yes && a.consent.RevertAfter == 0:
		return "nobody consented"
	case !a.asks(c):
		return "nobody asked for it"
	case !a.isolates.Empty():
		if !attr.CPUs(v).And(a.isolates).Empty() {
			return "it keeps CPUs that are to be isolated"
		}
		return ""
	case !a.wants(c, v):
		return "another value was asked for"
	case c.task != nil && c.task.busy && c.task.born < a.began && attr.PolicyOf(v).Crowds() && !a.consent.Yes && a.consent.RevertAfter == 0 && a.disturbed == "":
		return "it is busy, and nobody consented"
	}
	return ""
}

// tried reports whether a trial may have left the value in the cell, as its entry says.
func (a *actor) tried(c *cell, v attr.Value) bool {
	return slices.ContainsFunc(a.pitons, func(p *piton) bool { return p.disk == a.disk && p.tries && p.wants(c, v) })
}

// asks reports whether a cell is among those that the piton was asked to change.
func (p *piton) asks(c *cell) bool {
	if !p.isolates.Empty() {
		return c.attribute == attr.Affinity || c.attribute == attr.IRQAffinity
	}
	return slices.ContainsFunc(p.wishes, func(w wish) bool { return w.covers(p, c) })
}

// covers reports whether a cell is of what the wish means.
func (w wish) covers(p *piton, c *cell) bool {
	if w.file != nil || c.task == nil {
		return w.file != nil && c.path == w.file.Path
	}
	if !slices.ContainsFunc(w.set, func(s attr.Setting) bool { return s.Attribute == c.attribute }) {
		return false
	}
	if w.meant != nil {
		return w.reaches(w.meant, c.task)
	}
	return slices.ContainsFunc(p.its.all, func(t *task) bool {
		named := t.tid == w.target.TID || t.inner == w.target.TID
		return named && (p.planned == 0 || t.born <= p.planned) && w.reaches(t, c.task)
	})
}

func (w wish) reaches(top, t *task) bool {
	switch w.target.Scope {
	case change.ScopeThread:
		return t == top
	case change.ScopeTree:
		return t.descends(top)
	}
	return t.leader == top.leader
}

// wants reports whether one of the wishes makes the value of the cell: they may overlap.
func (p *piton) wants(c *cell, v attr.Value) bool {
	return slices.ContainsFunc(p.wishes, func(w wish) bool { return w.covers(p, c) && w.wants(c, v) })
}

// wants reports whether the value is what the wish makes of the cell.
func (w wish) wants(c *cell, v attr.Value) bool {
	if w.file != nil {
		return same(w.file.Value, v)
	}
	return slices.ContainsFunc(w.set, func(s attr.Setting) bool { return s.Attribute == c.attribute && same(cut(c, s.Value), v) })
}

// cut is what the kernel makes of a value.
func cut(c *cell, v attr.Value) attr.Value {
	if set, ok := v.(cpuset.Set); ok && c.task != nil && c.task.leader.limited {
		return set.And(limited)
	}
	return v
}

// changed is something that is other than before the actor wrote it, by its doing.
func (a *actor) changed() *cell {
	var found *cell
	a.cells(func(c *cell) {
		last, ok := c.lastBy(a)
		if !ok || a.tries && c.task != nil && c.task.born >= a.planned { // it was born with what was being tried
			return
		}
		first := slices.IndexFunc(c.writes, func(w write) bool { return w.by == a })
		if same(c.writes[first].old, c.writes[first].new) && a.overtaken(c) {
			return // set by another between its look and its write to what it wrote: nothing tells
		}
		if !same(c.writes[first].old, last.new) {
			found = c
		}
	})
	return found
}

// judge checks what piton says of a plan that it has carried out.
func (a *actor) judge(o change.Outcome, err error) {
	verdict := o.Verdict()
	a.log("says %v: %v, %d changes, entry %d, undone %v", verdict, err, len(o.Changes), o.Entry, o.Undone)
	for _, c := range o.Changes {
		a.log("  %s %s %s -> %s: %s %s", c.Object.Object(), c.Attribute, attr.Text(c.Before), attr.Text(c.After), c.Status, c.Why())
	}
	if errors.Is(err, context.Canceled) {
		return // its exit code says no more than that
	}
	if err != nil && !o.Changed() || err == nil && (verdict == change.Failed || verdict == change.NotPermitted) {
		if c := a.changed(); c != nil {
			a.violate("%s says that nothing was changed (verdict %d, %v), and %s was", a.name, verdict, err, c)
		}
	}
	if a.undoes && errors.Is(err, syscall.ENOSPC) {
		a.violate("a full disk keeps piton from undoing: %v", err)
	}
}

// fulfilled checks that all that was asked for is so, if piton says so.
func (a *actor) fulfilled(o change.Outcome) {
	if o.Verdict() != change.AllDone {
		return
	}
	a.cells(func(c *cell) {
		if (c.attribute == attr.Policy || c.attribute == attr.Nice) && c.task.born > a.carried && slices.ContainsFunc(a.wishes, wish.resets) {
			return // it was born ordinary, as was asked for
		}
		if from := c.creator(); from != nil && a.wants(from, c.value) {
			return // it was born when all was done, of a task for which something else was asked
		}
		for _, w := range a.wishes {
			if w.meant == nil && w.file == nil {
				continue // whoever had the number at the time
			}
			if !w.covers(a.piton, c) || a.wants(c, c.value) || a.overtaken(c) || c.task != nil && !c.task.below(w.meant) {
				continue
			}
			a.violate("%s says that all was done, and %s is %s", a.name, c, c.value)
		}
	})
}

// overtaken reports whether somebody else has set the value, or that of a thread from
// which it may have been inherited, since the actor began to set it.
func (a *actor) overtaken(c *cell) bool {
	for ; c != nil; c = c.creator() {
		for _, w := range c.writes {
			if w.by != a && w.step >= a.carried {
				return true
			}
		}
	}
	return false
}

// drifted reports whether somebody else has set it, or what it was inherited from.
func (c *cell) drifted() bool {
	for ; c != nil; c = c.creator() {
		if c.foreign > 0 {
			return true
		}
	}
	return false
}

// descended reports whether a task from which the cell's descends was changed by piton.
func (c *cell) descended() bool {
	for from := c.creator(); from != nil; from = from.creator() {
		if from.ours {
			return true
		}
	}
	return false
}

func (c *cell) creator() *cell {
	if c.task == nil || c.task.creator == nil {
		return nil
	}
	return c.task.creator.cell(c.attribute)
}

// guardBound is how long a guard may take to revert a change when its time has come.
const guardBound = 2 * time.Second

// inTime checks that changes which nobody confirmed are back when they should be.
func (w *world) inTime() {
	for _, g := range w.guards {
		if g.late || g.Sentry == nil {
			continue
		}
		state, entry := g.State()
		due := g.Due()
		if entry == 0 || due == 0 || w.now < due+guardBound {
			continue
		}
		g.late = true
		if state == guard.Kept || state == guard.Undone || g.actor.disturbed != "" || g.maker.disturbed != "" {
			continue
		}
		if c := g.maker.changed(); c != nil && c.excused == "" {
			w.violate("%s of %s is not back %v after its time", c, g.maker.name, guardBound)
		}
	}
}

// check heals the world, and checks that it can be restored.
func (w *world) check() {
	if w.violation != "" {
		return
	}
	w.heal()
	w.run()
	w.lost()
	w.restore()
	w.journals()
	if w.violation != "" {
		return
	}
	w.damaged()
	w.cells(func(c *cell) {
		var first, guard *actor
		for from := c; from != nil; from = from.creator() {
			for _, w := range from.writes {
				if w.by != nil && w.by.guard != nil {
					if guard != nil && guard != w.by && c.creator() != nil {
						c.excuse("two guards reverted what it inherited, the older one first")
					}
					guard = w.by
				}
				if first == nil {
					first = w.by
				} else if w.by != nil && (w.by.disk != first.disk || w.by.namespaces != first.namespaces) {
					c.excuse("two journals, or pitons of two namespaces, have each the half of it")
				}
			}
		}
		for from := c.creator(); from != nil && c.foreign > 0; from = from.creator() {
			if from.ours && from.hadValue(c.base) {
				c.excuse("somebody else has set it to what it could have inherited from piton")
			}
		}
		if c.bornTried() {
			c.excuse("it was born with what was being tried, and then another piton changed that, or its creator ended")
		}
		if c.excused == "" && !same(c.value, c.base) {
			w.violate("%s is %s after undo --all, and was %s", c, c.value, c.base)
		}
	})
}

// bornTried reports whether a trial's value was inherited, and another piton was the first
// to write to it, in whose journal that is what it found; or nobody did, and the task from
// which it was inherited has ended, which other threads of the process need not be like.
func (c *cell) bornTried() bool {
	var first *piton
	switch {
	case c.creator() == nil:
		return false
	case len(c.writes) == 0 && !c.creator().task.gone:
		return false
	case len(c.writes) > 0 && (c.writes[0].by == nil || same(c.writes[0].old, c.base)):
		return false
	case len(c.writes) > 0:
		first = c.writes[0].by.piton
	}
	for from := c.creator(); from != nil; from = from.creator() {
		if slices.ContainsFunc(from.writes, func(w write) bool { return w.by != nil && w.by.tries && w.by.piton != first }) {
			return true
		}
	}
	return false
}

// damaged excuses what entries changed of which the world has damaged a line.
func (w *world) damaged() {
	for _, d := range w.disks {
		w.cells(func(c *cell) {
			for from := c; from != nil; from = from.creator() {
				if slices.ContainsFunc(from.writes, func(w write) bool { return w.by != nil && w.by.disk == d && d.lostEntryOf(w.by) }) {
					c.excuse("an entry was damaged")
				}
			}
		})
	}
}

func (d *disk) lostEntryOf(a *actor) bool {
	if d.hurt[0] {
		return true
	}
	for id := range d.hurt {
		if slices.Contains(d.author[id], a) {
			return true
		}
	}
	return false
}

// heal ends all that is bad, and lets everybody go on.
func (w *world) heal() {
	w.log("the world is healed")
	w.healed = true
	for _, d := range w.disks {
		d.full = false
	}
	for _, a := range w.actors {
		a.stopped, a.starved = false, 0
	}
}

// do has a fresh piton do something and end.
func (w *world) do(name string, p *piton, f func(a *actor)) {
	if w.violation != "" {
		return
	}
	a := w.spawn(name, f)
	a.piton = p
	w.run()
}

// lost checks that no guard is lost without piton saying so.
func (w *world) lost() {
	for _, g := range w.guards {
		if g.Sentry == nil || !g.actor.dead {
			continue
		}
		state, entry := g.State()
		if entry == 0 || state == guard.Kept || state == guard.Undone || state == guard.Reverted {
			continue
		}
		w.do("piton keep", &piton{disk: g.maker.disk, namespaces: g.maker.namespaces}, func(a *actor) {
			armed, err := a.launcher().List()
			said := slices.ContainsFunc(armed, func(s change.GuardState) bool { return s.Entry == entry && s.Lost })
			if err != nil || !said {
				w.violate("%s is lost (%v), and piton does not say so: %+v, %v", g.actor.name, state, armed, err)
			}
		})
	}
}

// origins are where entries may have been made.
func (w *world) origins() []namespaces {
	if !w.fate.foreign {
		return []namespaces{{}}
	}
	return []namespaces{{}, {shift: 100_000}, {inner: true}, {inner: true, shift: 100_000}}
}

// restore undoes everything, until that changes nothing more.
func (w *world) restore() {
	const rounds = 5
	more := true
	for range rounds {
		if !more {
			return
		}
		more = false
		for _, d := range w.disks {
			for _, ns := range w.origins() {
				w.do("the last undo", &piton{disk: d, namespaces: ns}, func(a *actor) {
					o, _ := a.undo(change.UndoRequest{All: true})
					more = more || o.Changed() || len(o.Undone) > 0
				})
			}
		}
	}
}

// journals checks that the journals can be read, and say only what happened.
func (w *world) journals() {
	for _, d := range w.disks {
		w.do("piton journal", &piton{disk: d}, func(a *actor) {
			entries, damage, err := journal.New(&store{disk: d, a: a}, a.where()).Entries()
			if err != nil {
				w.violate("journal %s cannot be read: %v", d.name, err)
			}
			lines := bytes.Split(d.data, []byte{'\n'})
			for _, x := range damage {
				if line := string(bytes.TrimSpace(lines[x.Line-1])); d.lines[line] && !d.hurt[idOf(line)] && !d.hurt[0] {
					w.violate("journal %s: %v, and nobody damaged it: %s", d.name, x, line)
				}
			}
			for _, e := range entries {
				d.told(e)
			}
		})
	}
}

// told checks that what an entry says was done was.
func (d *disk) told(e journal.Entry) {
	if e.PastBoot || d.hurt[e.ID] || len(d.author[e.ID]) == 0 {
		return
	}
	by := d.author[e.ID][len(d.author[e.ID])-1]
	for _, c := range e.Changes {
		if c.Status != attr.Done {
			continue
		}
		found := false
		meant := d.w.some(func(t *task) bool { return t.start+by.shift == c.StartTicks && view{by}.number(t) == c.TID })
		d.w.each(func(x *cell) {
			// A later thread of the process with the number is as good as the one that was meant.
			if x.attribute != c.Attribute || x.path != c.Path || x.task != nil && (meant == nil || x.task.tid != meant.tid || x.task.leader != meant.leader) {
				return
			}
			// What it reads back may be from somebody else, and newborns have what they inherited.
			wrote := slices.ContainsFunc(x.writes, func(w write) bool { return w.by == by })
			found = found || (wrote || x.creator() != nil) && x.hadValue(c.After)
		})
		if !found {
			d.w.violate("entry %d of journal %s says %s of %s was set to %s, and it was not", e.ID, d.name, c.Attribute, c.Object.Object(), c.After)
		}
	}
}

// each calls f with every cell that there was in this boot.
func (w *world) each(f func(*cell)) {
	for _, t := range w.all {
		for i := range t.cells {
			f(&t.cells[i])
		}
	}
	for _, c := range w.files {
		f(c)
	}
}

// resets reports whether children are to be ordinary.
func (w wish) resets() bool {
	return slices.ContainsFunc(w.set, func(s attr.Setting) bool { return attr.PolicyOf(s.Value).ResetOnFork })
}

func (w wish) String() string {
	if w.file != nil {
		return fmt.Sprintf("%s=%s", w.file.Path, w.file.Value)
	}
	return fmt.Sprintf("%d@%d/%d %v", w.target.TID, w.target.StartTicks, w.target.Scope, w.set)
}
