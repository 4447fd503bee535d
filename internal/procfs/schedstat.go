package procfs

import "piton/internal/kernel"

// Schedstat is /proc/PID/schedstat of one thread
// (Documentation/scheduler/sched-stats.rst). A kernel without
// CONFIG_SCHED_INFO has no such file.
type Schedstat struct {
	RunNs      uint64 // time on a CPU
	RunDelayNs uint64 // time runnable but waiting
	Slices     uint64 // times it was put on a CPU
}

// Schedstat reads the file of one thread; with tid 0, of a process's first thread.
func (f FS) Schedstat(pid, tid kernel.TID) (Schedstat, error) {
	b, err := f.task(pid, tid, "schedstat")
	if err != nil {
		return Schedstat{}, err
	}
	return ParseSchedstat(b)
}

// ParseSchedstat parses a schedstat file.
func ParseSchedstat(b []byte) (Schedstat, error) {
	s := scan(b)
	st := Schedstat{RunNs: s.uint(), RunDelayNs: s.uint(), Slices: s.uint()}
	if !s.ok {
		return Schedstat{}, malformed("schedstat", b)
	}
	return st, nil
}
