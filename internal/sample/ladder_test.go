package sample

import (
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// fakePerf has one counter per CPU; a descriptor is the CPU's number.
type fakePerf struct {
	counts  map[cpuset.CPU]uint64
	offline map[cpuset.CPU]bool
	dead    map[cpuset.CPU]bool // taken apart while the CPU was offline
	refuse  error
	opened  int
	closed  int
}

func (f *fakePerf) api() counterAPI {
	return counterAPI{
		open: func(cpu cpuset.CPU) (int, error) {
			switch {
			case f.refuse != nil:
				return -1, fmt.Errorf("perf_event_open: %w", f.refuse)
			case f.offline[cpu]:
				return -1, syscall.ENODEV
			}
			f.opened++
			f.counts[cpu], f.dead[cpu] = 0, false
			return int(cpu), nil
		},
		read: func(fd int) (uint64, error) {
			if f.dead[cpuset.CPU(fd)] {
				return 0, io.EOF
			}
			return f.counts[cpuset.CPU(fd)], nil
		},
		shut: func(int) error { f.closed++; return nil },
	}
}

func TestPerfCountsThroughHotplug(t *testing.T) {
	f := &fakePerf{counts: map[cpuset.CPU]uint64{}, offline: map[cpuset.CPU]bool{}, dead: map[cpuset.CPU]bool{}}
	p := newPerfMigrations(f.api())
	count := func(ids ...cpuset.CPU) []CPU {
		cpus := make([]CPU, len(ids))
		for i, id := range ids {
			cpus[i].ID = id
		}
		require.NoError(t, p.count(&Sample{CPUs: cpus}, nil))
		return cpus
	}
	assert.Equal(t, []CPU{{ID: 0, HaveIn: true}, {ID: 1, HaveIn: true}}, count(0, 1))
	f.counts[0], f.counts[1] = 5, 7
	assert.Equal(t, uint64(7), count(0, 1)[1].MigrationsIn)
	count(0) // 1 went offline
	assert.Equal(t, 1, f.closed)
	assert.Equal(t, uint64(7), count(0, 1)[1].MigrationsIn, "back, and counting on")
	f.counts[1] = 2
	assert.Equal(t, uint64(9), count(0, 1)[1].MigrationsIn)

	f.dead[1] = true // off and on between two samples
	assert.False(t, count(0, 1)[1].HaveIn)
	assert.Equal(t, CPU{ID: 1, MigrationsIn: 9, HaveIn: true}, count(0, 1)[1])

	f.offline[2] = true // went offline since /proc/stat was read
	assert.False(t, count(0, 1, 2)[2].HaveIn)
	p.close()
	assert.Equal(t, f.opened, f.closed)
}

func TestRefusedPerfFallsToSampling(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "five", cpu: 0})
	s := h.sampler(Needs{})
	f := &fakePerf{counts: map[cpuset.CPU]uint64{}, refuse: syscall.EACCES}
	s.ladder = []migrationSource{newPerfMigrations(f.api()), newSampledMigrations()}
	n := h.read(s)
	assert.Equal(t, SourceSampled, n.Migrations)
	said := false
	for _, c := range n.Collectors {
		if c.Name == "migrations" {
			said = true
			assert.NoError(t, c.Err)
			assert.Contains(t, c.Better, "CAP_PERFMON")
			assert.Equal(t, "sampled", c.Rung)
		}
	}
	assert.True(t, said)
	h.task(stub{pid: 5, comm: "five", cpu: 1})
	n = h.read(s)
	assert.Equal(t, []uint64{0, 1}, []uint64{n.CPUs[0].MigrationsIn, n.CPUs[1].MigrationsIn})
	assert.Equal(t, []uint64{1, 0}, []uint64{n.CPUs[0].MigrationsOut, n.CPUs[1].MigrationsOut})
}

func TestSampledMigrationsCompareTheSameTask(t *testing.T) {
	s := newSampledMigrations()
	cpus := []CPU{{ID: 0}, {ID: 1}}
	on := func(tid kernel.TID, start uint64, cpu int32) *Task {
		return &Task{TID: tid, StartTicks: start, LastCPU: cpu}
	}
	before := []*Task{on(1, 1, 0), on(3, 1, 0), on(4, 1, 0), on(5, 1, -1)}
	now := []*Task{on(1, 1, 1), on(2, 1, 1), on(3, 2, 1), on(4, 1, 0), on(5, 1, 1)}
	require.NoError(t, s.count(&Sample{CPUs: cpus, Tasks: now}, before))
	assert.Equal(t, uint64(1), cpus[1].MigrationsIn, "task 1 alone: 2 is new, 3 another one, 4 stayed, of 5 nobody knows")
	assert.Equal(t, uint64(1), cpus[0].MigrationsOut)
}
