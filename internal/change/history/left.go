package history

import (
	"errors"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Setter is the entry of the journal that gave something its value last.
type Setter struct {
	Entry  uint64
	User   string
	Origin journal.Origin
	Value  attr.Value
	Undone bool // the entry was, since
}

// Setters are who set what last, as far as entries that were made here say; undos count, too.
func Setters(entries []journal.Entry) map[attr.Key]Setter {
	out := map[attr.Key]Setter{}
	for _, e := range entries {
		if e.PastBoot || e.Foreign != "" {
			continue
		}
		for _, c := range e.Changes {
			if c.Took() {
				out[c.Key()] = Setter{e.ID, e.User, e.Origin, c.After, e.Undone}
			}
		}
	}
	return out
}

// Ended reports whether all tasks of an entry have ended, so that there is nothing of it to
// undo. One that changed files, or was over all tasks, counts as being there, and so does a
// task that cannot be looked at.
func Ended(proc attr.Processes, e *journal.Entry) bool {
	if e.Sweep != 0 {
		return false
	}
	gone := map[kernel.TID]bool{}
	for _, c := range e.Changes {
		if c.IsFile() {
			return false
		}
		if !gone[c.PID] { // threads and children may have been born since
			st, err := proc.Stat(c.PID)
			if gone[c.PID] = errors.Is(err, attr.ErrGone) || err == nil && st.StartTicks > c.StartTicks; !gone[c.PID] {
				return false
			}
		}
	}
	for _, t := range e.Targets {
		if st, err := proc.Stat(t.TID); !ended(st, err, t.StartTicks) {
			return false
		}
	}
	return true
}

// ended reports whether the task that started then is not the one whose stat was read.
func ended(st procfs.Stat, err error, startTicks uint64) bool {
	if err != nil {
		return errors.Is(err, attr.ErrGone)
	}
	return startTicks != 0 && st.StartTicks != startTicks
}

// Left is what entries set that no undo has restored.
type Left struct {
	Keys map[uint64]map[attr.Key]bool // by entry
	// Over are entries that have been undone although the journal does not count them as
	// such: the last undo left alone only what somebody else had changed.
	Over map[uint64]bool
}

// WhatIsLeft replays the journal for those changes that count.
func WhatIsLeft(entries []journal.Entry, counts func(*journal.Entry, attr.Change) bool) Left {
	l := Left{map[uint64]map[attr.Key]bool{}, map[uint64]bool{}}
	for i := range entries {
		e := &entries[i]
		if len(e.Undoes) > 0 {
			l.undo(e)
			continue
		}
		l.Keys[e.ID] = map[attr.Key]bool{}
		for _, c := range e.Changes {
			if counts(e, c) {
				l.Keys[e.ID][c.Key()] = true
			}
		}
	}
	return l
}

// undo takes in an undo. It records neither what somebody else had changed nor what had
// ended, but whatever it tried. An entry stays in force where that failed, where piton
// was interrupted, and where a later step builds upon it: those can still be undone.
func (l *Left) undo(undo *journal.Entry) {
	tried := map[attr.Key]bool{}
	for _, c := range undo.Changes {
		tried[c.Key()] = true
		for _, id := range undo.Undoes {
			if c.Status == attr.Done {
				delete(l.Keys[id], c.Key())
			}
		}
	}
	for _, id := range slices.Backward(slices.Sorted(slices.Values(undo.Undoes))) {
		l.Over[id] = undo.Finished
		for k := range l.Keys[id] {
			l.Over[id] = l.Over[id] && !tried[k] && !l.later(id, k)
		}
	}
}

// later reports whether a later step builds upon the value of an entry.
func (l *Left) later(id uint64, k attr.Key) bool {
	for other, keys := range l.Keys {
		if other > id && keys[k] && !l.Over[other] {
			return true
		}
	}
	return false
}
