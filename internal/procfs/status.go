package procfs

import (
	"bytes"
	"cmp"
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Status is what piton uses of /proc/TID/status (proc_pid_status(5)).
type Status struct {
	Comm                string // backslash and newline escaped by the kernel
	TGID                kernel.TID
	UID, EUID           uint32 // with HaveUID
	Threads             int
	CPUsAllowed         cpuset.Set // the mask of sched_setaffinity(2) cut to the cpuset; empty = unknown
	VoluntarySwitches   uint64     // of this thread, with HaveSwitches
	InvoluntarySwitches uint64
	HaveUID             bool
	HaveSwitches        bool
}

// Status reads /proc/TID/status; TID may name any thread on a live root.
func (f FS) Status(tid kernel.TID) (Status, error) { return f.ThreadStatus(tid, 0) }

// ThreadStatus reads /proc/PID/task/TID/status; with tid 0, /proc/PID/status.
func (f FS) ThreadStatus(pid, tid kernel.TID) (Status, error) {
	b, err := f.task(pid, tid, "status")
	if err != nil {
		return Status{}, err
	}
	return ParseStatus(b)
}

// ParseStatus parses a status file. Lines that an old kernel does not write
// leave their value zero. The error is about the first line that is not understood; the
// Status has what the others say.
func ParseStatus(b []byte) (Status, error) {
	var st Status
	var odd error
	voluntary, involuntary := false, false
	for line := range bytes.Lines(b) {
		key, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			continue
		}
		value = bytes.TrimSpace(value)
		s := scan(value)
		switch string(key) {
		case "Name":
			st.Comm = string(value)
		case "Tgid":
			st.TGID = s.tid()
		case "Uid":
			st.UID, st.EUID = s.uid(), s.uid()
			s.skip(2) // saved, file system
			if st.HaveUID = s.ended(); !st.HaveUID {
				st.UID, st.EUID = 0, 0
			}
		case "Threads":
			st.Threads = int(s.tid())
		case "Cpus_allowed_list":
			set, err := cpuset.Parse(string(value))
			if err != nil {
				odd = cmp.Or(odd, fmt.Errorf("status, Cpus_allowed_list: %w", err))
				continue
			}
			st.CPUsAllowed = set
		case "voluntary_ctxt_switches":
			st.VoluntarySwitches = s.last()
			voluntary = s.ok
		case "nonvoluntary_ctxt_switches":
			st.InvoluntarySwitches = s.last()
			involuntary = s.ok
		}
		if !s.ok && odd == nil {
			odd = malformed("status", line)
		}
	}
	st.HaveSwitches = voluntary && involuntary
	if st.TGID == 0 && odd == nil {
		odd = malformed("status", b)
	}
	return st, odd
}

func (s *scanner) uid() uint32 { return uint32(s.between(0, 1<<32-1)) }
