package daemon

import (
	"strings"

	"piton/internal/change"
	"piton/internal/procfs"
	"piton/internal/rules"
)

// InForce are the numbers of the journal's entries that rules made and that concern a
// process which still runs, also those of a daemon that has ended.
func InForce(proc procfs.FS, entries []change.Entry) []uint64 {
	var ids []uint64
	for i := range entries {
		if e := &entries[i]; e.Undoable() && strings.HasPrefix(e.Reason, rules.TitleBegins) && !change.Ended(proc, e) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
