package runner

import (
	"fmt"
	"slices"
	"time"

	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// counters count migrations and run delay of all threads of a process from a moment on.
type counters struct{ migrations, delay *threads }

// count begins to count. The move of a thread that is outside of where it was placed is its
// placement's, not the run's.
func (r *Runner) count(pid kernel.TID, outside []kernel.TID) counters {
	// A figure that cannot be read now may be later.
	migrations, _ := newThreads(r.Proc, pid, migrationsOf)
	delay, _ := newThreads(r.Proc, pid, runDelayMs)
	for _, tid := range outside {
		if _, known := migrations.last[tid]; known {
			migrations.last[tid]++
		}
	}
	return counters{migrations, delay}
}

// outside are the threads that were last on none of these CPUs: a task that sleeps is moved
// when it wakes up.
func (r *Runner) outside(pid kernel.TID, cpus cpuset.Set) []kernel.TID {
	tids, _ := r.Proc.Threads(pid)
	return slices.DeleteFunc(tids, func(tid kernel.TID) bool {
		st, err := r.Proc.ThreadStat(pid, tid)
		return err != nil || cpus.Has(cpuset.CPU(st.LastCPU))
	})
}

// into puts into run what was counted. Threads born meanwhile
// count from 0 (sched_fork in kernel/sched/core.c clears the counters).
func (c counters) into(run *bench.RunResult) {
	run.MigrationSource = sample.SourceNone.String()
	if moves, err := c.migrations.Grown(); err == nil {
		run.Migrations, run.MigrationSource = uint64(moves), sample.SourceSched.String()
	}
	ms, err := c.delay.Grown()
	run.RunDelay, run.HaveRunDelay = time.Duration(ms*float64(time.Millisecond)), err == nil
	run.Threads = c.delay.now
}

type state struct {
	affinity cpuset.Set
	attr     kernel.SchedAttr
}

func (r *Runner) stateOf(tid kernel.TID) (s state, err error) {
	if s.affinity, err = r.Scheduler.Affinity(tid); err == nil {
		s.attr, err = r.Scheduler.Attr(tid)
	}
	return s, err
}

// touched compares every thread with the state that the process was placed in and returns the
// first difference in words, "" if there is none. A thread that has ended cannot tell.
func (r *Runner) touched(pid kernel.TID, want state) string {
	threads, _ := r.Proc.Threads(pid)
	for _, tid := range threads {
		got, err := r.stateOf(tid)
		if what := want.difference(got); err == nil && what != "" {
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
	case s.attr.Nice != now.attr.Nice: // of the policies that heed it
		return fmt.Sprintf("nice %d became %d", s.attr.Nice, now.attr.Nice)
	}
	return ""
}
