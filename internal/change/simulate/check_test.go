package simulate

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"piton/internal/change"
	"piton/internal/change/guard"
	"piton/internal/change/history"
	"piton/internal/change/journal"
)

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
	w.cells(func(c *cell) {
		if why := w.unclear(c); why != "" {
			c.excuse(why)
		}
		if c.excused == "" && !same(c.value, c.base) {
			w.violate("%s is %s after undo --all, and was %s", c, c.value, c.base)
		}
	})
}

// unclear says why the contract of undo does not say what a cell has in the end, "" if it does.
// Each undo restores what its entry found. A guard reads no journal, so that it may leave to a
// newer entry what that has found of its own; and tasks that were born since get what was there
// before if they have exactly what was set.
func (w *world) unclear(c *cell) string {
	born, kin := c.creator() != nil, []*cell{c}
	if born {
		kin = w.kin(c)
	}
	var first, guard *actor
	undone, trial := false, false
	for _, k := range kin {
		if born && k.foreign > 0 {
			return "somebody else has set what it could have been born with"
		}
		for _, x := range k.writes {
			by := x.by
			switch {
			case by == nil:
				continue
			case by.disk.lostEntryOf(by):
				return "an entry was damaged"
			case first != nil && (by.disk != first.disk || by.namespaces != first.namespaces):
				return "two journals, or pitons of two namespaces, have each the half of it"
			case by.guard != nil && guard != nil && guard != by && (born || undone):
				return "the guard of an older change came first"
			case by.guard != nil && !slices.ContainsFunc(k.writes, func(o write) bool { return o.by == by.guard.maker }):
				return "a guard took what an older one had restored for what its own piton was about to set"
			}
			if first = cmp.Or(first, by); by.guard != nil {
				guard = by
			}
			undone = undone || by.guard == nil && by.undoes
			trial = trial || by.tries
		}
	}
	switch {
	case born && c.descended() && c.task.orphaned():
		return "a parent has ended"
	case born && (trial || guard != nil) && len(c.writes) > 0 && same(c.value, c.writes[0].old):
		return "what its first entry found is restored, and it was born with that"
	}
	return ""
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
			said := slices.ContainsFunc(armed, func(s history.GuardState) bool { return s.Entry == entry && s.Lost })
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
