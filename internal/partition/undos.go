package partition

import (
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
)

// undos are the journal entries that undid others, oldest first, by the numbers of
// those.
type undos map[uint64][]*change.Entry

func undosOf(entries []change.Entry) undos {
	out := undos{}
	for i := range entries {
		for _, id := range entries[i].Undoes {
			out[id] = append(out[id], &entries[i])
		}
	}
	return out
}

// done returns the masks of an entry that were restored.
func (u undos) done(e *change.Entry) map[attr.Key]bool {
	out := map[attr.Key]bool{}
	for _, undo := range u[e.ID] {
		for _, c := range undo.Changes {
			if c.Status == attr.Done {
				out[c.Key()] = true
			}
		}
	}
	return out
}

// over reports whether an entry has been undone although the journal does not count it
// as such: the last undo left alone only what somebody else had changed. It records
// neither that nor what had ended, but whatever it tried. An entry stays in force where
// that failed, where piton was interrupted, and where a later step builds upon it: those
// can still be undone.
func (u undos) over(e *change.Entry, entries []change.Entry) bool {
	all := u[e.ID]
	if len(all) == 0 || !all[len(all)-1].Finished {
		return false
	}
	last := all[len(all)-1]
	tried := map[attr.Key]attr.Status{}
	for _, c := range last.Changes {
		tried[c.Key()] = c.Status
	}
	later := u.stepsBetween(e, last, entries)
	for _, c := range e.Changes {
		if !made(c) {
			continue
		}
		if status, was := tried[c.Key()]; was && status != attr.Done || !was && later[c.Key()] {
			return false
		}
	}
	return true
}

// stepsBetween returns the masks to which isolates and includes after e did
// something that was in force when e was undone.
func (u undos) stepsBetween(e, undo *change.Entry, entries []change.Entry) map[attr.Key]bool {
	out := map[attr.Key]bool{}
	for i := range entries {
		s := &entries[i]
		_, _, ok := parseReason(s.Reason)
		if !ok || s.ID <= e.ID || s.ID >= undo.ID || len(s.Undoes) > 0 || len(u[s.ID]) > 0 && u[s.ID][0].ID <= undo.ID {
			continue
		}
		for _, c := range s.Changes {
			if made(c) {
				out[c.Key()] = true
			}
		}
	}
	return out
}

// made reports whether a change is one of a mask and in force as far as is known.
func made(c change.Change) bool {
	_, mask := c.After.(cpuset.Set)
	return mask && (c.Status == attr.Done || c.Status == attr.Planned)
}
