package partition

import (
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
)

// standing is what is left of the masks that entries set, after the undos in the journal.
type standing struct {
	masks map[uint64]map[attr.Key]bool // by entry
	// over are entries that have been undone although the journal does not count them as
	// such: the last undo left alone only what somebody else had changed.
	over map[uint64]bool
}

// standingOf replays the journal.
func standingOf(entries []change.Entry) standing {
	s := standing{map[uint64]map[attr.Key]bool{}, map[uint64]bool{}}
	for i := range entries {
		e := &entries[i]
		if len(e.Undoes) > 0 {
			s.undo(e)
			continue
		}
		if _, _, ok := parseReason(e.Reason); !ok {
			continue
		}
		s.masks[e.ID] = map[attr.Key]bool{}
		for _, c := range e.Changes {
			if made(c) {
				s.masks[e.ID][c.Key()] = true
			}
		}
	}
	return s
}

// undo takes in an undo. It records neither what somebody else had changed nor what had
// ended, but whatever it tried. An entry stays in force where that failed, where piton
// was interrupted, and where a later step builds upon it: those can still be undone.
func (s *standing) undo(undo *change.Entry) {
	tried := map[attr.Key]bool{}
	for _, c := range undo.Changes {
		tried[c.Key()] = true
		for _, id := range undo.Undoes {
			if c.Status == attr.Done {
				delete(s.masks[id], c.Key())
			}
		}
	}
	for _, id := range slices.Backward(slices.Sorted(slices.Values(undo.Undoes))) {
		s.over[id] = undo.Finished
		for k := range s.masks[id] {
			s.over[id] = s.over[id] && !tried[k] && !s.later(id, k)
		}
	}
}

// later reports whether a later step builds upon the mask of an entry.
func (s *standing) later(id uint64, k attr.Key) bool {
	for other, masks := range s.masks {
		if other > id && masks[k] && !s.over[other] {
			return true
		}
	}
	return false
}

// made reports whether a change is one of a mask and in force as far as is known.
func made(c change.Change) bool {
	_, mask := c.After.(cpuset.Set)
	return mask && (c.Status == attr.Done || c.Status == attr.Planned)
}
