package simulate

import (
	"fmt"
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
)

// wish is one thing that was asked for.
type wish struct {
	target change.Target
	meant  *task // nil: whatever has the number
	set    []attr.Setting
	file   *attr.FileSetting
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
	v = cut(c, v)
	switch {
	case a.guard != nil && a.guard.kept:
		return "the change was confirmed"
	case a.guard != nil || a.undoes || a.tries && !a.wants(c, v):
		asked := slices.ContainsFunc(a.pitons, func(p *piton) bool { return p.disk == a.disk && p.asks(c) })
		switch {
		case (asked || c.ours) && (c.hadValue(v) || c.halfway(c.had, c.had, v)):
		case a.exactly(c, v):
			c.excuse("it had exactly what was set for a thread of its process, or of a parent")
		case !asked && !c.ours:
			return "piton has never been asked to change it"
		default:
			return "it never had that value"
		}
		return ""
	case a.danger && !a.confirmation.Yes && a.confirmation.RevertAfter == 0:
		return "nobody confirmed"
	case !a.asks(c):
		return "nobody asked for it"
	case !a.isolates.Empty():
		if !attr.CPUs(v).And(a.isolates).Empty() {
			return "it keeps CPUs that are to be isolated"
		}
		return ""
	case !a.wants(c, v) && !a.wantsOfForebear(c, v) && !a.partWay(c, v):
		return "another value was asked for"
	case c.task != nil && c.task.busy && c.task.born < a.began && attr.PolicyOf(v).Crowds() && !a.confirmation.Yes && a.confirmation.RevertAfter == 0 && a.disturbed == "":
		return "it is busy, and nobody confirmed"
	}
	return ""
}

// exactly reports whether the cell has, or newer entries found, what piton has set, or had begun to, for a
// thread of its process or of one that it descends from, and is given what that had before.
func (a *actor) exactly(c *cell, v attr.Value) bool {
	return slices.ContainsFunc(a.kin(c), func(k *cell) bool {
		return k.hadValue(v) && slices.ContainsFunc(append(c.had, c.value), func(x attr.Value) bool { return k.ours && k.hadValue(x) || a.begun(k, x) })
	})
}

// kin are the cells of the same attribute from which a task could have its value: those of the
// threads of its process and of those from which that descends.
func (w *world) kin(c *cell) (out []*cell) {
	for _, t := range w.all {
		if c.task != nil && c.task.descends(t) {
			out = append(out, t.cell(c.attribute))
		}
	}
	return out
}

// begun reports whether an entry of the journal may be of the cell being given the value.
func (a *actor) begun(c *cell, v attr.Value) bool {
	for _, authors := range a.disk.author {
		if slices.ContainsFunc(authors, func(by *actor) bool { return by.wants(c, v) }) {
			return true
		}
	}
	return false
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
	switch {
	case w.file != nil:
		return c.path == w.file.Path && (c.group == nil || p.planned == 0 || c.group.born <= p.planned)
	case !slices.ContainsFunc(w.set, func(s attr.Setting) bool { return s.Attribute == c.attribute }):
		return false
	case c.group != nil:
		return slices.ContainsFunc(p.its.all, func(t *task) bool { return slices.Contains(t.groups, c.group) && w.coversTask(p, t) })
	case c.task == nil:
		return false
	}
	return w.coversTask(p, c.task)
}

// coversTask is covers of what a task has.
func (w wish) coversTask(p *piton, its *task) bool {
	if w.meant != nil {
		return w.reaches(w.meant, its)
	}
	return slices.ContainsFunc(p.its.all, func(t *task) bool {
		named := t.tid == w.target.TID || t.inner == w.target.TID
		return named && (p.planned == 0 || t.born <= p.planned) && w.reaches(t, its)
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

// wantsOfForebear reports whether the value was asked for of a task from which the cell's
// descends, and it was born since that was planned: what it was born with is as good.
func (p *piton) wantsOfForebear(c *cell, v attr.Value) bool {
	for from := c.creator(); from != nil && c.task.born >= p.planned; from = from.creator() {
		if p.wants(from, v) {
			return true
		}
	}
	return false
}

// wants reports whether the value is what the wish makes of the cell.
func (w wish) wants(c *cell, v attr.Value) bool {
	if c.group != nil {
		return w.wantsGroup(c, v, false)
	}
	if w.file != nil {
		return same(w.file.Value, v)
	}
	return slices.ContainsFunc(w.set, func(s attr.Setting) bool { return s.Attribute == c.attribute && same(cut(c, s.Value), v) })
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
