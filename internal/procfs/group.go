package procfs

import (
	"os"

	"piton/internal/kernel"
)

// Orphaned reports whether nobody would continue the caller's process group if it were stopped,
// as a shell does: no member has a parent in another group of the session (POSIX.1-2024, 3.264;
// will_become_orphaned_pgrp of kernel/exit.c). It is false where that is not known.
func (f FS) Orphaned() bool {
	return f.OwnNumbers() && f.orphaned(kernel.TID(os.Getpid()))
}

func (f FS) orphaned(pid kernel.TID) bool {
	self, err := f.Stat(pid)
	if err != nil || self.Group <= 0 || self.Session <= 0 { // they began outside of the PID namespace
		return false
	}
	pids, err := f.Processes()
	if err != nil {
		return false
	}
	all := map[kernel.TID]Stat{}
	for _, pid := range pids {
		if st, err := f.Stat(pid); err == nil {
			all[pid] = st
		}
	}
	for _, st := range all {
		if st.Group != self.Group || st.State == 'Z' || st.State == 'X' || st.PPID == 0 { // 0: its parent is outside, the session is not
			continue
		}
		parent, known := all[st.PPID]
		if !known || parent.Session == self.Session && parent.Group != self.Group { // or it is hidden
			return false
		}
	}
	return true
}

// GroupLives reports whether a process group of the caller's PID namespace has a member that
// has not ended; false where that is not known.
func (f FS) GroupLives(group kernel.TID) bool {
	pids, err := f.Processes()
	if err != nil || !f.OwnNumbers() {
		return false
	}
	for _, pid := range pids {
		if st, err := f.Stat(pid); err == nil && st.Group == group && st.State != 'Z' && st.State != 'X' {
			return true
		}
	}
	return false
}
