package runner

import (
	"fmt"
	"time"

	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// counters is what the kernel counted for each thread of a process so far.
type counters map[kernel.TID]threadCounters

type threadCounters struct {
	migrations               uint64
	runDelayNs               uint64
	haveMigrations, haveTime bool
}

// count reads the counters of all threads. What cannot be read is not had.
func (r *Runner) count(pid kernel.TID) counters {
	threads, err := r.Proc.Threads(pid)
	if err != nil {
		return nil
	}
	all := make(counters, len(threads))
	for _, tid := range threads {
		var t threadCounters
		if s, err := r.Proc.Sched(pid, tid); err == nil {
			t.migrations, t.haveMigrations = s.Migrations, true
		}
		var st procfs.Schedstat
		if st, err = r.Proc.Schedstat(pid, tid); err == nil {
			t.runDelayNs, t.haveTime = st.RunDelayNs, true
		}
		all[tid] = t
	}
	return all
}

// since puts into run what was counted after before. Threads born meanwhile
// count from 0 (sched_fork in kernel/sched/core.c clears the counters).
func (c counters) since(before counters, run *bench.RunResult) {
	run.Threads = len(c)
	run.MigrationSource = sample.SourceNone.String()
	var delay uint64
	for tid, now := range c {
		then := before[tid]
		if now.haveMigrations {
			run.Migrations += now.migrations - min(then.migrations, now.migrations)
			run.MigrationSource = sample.SourceSched.String()
		}
		if now.haveTime {
			delay += now.runDelayNs - min(then.runDelayNs, now.runDelayNs)
			run.HaveRunDelay = true
		}
	}
	run.RunDelay = time.Duration(delay)
}

// state is how a thread is placed.
type state struct {
	affinity cpuset.Set
	attr     kernel.SchedAttr
	nice     int
}

func (r *Runner) stateOf(tid kernel.TID) (state, error) {
	var s state
	var err error
	if s.affinity, err = r.Scheduler.Affinity(tid); err != nil {
		return state{}, err
	}
	if s.attr, err = r.Scheduler.Attr(tid); err != nil {
		return state{}, err
	}
	s.nice, err = r.Scheduler.Nice(tid)
	return s, err
}

// touched compares every thread with the state that the process was placed in
// and returns the first difference in words, "" if there is none. A thread that
// has ended cannot tell.
func (r *Runner) touched(pid kernel.TID, want state) string {
	threads, err := r.Proc.Threads(pid)
	if err != nil {
		return ""
	}
	for _, tid := range threads {
		got, err := r.stateOf(tid)
		if err != nil {
			continue
		}
		if what := want.difference(got); what != "" {
			return fmt.Sprintf("%s of thread %d", what, tid)
		}
	}
	return ""
}

func (s state) difference(now state) string {
	switch {
	case !s.affinity.Equal(now.affinity):
		return fmt.Sprintf("affinity %s became %s", s.affinity, now.affinity)
	case s.attr.Policy != now.attr.Policy:
		return fmt.Sprintf("policy %s became %s", s.attr.Policy, now.attr.Policy)
	case s.attr.RTPrio != now.attr.RTPrio:
		return fmt.Sprintf("real-time priority %d became %d", s.attr.RTPrio, now.attr.RTPrio)
	case s.nice != now.nice:
		return fmt.Sprintf("nice %d became %d", s.nice, now.nice)
	}
	return ""
}
