package daemon

import (
	"strings"

	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/rules"
)

// InForce are the numbers of the journal's entries that rules made and that concern a
// process which still runs, also those of a daemon that has ended.
func InForce(proc procfs.FS, entries []change.Entry) []uint64 {
	var ids []uint64
	for i := range entries {
		if e := &entries[i]; e.Undoable() && strings.HasPrefix(e.Reason, rules.TitleBegins) && !Gone(proc, e) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Gone reports whether all tasks of an entry have ended. One that changed files, or was
// over all tasks, counts as being there.
func Gone(proc procfs.FS, e *change.Entry) bool {
	if e.Sweep != 0 {
		return false
	}
	there := map[kernel.TID]bool{} // by what was looked at
	for _, c := range e.Changes {
		if c.IsFile() {
			return false
		}
		if _, known := there[c.TID]; !known {
			st, err := proc.ThreadStat(c.PID, c.TID)
			there[c.TID] = err == nil && st.StartTicks == c.StartTicks
		}
		if there[c.TID] {
			return false
		}
	}
	for _, t := range e.Targets { // threads of it may have been born since
		if st, err := proc.Stat(t.TID); err == nil && (t.StartTicks == 0 || st.StartTicks == t.StartTicks) {
			return false
		}
	}
	return true
}
