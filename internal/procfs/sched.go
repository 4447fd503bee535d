package procfs

import (
	"bytes"
	"errors"

	"piton/internal/kernel"
)

// Sched is what piton uses of /proc/PID/task/TID/sched (proc_sched_show_task in
// kernel/sched/debug.c), one thread's counters since it was born. The file is
// readable by everyone; kernels before 6.15 may be built without it
// (CONFIG_SCHED_DEBUG).
type Sched struct {
	Migrations          uint64 // se.nr_migrations: moves to another CPU, none missed
	VoluntarySwitches   uint64 // it blocked
	InvoluntarySwitches uint64 // it was preempted
	NoSwitches          bool   // the lines of both are not there or not understood
}

// Sched reads the file of one thread; with tid 0, of a process's first thread.
func (f FS) Sched(pid, tid kernel.TID) (Sched, error) {
	b, err := f.task(pid, tid, "sched")
	if err != nil {
		return Sched{}, err
	}
	return ParseSched(b)
}

var errNoMigrations = errors.New("sched file without se.nr_migrations")

// ParseSched parses a sched file. It allocates nothing.
func ParseSched(b []byte) (Sched, error) {
	var st Sched
	b = schedLines(b)
	ok := schedValue(b, "se.nr_migrations", &st.Migrations)
	if !ok {
		return Sched{}, errNoMigrations
	}
	if !schedValue(b, "nr_voluntary_switches", &st.VoluntarySwitches) ||
		!schedValue(b, "nr_involuntary_switches", &st.InvoluntarySwitches) {
		st = Sched{Migrations: st.Migrations, NoSwitches: true}
	}
	return st, nil
}

// InSchedExt reports whether the thread of a sched file is run by a sched_ext scheduler
// (ext.enabled, since Linux 6.12).
func InSchedExt(b []byte) bool {
	var enabled uint64
	return schedValue(schedLines(b), "ext.enabled", &enabled) && enabled != 0
}

// schedLines are the lines below the first one, which holds the name: that may contain
// newlines and anything that looks like a counter, up to 63 bytes of it; a line of dashes
// ends it.
func schedLines(b []byte) []byte {
	return b[max(0, bytes.LastIndex(b, []byte("\n-----"))):]
}

// schedValue finds "\nNAME   :   123\n".
func schedValue(b []byte, name string, v *uint64) bool {
	for {
		i := bytes.Index(b, []byte(name))
		if i < 0 {
			return false
		}
		atStart := i > 0 && b[i-1] == '\n'
		b = b[i+len(name):]
		s := scan(b)
		s.spaces()
		if !atStart || s.i >= len(b) || b[s.i] != ':' {
			continue
		}
		s.i++
		*v = s.last()
		return s.ok
	}
}
