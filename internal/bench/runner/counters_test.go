package runner

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/bench"
	"piton/internal/kernel"
)

// fakePMU opens counters as a PMU that has room for some of those that it knows.
type fakePMU struct {
	has    []kernel.Counter
	room   int // in a group; 0 any number
	err    error
	on     func(c kernel.Counter, tid kernel.TID) error // what else fails
	reads  [3]uint64                                    // value, enabled, running of each
	opened []int
	of     map[int]int // members of the group of a leader
}

func (f *fakePMU) open(c kernel.Counter, tid kernel.TID, leader int) (int, error) {
	if f.err != nil {
		return -1, f.err
	}
	if c.Hardware() && !slices.Contains(f.has, c) {
		return -1, syscall.ENOENT
	}
	if f.on != nil {
		if err := f.on(c, tid); err != nil {
			return -1, err
		}
	}
	if leader >= 0 && f.of[leader] == f.room && f.room > 0 {
		return -1, syscall.EINVAL
	}
	fd, err := unix.MemfdCreate("counter", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	var b []byte
	for _, word := range f.reads {
		b = binary.NativeEndian.AppendUint64(b, word)
	}
	if _, err := unix.Pwrite(fd, b, 0); err != nil {
		return -1, err
	}
	f.opened = append(f.opened, fd)
	if leader < 0 {
		leader = fd
	}
	if f.of == nil {
		f.of = map[int]int{}
	}
	f.of[leader]++
	return fd, nil
}

// isOpen tells whether a descriptor is one of the fake's that was not closed.
func isOpen(fd int) bool {
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	return err == nil && strings.HasPrefix(name, "/memfd:counter")
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
			"the PMU does not count branches, branch_misses, cache_references, cache_misses"},
		{"not the first", fakePMU{has: []kernel.Counter{kernel.Instructions, kernel.CacheMisses}},
			[]string{"instructions", "cache_misses", "migrations", "switches"},
			"the PMU does not count cycles, branches, branch_misses, cache_references"},
		{"little room", fakePMU{has: []kernel.Counter{kernel.Cycles, kernel.Instructions, kernel.Branches, kernel.BranchMisses, kernel.CacheReferences, kernel.CacheMisses}, room: 2},
			[]string{"cycles", "instructions", "branches", "branch_misses", "cache_references", "cache_misses", "migrations", "switches"}, ""},
		{"none", fakePMU{}, []string{"migrations", "switches"}, "no PMU: hardware counters not available"},
		{"forbidden", fakePMU{err: syscall.EACCES}, nil, "counters not available: permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &perf{open: tt.pmu.open}
			defer p.close()
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
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "11", "--threads", "2"}, Placements: []bench.Placement{bench.Normal}, Runs: 6, Counters: true}
	res, err := newRunner(t).Run(t.Context(), study, nil)
	require.NoError(t, err)
	run := res.Runs[0]
	require.Empty(t, run.Err)
	if strings.Contains(run.NoCounts, syscall.EACCES.Error()) {
		t.Skip("needs CAP_PERFMON: ", run.NoCounts)
	}
	arm := bench.Judge(res).Arms[0]
	names := map[string]bench.Count{}
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
		assert.Contains(t, bench.Judge(res).Warnings, run.NoCounts)
	}
}

// Of a counter that a later thread does not have, and of a group that fails, nothing stays open.
func TestCountersAreClosed(t *testing.T) {
	all := []kernel.Counter{kernel.Cycles, kernel.Instructions, kernel.Branches, kernel.BranchMisses, kernel.CacheReferences, kernel.CacheMisses}
	for _, tt := range []struct {
		name      string
		on        func(c kernel.Counter, tid kernel.TID) error
		want      []string
		instances int // of the first counter
		why       string
	}{
		{"the leader is absent on a later thread", func(c kernel.Counter, tid kernel.TID) error {
			if c == kernel.Cycles && tid == 11 {
				return syscall.ENOENT
			}
			return nil
		}, []string{"instructions", "branches", "branch_misses", "cache_references", "cache_misses", "migrations", "switches"}, 3, "the PMU does not count cycles"},
		{"a thread ends", func(c kernel.Counter, tid kernel.TID) error {
			if c == kernel.Branches && tid == 11 {
				return syscall.ESRCH
			}
			return nil
		}, []string{"cycles", "instructions", "branches", "branch_misses", "cache_references", "cache_misses", "migrations", "switches"}, 3, ""},
		{"no descriptor is left", func(c kernel.Counter, tid kernel.TID) error {
			if c == kernel.CacheMisses && tid == 12 {
				return syscall.EMFILE
			}
			return nil
		}, []string{"cycles", "instructions", "branches", "branch_misses", "migrations", "switches"}, 3, "counters not available: too many open files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pmu := &fakePMU{has: all, on: tt.on}
			p := &perf{open: pmu.open}
			p.groups([]kernel.TID{10, 11, 12}, groups)
			var names []string
			var kept []int
			for i, c := range p.counters {
				names = append(names, c.Name)
				kept = append(kept, p.fds[i]...)
			}
			assert.Equal(t, tt.want, names)
			assert.Len(t, p.fds[0], tt.instances)
			for _, fd := range pmu.opened {
				assert.Equal(t, slices.Contains(kept, fd), isOpen(fd))
			}
			if tt.why == "" {
				assert.NoError(t, p.missing)
			} else {
				assert.EqualError(t, p.missing, tt.why)
			}
			p.close()
			assert.False(t, slices.ContainsFunc(pmu.opened, isOpen))
		})
	}
}

// Somebody else may hold all counters of the PMU: a group is opened, and never counts.
func TestStarvedCountersAreNamed(t *testing.T) {
	pmu := &fakePMU{has: []kernel.Counter{kernel.Cycles, kernel.Instructions}, reads: [3]uint64{0, 1000, 0}}
	p := &perf{open: pmu.open}
	p.groups([]kernel.TID{10}, [][]kernel.Counter{{kernel.Cycles, kernel.Instructions}})
	pmu.reads = [3]uint64{7, 1000, 1000}
	p.groups([]kernel.TID{10}, [][]kernel.Counter{{kernel.TaskSwitches}})
	var run bench.RunResult
	p.into(&run)
	assert.Equal(t, []bench.Count{{Name: "switches", Value: 7, Share: 1}}, run.Counts)
	assert.Equal(t, "the PMU had no free counter for cycles, instructions", run.NoCounts)
}
