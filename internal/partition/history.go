package partition

import (
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
)

// History is what piton's isolates of this boot did that is still in force. The
// zero value is that there were none.
type History struct {
	events []event // isolates and includes that were not undone, oldest first
	items  map[attr.Key]*item
}

// event is one journal entry.
type event struct {
	id      uint64
	atTicks uint64     // when the tasks were looked at, USER_HZ since boot
	apart   cpuset.Set // isolated once it was in force
	mixed   bool       // the entry did more than that, as profiles do
}

// key names the task's mask.
func (t *Task) key() attr.Key { return attr.Key{ID: t.ID(), Attribute: attr.Affinity} }

// item is what became of one mask.
type item struct {
	before cpuset.Set // as the first step found it,
	had    cpuset.Set // and what an undo gives instead, if not empty (attr.View.Had)
	steps  []step     // at least one
}

// step is what one event made of a mask.
type step struct {
	event int
	mask  cpuset.Set
	sure  bool // it came into force: piton lived to say so
}

// now is the mask that piton left.
func (i *item) now() step { return i.steps[len(i.steps)-1] }

// asOf is the mask once the event was in force.
func (i *item) asOf(event int) cpuset.Set {
	mask := i.before
	for _, s := range i.steps {
		if s.event <= event {
			mask = s.mask
		}
	}
	return mask
}

// Past reads the journal's entries, oldest first.
func Past(entries []change.Entry) History { return past(entries, false) }

// pastFor is the past as Include needs it: what an undo has left alone counts as
// well where CPUs that were included already are included by force.
func pastFor(entries []change.Entry, cpus cpuset.Set, force bool) History {
	h := past(entries, false)
	if force && cpus.And(h.Apart()).Empty() {
		return past(entries, true)
	}
	return h
}

func past(entries []change.Entry, leftAlone bool) History {
	h := History{items: map[attr.Key]*item{}}
	left := history.WhatIsLeft(entries, made)
	for i := range entries {
		e := &entries[i]
		cpus, mixed := e.Origin.CPUs, e.Origin.Kind == journal.ByProfile
		if cpus.Empty() || e.Undone || e.PastBoot || e.ChangedNothing() || len(e.Undoes) > 0 || !leftAlone && left.Over[e.ID] {
			continue
		}
		apart := h.Apart().Or(cpus)
		if e.Origin.Kind == journal.ByInclude {
			apart = h.Apart().AndNot(cpus)
		}
		h.events = append(h.events, event{e.ID, e.Sweep, apart, mixed})
		for _, c := range e.Changes {
			if left.Keys[e.ID][c.Key()] {
				h.take(c, cpus, mixed)
			}
		}
	}
	return h
}

// made reports whether a change is one of a mask by an isolate or an include, and in force as far
// as is known.
func made(e *change.Entry, c change.Change) bool {
	_, mask := c.After.(cpuset.Set)
	return mask && !e.Origin.CPUs.Empty() && (c.Status == attr.Done || c.Status == attr.Planned)
}

// take adds a change of a mask; of a mixed entry, only what isolated the CPUs.
func (h *History) take(c change.Change, isolated cpuset.Set, mixed bool) {
	before, known := c.Before.(cpuset.Set)
	after := attr.CPUs(c.After)
	if !known || mixed && !isolates(before, after, isolated) {
		return
	}
	k := c.Key()
	if h.items[k] == nil {
		h.items[k] = &item{before: before, had: c.Had}
	}
	h.items[k].steps = append(h.items[k].steps, step{len(h.events) - 1, after, c.Status == attr.Done})
}

// isolates reports whether a mask became what Isolate makes of it: without the CPUs,
// or all others if it had none but those.
func isolates(before, after, isolated cpuset.Set) bool {
	left := before.AndNot(isolated)
	return !left.Equal(before) && after.And(isolated).Empty() && (left.Empty() || left.Equal(after))
}

// Apart returns the CPUs that piton has isolated and not included since.
func (h *History) Apart() cpuset.Set {
	if len(h.events) == 0 {
		return cpuset.Set{}
	}
	return h.events[len(h.events)-1].apart
}

// since returns the newest entries whose undoing leaves exactly the given CPUs
// apart, newest first, and the last event before them, -1 for none; no entries if
// no number of them does.
func (h *History) since(remaining cpuset.Set) (ids []uint64, until int) {
	for i := len(h.events) - 1; i >= 0 && !h.events[i].mixed; i-- {
		ids = append(ids, h.events[i].id)
		var earlier cpuset.Set
		if i > 0 {
			earlier = h.events[i-1].apart
		}
		if earlier.Equal(remaining) {
			return ids, i - 1
		}
	}
	return nil, -1
}

// before returns the newest event that was before a task was born, -1 for none.
func (h *History) before(startTicks uint64) int {
	last := -1
	for i, e := range h.events {
		if e.atTicks < startTicks {
			last = i
		}
	}
	return last
}
