package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"piton/internal/chart"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// Count is what one performance counter counted in a run.
type Count struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Share is the part of the time that it counted in, where more counters were
	// wanted than the PMU has; Value is scaled up by it. 1 is all of the time.
	Share float64 `json:"share"`
}

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
	absent   []kernel.Counter
	// missing is why some are not counted, nil if all are.
	missing error
}

// openPerf opens the counters that can be had. What cannot be is left out.
func openPerf(p procfs.FS, pid kernel.TID, groups [][]kernel.Counter) *perf {
	all := &perf{open: kernel.OpenTaskCounter}
	tids, err := p.Threads(pid)
	if err != nil {
		all.missing = err
		return all
	}
	all.groups(tids, groups)
	return all
}

func (p *perf) groups(tids []kernel.TID, groups [][]kernel.Counter) {
	var refused error
	for _, group := range groups {
		if err := p.group(tids, group); err != nil && refused == nil {
			refused = fmt.Errorf("hardware counters not available: %w", err)
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
	names := make([]string, len(p.absent))
	for i, c := range p.absent {
		names[i] = c.Name
	}
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
func (p *perf) read() (counts []Count, starved []string) {
	for i, c := range p.counters {
		sum := Count{Name: c.Name}
		var enabled, running uint64
		for _, fd := range p.fds[i] {
			value, on, ran, err := kernel.ReadTaskCounter(fd)
			if err != nil {
				continue
			}
			enabled, running = enabled+on, running+ran
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
func (p *perf) into(run *RunResult) {
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

// Derived are the metrics that counters give together, as PerfSuite's psprocess
// prints them; those whose counters are missing are left out.
func Derived(counts []Count) []Count {
	value := map[string]Count{}
	for _, c := range counts {
		value[c.Name] = c
	}
	var out []Count
	ratio := func(name, part, whole string) {
		a, haveA := value[part]
		b, haveB := value[whole]
		if haveA && haveB && b.Value > 0 {
			out = append(out, Count{Name: name, Value: a.Value / b.Value, Share: min(a.Share, b.Share)})
		}
	}
	ratio("instructions_per_cycle", kernel.Instructions.Name, kernel.Cycles.Name)
	ratio("branch_miss_rate", kernel.BranchMisses.Name, kernel.Branches.Name)
	ratio("cache_miss_rate", kernel.CacheMisses.Name, kernel.CacheReferences.Name)
	return out
}

// counted is a meter of one counter.
type counted struct {
	p    *perf
	last float64
}

func instructionsMeter(p procfs.FS, pid kernel.TID) (meter, error) {
	m := &counted{p: openPerf(p, pid, [][]kernel.Counter{{kernel.Instructions}})}
	if m.p.missing != nil {
		return nil, m.p.missing
	}
	return m, nil
}

func (m *counted) grown() (float64, error) {
	all, _ := m.p.read()
	if len(all) == 0 {
		return 0, nil // none of its threads ran
	}
	grown := all[0].Value - m.last
	m.last = all[0].Value
	return grown, nil
}

func (m *counted) close() { m.p.close() }

// medianCounts are the medians of the counters over the valid runs, and of what
// they give together.
func medianCounts(runs []RunResult) []Count {
	values, shares := map[string][]float64{}, map[string]float64{}
	var names []string
	for _, run := range runs {
		if !run.Valid() {
			continue
		}
		for _, c := range append(slices.Clone(run.Counts), Derived(run.Counts)...) {
			if values[c.Name] == nil {
				names = append(names, c.Name)
				shares[c.Name] = c.Share
			}
			values[c.Name] = append(values[c.Name], c.Value)
			shares[c.Name] = min(shares[c.Name], c.Share)
		}
	}
	var out []Count
	for _, name := range names {
		v, _ := chart.Median(values[name])
		out = append(out, Count{Name: name, Value: v, Share: shares[name]})
	}
	return out
}

// countWarnings says once why counters are missing, and which of them were scaled.
func countWarnings(runs []RunResult) []string {
	var out []string
	scaled := map[string]bool{}
	for _, run := range runs {
		if run.NoCounts != "" && !slices.Contains(out, run.NoCounts) {
			out = append(out, run.NoCounts)
		}
		for _, c := range run.Counts {
			if c.Share < fullTime && !scaled[c.Name] {
				scaled[c.Name] = true
				out = append(out, fmt.Sprintf("%s counted %s of the time and scaled up (too few PMU counters)", c.Name, chart.Percent(c.Share)))
			}
		}
	}
	return out
}

// fullTime is the share from which on a counter is taken to have counted all the
// time: the kernel's two clocks differ a little.
const fullTime = 0.999
