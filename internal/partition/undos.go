package partition

import "piton/internal/tune"

// undos are the journal entries that took others back, oldest first, by the
// numbers of those.
type undos map[uint64][]*tune.Entry

func undosOf(entries []tune.Entry) undos {
	out := undos{}
	for i := range entries {
		for _, id := range entries[i].Undoes {
			out[id] = append(out[id], &entries[i])
		}
	}
	return out
}

// done returns the masks that were taken back of an entry.
func (u undos) done(e *tune.Entry) map[key]bool {
	out := map[key]bool{}
	for _, undo := range u[e.ID] {
		for _, c := range undo.Changes {
			if k, ok := keyOf(c); ok && c.Status == tune.Done {
				out[k] = true
			}
		}
	}
	return out
}

// over reports whether an entry has been taken back although the journal does not
// count it as undone: the last undo left alone only what somebody else had changed.
// It records neither that nor what had ended, but whatever it tried. An entry stays
// in force where that failed, where piton was interrupted, and where a later step
// builds upon it: those can be taken back yet.
func (u undos) over(e *tune.Entry, entries []tune.Entry) bool {
	all := u[e.ID]
	if len(all) == 0 || !all[len(all)-1].Finished {
		return false
	}
	last := all[len(all)-1]
	tried := map[key]tune.Status{}
	for _, c := range last.Changes {
		if k, ok := keyOf(c); ok {
			tried[k] = c.Status
		}
	}
	later := u.stepsBetween(e, last, entries)
	for _, c := range e.Changes {
		k, ok := keyOf(c)
		if !ok || !made(c) {
			continue
		}
		if status, was := tried[k]; was && status != tune.Done || !was && later[k] {
			return false
		}
	}
	return true
}

// stepsBetween returns the masks to which isolates and includes after e did
// something that was in force when e was taken back.
func (u undos) stepsBetween(e, undo *tune.Entry, entries []tune.Entry) map[key]bool {
	out := map[key]bool{}
	for i := range entries {
		s := &entries[i]
		_, _, ok := parseReason(s.Reason)
		if !ok || s.ID <= e.ID || s.ID >= undo.ID || len(s.Undoes) > 0 || len(u[s.ID]) > 0 && u[s.ID][0].ID <= undo.ID {
			continue
		}
		for _, c := range s.Changes {
			if k, ok := keyOf(c); ok && made(c) {
				out[k] = true
			}
		}
	}
	return out
}

// keyOf names what a change is about; not ok if it has no mask.
func keyOf(c tune.Change) (k key, ok bool) {
	if c.Path != "" {
		return key{path: c.Path}, true
	}
	return key{tid: c.TID, startTicks: c.StartTicks}, c.Attribute == tune.Affinity
}

// made reports whether a change is in force as far as is known.
func made(c tune.Change) bool { return c.Status == tune.Done || c.Status == tune.Planned }
