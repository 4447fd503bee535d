package simulate

import (
	"bytes"
	"slices"
	"time"

	"piton/internal/change"
	"piton/internal/change/guard"
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
	w.damaged()
	w.cells(func(c *cell) {
		var first, guard *actor
		undone := false // by hand, before a guard wrote
		for from := c; from != nil; from = from.creator() {
			for _, w := range from.writes {
				if w.by != nil && w.by.guard != nil {
					switch {
					case guard == nil || guard == w.by:
					case c.creator() != nil:
						c.excuse("two guards reverted what it inherited, the older one first")
					case undone:
						c.excuse("two guards reverted what an undo of the newer change had restored, the older one first")
					case !slices.ContainsFunc(from.writes, func(o write) bool { return o.by == w.by.guard.maker }):
						c.excuse("a guard took what an older one had restored for what its own piton was about to set")
					}
					guard = w.by
				}
				undone = undone || w.by != nil && w.by.guard == nil && w.by.undoes
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
		if from := c.creator(); from != nil && slices.ContainsFunc(from.task.leader.threads, func(o *task) bool {
			return slices.ContainsFunc(o.cell(c.attribute).writes, func(w write) bool { return w.by == nil && same(w.new, c.value) })
		}) {
			c.excuse("somebody else has given it to a thread from which it could have been inherited")
		}
		for from := c; from != nil; from = from.creator() {
			if from.bornTried() && (from == c || len(from.writes) > 0 && same(from.writes[0].old, c.value)) {
				c.excuse("it, or what it descends from, was born with what was being tried, and then another piton changed that, or its creator ended")
			}
		}
		if c.fromEither() {
			c.excuse("its guard reads no journal, and another piton gave the same to another thread of the process since")
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

// fromEither reports whether it was born with what a piton set whose guard has reverted that, and
// another piton has set the same for an older thread of the process, from which it could be.
func (c *cell) fromEither() bool {
	sets := func(w write) bool { return w.by != nil && w.by.guard == nil && same(w.new, c.value) }
	for from := c.creator(); from != nil && len(c.writes) == 0; from = from.creator() {
		for _, w := range from.writes {
			if sets(w) && w.by.reverted() && slices.ContainsFunc(from.task.leader.threads, func(o *task) bool {
				return o.born < c.task.born && slices.ContainsFunc(o.cell(c.attribute).writes, func(x write) bool { return sets(x) && x.by != w.by })
			}) {
				return true
			}
		}
	}
	return false
}

// reverted reports whether the piton's guard has reverted its change.
func (a *actor) reverted() bool {
	return slices.ContainsFunc(a.guards, func(g *guardian) bool {
		state, _ := g.State()
		return g.maker == a && state == guard.Reverted
	})
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
