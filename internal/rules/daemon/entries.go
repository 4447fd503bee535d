package daemon

import (
	"piton/internal/change"
	"piton/internal/change/history"
	"piton/internal/procfs"
)

// InForce are the numbers of the journal's entries that rules made and that concern a
// process which still runs, also those of a daemon that has ended.
func InForce(proc procfs.FS, entries []change.Entry) []uint64 {
	var ids []uint64
	for i := range entries {
		if e := &entries[i]; e.Undoable() && e.Origin.OfRules() && !history.Ended(proc, e) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
