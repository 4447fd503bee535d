package runner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// groups are the counters of a run. Those of one group count at the same time, so
// that their ratios hold, as far as the PMU has room for them.
var groups = [][]kernel.Counter{
	{kernel.Cycles, kernel.Instructions, kernel.Branches, kernel.BranchMisses},
	{kernel.CacheReferences, kernel.CacheMisses},
	{kernel.TaskMigrations},
	{kernel.TaskSwitches},
}

// perf is open counters of all threads of a process and of what they start.
type perf struct {
	open     func(c kernel.Counter, tid kernel.TID, leader int) (int, error) // kernel.OpenTaskCounter
	counters []kernel.Counter
	fds      [][]int // of each counter, one a thread
	// outside are threads that have yet to be moved to where they were placed; moved are the
	// counters of migrations that have that move in them. One that was moved there before and has
	// not run since can count once all the same: perf counts when a task runs (perf_event_task_sched_in),
	// and since Linux 6.12 a task that sleeps may be queued still, and is moved at once.
	outside []kernel.TID
	moved   []int
	absent  []kernel.Counter
	// missing is why some are not counted, nil if all are.
	missing error
}

// openPerf opens the counters that can be had. What cannot be is left out.
func openPerf(p procfs.FS, pid kernel.TID, groups [][]kernel.Counter, outside []kernel.TID) *perf {
	all := &perf{open: kernel.OpenTaskCounter, outside: outside}
	tids, err := p.Threads(pid)
	if all.missing = err; err == nil {
		all.groups(tids, groups)
	}
	return all
}

func (p *perf) groups(tids []kernel.TID, groups [][]kernel.Counter) {
	var refused error
	for _, group := range groups {
		if err := p.group(tids, group); err != nil && refused == nil {
			refused = fmt.Errorf("counters not available: %w", err)
		}
	}
	p.missing = both(refused, p.lacks())
}

// both makes one sentence of two errors, either of which may be nil.
func both(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// lacks says which counters the machine does not have, nil if none was missed.
func (p *perf) lacks() error {
	switch {
	case len(p.absent) == 0:
		return nil
	case slices.Contains(p.absent, kernel.Cycles) && !slices.ContainsFunc(p.counters, kernel.Counter.Hardware):
		return errors.New("no PMU: hardware counters not available")
	}
	names := group.Each(p.absent, func(c kernel.Counter) string { return c.Name })
	return fmt.Errorf("the PMU does not count %s", strings.Join(names, ", "))
}

// group opens the counters of a group that this machine has on every thread. Those
// that the PMU has no room for beside the others count in turn with them.
func (p *perf) group(tids []kernel.TID, group []kernel.Counter) error {
	opened := make([][]int, len(group))
	lacking := make([]bool, len(group))
	for _, tid := range tids {
		leader := -1
		for i, c := range group {
			if lacking[i] {
				continue
			}
			fd, err := p.open(c, tid, leader)
			if leader >= 0 && errors.Is(err, syscall.EINVAL) { // more than can count at once
				fd, err = p.open(c, tid, -1)
			}
			if errors.Is(err, syscall.ESRCH) {
				break // it has ended
			}
			if kernel.IsNoCounter(err) {
				lacking[i] = true
				continue
			}
			if err != nil {
				closeAll(opened)
				return err
			}
			if leader < 0 {
				leader = fd
			}
			opened[i] = append(opened[i], fd)
			if c == kernel.TaskMigrations && slices.Contains(p.outside, tid) {
				p.moved = append(p.moved, fd)
			}
		}
	}
	for i, c := range group {
		if lacking[i] {
			closeAll(opened[i : i+1])
			p.absent = append(p.absent, c)
			continue
		}
		p.counters, p.fds = append(p.counters, c), append(p.fds, opened[i])
	}
	return nil
}

// read sums up what each counter counted since it was opened. starved are those that
// never had a turn although their tasks ran.
func (p *perf) read() (counts []bench.Count, starved []string) {
	for i, c := range p.counters {
		sum := bench.Count{Name: c.Name}
		var enabled, running uint64
		for _, fd := range p.fds[i] {
			value, on, ran, err := kernel.ReadTaskCounter(fd)
			if err != nil {
				continue
			}
			enabled, running = enabled+on, running+ran
			if value > 0 && slices.Contains(p.moved, fd) {
				value--
			}
			if ran > 0 {
				sum.Value += float64(value) * float64(on) / float64(ran)
			}
		}
		switch {
		case running > 0:
			sum.Share = float64(running) / float64(enabled)
			counts = append(counts, sum)
		case enabled > 0:
			starved = append(starved, c.Name)
		}
	}
	return counts, starved
}

func (p *perf) close() { closeAll(p.fds) }

// into puts what was counted into a run, and closes the counters. Those of a
// process that has ended still tell: they count what its threads did. Where the
// threads are gone its migrations are known by them alone.
func (p *perf) into(run *bench.RunResult) {
	defer p.close()
	var starved []string
	run.Counts, starved = p.read()
	missing := p.missing
	if len(starved) > 0 {
		missing = both(missing, fmt.Errorf("the PMU had no free counter for %s", strings.Join(starved, ", ")))
	}
	if missing != nil {
		run.NoCounts = missing.Error()
	}
	for _, c := range run.Counts {
		if c.Name == kernel.TaskMigrations.Name && !run.HaveMigrations() {
			run.Migrations, run.MigrationSource = uint64(c.Value), sample.SourcePerf.String()
		}
	}
}

func closeAll(fds [][]int) {
	for _, of := range fds {
		for _, fd := range of {
			_ = kernel.CloseFile(fd)
		}
	}
}

func instructionsMeter(p procfs.FS, pid kernel.TID) (Meter, error) {
	counter := openPerf(p, pid, [][]kernel.Counter{{kernel.Instructions}}, nil)
	if counter.missing != nil {
		return nil, counter.missing
	}
	return newGrowth(func() (float64, error) {
		if counts, _ := counter.read(); len(counts) > 0 {
			return counts[0].Value, nil
		}
		return 0, nil // none of its threads has run
	}, counter.close)
}

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
