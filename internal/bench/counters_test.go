package bench

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// fakePMU opens counters as a PMU that has room for some of those that it knows.
type fakePMU struct {
	has  []kernel.Counter
	room int // in a group; 0 any number
	err  error
	next int
	of   map[int]int // members of the group of a leader
}

func (f *fakePMU) open(c kernel.Counter, _ kernel.TID, leader int) (int, error) {
	if f.err != nil {
		return -1, f.err
	}
	known := !c.Hardware()
	for _, has := range f.has {
		known = known || has == c
	}
	if !known {
		return -1, syscall.ENOENT
	}
	if f.of == nil {
		f.of, f.next = map[int]int{}, 1<<20 // no descriptors of this process
	}
	if leader >= 0 && f.of[leader] == f.room && f.room > 0 {
		return -1, syscall.EINVAL
	}
	f.next++
	if leader < 0 {
		leader = f.next
	}
	f.of[leader]++
	return f.next, nil
}

func TestCountersThatAreThereCount(t *testing.T) {
	for _, tt := range []struct {
		name string
		pmu  fakePMU
		want []string
		why  string
	}{
		{"all", fakePMU{has: []kernel.Counter{kernel.Cycles, kernel.Instructions, kernel.Branches, kernel.BranchMisses, kernel.CacheReferences, kernel.CacheMisses}},
			[]string{"cycles", "instructions", "branches", "branch_misses", "cache_references", "cache_misses", "migrations", "switches"}, ""},
		// As QEMU's of arm64.
		{"two of six", fakePMU{has: []kernel.Counter{kernel.Cycles, kernel.Instructions}},
			[]string{"cycles", "instructions", "migrations", "switches"},
			"the PMU here does not count branches, branch_misses, cache_references, cache_misses"},
		{"not the first", fakePMU{has: []kernel.Counter{kernel.Instructions, kernel.CacheMisses}},
			[]string{"instructions", "cache_misses", "migrations", "switches"},
			"the PMU here does not count cycles, branches, branch_misses, cache_references"},
		{"little room", fakePMU{has: []kernel.Counter{kernel.Cycles, kernel.Instructions, kernel.Branches, kernel.BranchMisses, kernel.CacheReferences, kernel.CacheMisses}, room: 2},
			[]string{"cycles", "instructions", "branches", "branch_misses", "cache_references", "cache_misses", "migrations", "switches"}, ""},
		{"none", fakePMU{}, []string{"migrations", "switches"}, "no PMU here: hardware counters cannot be had"},
		{"forbidden", fakePMU{err: syscall.EACCES}, nil, "hardware counters cannot be had: permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &perf{open: tt.pmu.open}
			p.groups([]kernel.TID{10, 11}, groups)
			var names []string
			for i, c := range p.counters {
				names = append(names, c.Name)
				assert.Len(t, p.fds[i], 2, c.Name)
			}
			assert.Equal(t, tt.want, names)
			if tt.why == "" {
				assert.NoError(t, p.missing)
			} else {
				assert.EqualError(t, p.missing, tt.why)
			}
		})
	}
}

// The software counters are there on every machine; the hardware's, or why not.
func TestCountersOfRuns(t *testing.T) {
	study := Study{Workload: "nqueens", Args: []string{"-n", "11", "--threads", "2"}, Placements: []Placement{Normal}, Runs: 6, Counters: true}
	res, err := newRunner(t).Run(t.Context(), study, nil)
	require.NoError(t, err)
	run := res.Runs[0]
	require.Empty(t, run.Err)
	if run.NoCounts != "" && len(run.Counts) == 0 {
		t.Skip(run.NoCounts)
	}
	arm := Judge(res).Arms[0]
	names := map[string]Count{}
	for _, c := range arm.Counts {
		names[c.Name] = c
	}
	assert.Positive(t, names[kernel.TaskSwitches.Name].Value, "its threads waited for each other")
	assert.Contains(t, names, kernel.TaskMigrations.Name)
	if names["cycles"].Value > 0 && names["instructions"].Value > 0 {
		assert.Positive(t, names["instructions_per_cycle"].Value)
	} else {
		assert.NotEmpty(t, run.NoCounts)
	}
	if run.NoCounts != "" {
		assert.Contains(t, Judge(res).Warnings, run.NoCounts)
	}
}

func TestDerivedAndScaledCounters(t *testing.T) {
	counts := []Count{{"cycles", 2000, 1}, {"instructions", 3000, 0.5}, {"branches", 100, 1}, {"branch_misses", 5, 1}, {"cache_references", 0, 1}, {"cache_misses", 0, 1}}
	assert.Equal(t, []Count{{"instructions_per_cycle", 1.5, 0.5}, {"branch_miss_rate", 0.05, 1}}, Derived(counts))
	assert.Equal(t, []string{"instructions was counted for 50.0% of the time and scaled up: the PMU has too few counters"},
		countWarnings([]RunResult{{Counts: counts}, {Counts: counts}}))
}
