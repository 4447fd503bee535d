package simulate

import (
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
)

// cell is one attribute of a task or file, and what became of it.
type cell struct {
	attribute attr.Attribute
	task      *task  // nil for a file
	path      string // of a file
	group     *group // whose file it is
	value     attr.Value
	base      attr.Value   // what it would be if there were no piton
	had       []attr.Value // every value that it ever had
	writes    []write
	ours      bool   // a piton has set it, or it was inherited from one that a piton has set
	excused   string // why nothing can be said of what it should be
	foreign   int    // the step at which somebody else last set it
	single    bool   // it was set for the thread alone
}

func (c *cell) String() string {
	switch {
	case c.group != nil:
		return fmt.Sprintf("%s of %s", c.attribute, c.group)
	case c.task == nil:
		return c.path
	}
	return fmt.Sprintf("%s of %s", c.attribute, c.task)
}

// write is one write by a piton or a guard that succeeded.
type write struct {
	step     int
	by       *actor // nil: somebody else
	old, new attr.Value
}

// same compares values.
func same(a, b attr.Value) bool {
	if set, ok := a.(cpuset.Set); ok {
		other, ok := b.(cpuset.Set)
		return ok && set.Equal(other)
	}
	return a == b
}

func (c *cell) hadValue(v attr.Value) bool {
	return slices.ContainsFunc(c.had, func(o attr.Value) bool { return same(o, v) })
}

// excuse takes the cell out of what is checked at the end.
func (c *cell) excuse(why string) {
	if c.excused == "" {
		c.excused = why
	}
}

// set is what the kernel does with a value that was written.
func (w *world) set(c *cell, v attr.Value, by *actor) {
	old, v := c.value, cut(c, v)
	c.value = v
	if !c.hadValue(v) {
		c.had = append(c.had, v)
	}
	c.writes = append(c.writes, write{w.steps, by, old, v})
	w.log("%s: %s -> %s", c, old, v)
	others := by != nil && c.foreign > by.began
	if by != nil {
		c.ours = true
	} else {
		others = c.ours || slices.ContainsFunc(w.pitons, func(p *piton) bool { return p.asks(c) })
		c.foreign, c.base = w.steps, v
	}
	if others {
		c.excuse("somebody else set it, too")
	}
}

// lastBy is the last write to the cell if that was made by the actor.
func (c *cell) lastBy(a *actor) (write, bool) {
	if len(c.writes) == 0 || c.writes[len(c.writes)-1].by != a {
		return write{}, false
	}
	return c.writes[len(c.writes)-1], true
}

// cells calls f with every cell of what is there.
func (w *world) cells(f func(*cell)) {
	for _, t := range w.all {
		if t.living() {
			for i := range t.cells {
				f(&t.cells[i])
			}
		}
	}
	for _, c := range w.files {
		f(c)
	}
	for _, g := range w.groups {
		for i := range g.cells {
			if !g.gone {
				f(&g.cells[i])
			}
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
	for _, g := range w.groups {
		for i := range g.cells {
			f(&g.cells[i])
		}
	}
}

// cut is what the kernel makes of a value.
func cut(c *cell, v attr.Value) attr.Value {
	if set, ok := v.(cpuset.Set); ok && c.task != nil && c.task.leader.limited {
		return set.And(limited)
	}
	return v
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

// allows reports whether the kernel takes a value for the task.
func (t *task) allows(a attr.Attribute, v attr.Value) bool {
	return a != attr.Affinity || !t.leader.limited || !attr.CPUs(v).And(limited).Empty()
}
