package tune

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// numa gives the machine two nodes of two CPUs.
func (m *machine) numa() {
	m.write("sys/devices/system/node/has_memory", "0-1\n")
	m.write("sys/devices/system/node/node0/cpulist", "0-1\n")
	m.write("sys/devices/system/node/node1/cpulist", "2-3\n")
}

const onNode0 = "400000 default file=/bin/x mapped=8 N0=8 kernelpagesize_kB=4\n7f0000 default anon=92 N0=92 kernelpagesize_kB=4\n"

func follows(cpus cpuset.Set, tids ...kernel.TID) []Request {
	r := Request{Settings: Settings{Affinity: &cpus, MemoryFollows: true}}
	for _, tid := range tids {
		r.Targets = append(r.Targets, Target{TID: tid})
	}
	return []Request{r}
}

func TestMemoryFollowsAndComesBack(t *testing.T) {
	m := newMachine(t)
	m.numa()
	m.spawn(10, 10)
	m.spawn(10, 11)
	m.write("proc/10/numa_maps", onNode0)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	m.Before("MigratePages", 10, func() {
		m.write("proc/10/numa_maps", "400000 default N1=8 kernelpagesize_kB=4\n7f0000 default N1=94 kernelpagesize_kB=4\n")
	})
	result := apply(t, tuner, follows(cpuset.Of(2, 3), 10))
	assert.Equal(t, []string{"affinity 0-3 to 2-3: done", "memory 0:100 to 1:102: done", "affinity 0-3 to 2-3: done"}, outcome(result.Changes),
		"once for the process")
	m.write("proc/10/numa_maps", "7f0000 default N1=130 kernelpagesize_kB=4\n") // it runs, and has got more
	m.Before("MigratePages", 10, func() { m.write("proc/10/numa_maps", "7f0000 default N0=130 kernelpagesize_kB=4\n") })
	result = undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, 3, result.Count(Done), "%v", outcome(result.Changes))
	assert.Contains(t, m.Calls(), "MigratePages(10, 0 to 1)")
	assert.Contains(t, m.Calls(), "MigratePages(10, 1 to 0)")
}

func TestMemoryThatStays(t *testing.T) {
	m := newMachine(t)
	m.numa()
	m.spawn(10, 10)
	m.write("proc/10/numa_maps", onNode0)
	m.Before("MigratePages", 10, func() { m.write("proc/10/numa_maps", "400000 default N0=8 N1=92\n") })
	result := apply(t, m.tuner(Options{}), follows(cpuset.Of(2), 10))
	assert.Equal(t, Done, result.Changes[1].Status)
	assert.Equal(t, "8 of 100 pages stayed on node 0: others use them too, or they cannot be moved", result.Changes[1].Reason)

	m.write("proc/10/numa_maps", onNode0)
	result = apply(t, m.tuner(Options{}), follows(cpuset.Of(3), 10))
	assert.Equal(t, Failed, result.Changes[1].Status, "nothing moved")

	result = apply(t, m.tuner(Options{}), follows(cpuset.Of(0), 10))
	assert.Equal(t, "memory 0:100 to 0:100: unchanged", outcome(result.Changes)[1])
}

func TestMemoryRefusals(t *testing.T) {
	m := newMachine(t)
	m.numa()
	m.spawn(10, 10)
	m.spawn(10, 11)
	m.spawn(20, 20)
	m.spawn(30, 30)
	m.write("proc/30/numa_maps", "400000 bind:0 N0=8\n")
	two := cpuset.Of(2)
	plan, err := m.tuner(Options{}).Plan(context.Background(), follows(two, 20, 30))
	require.NoError(t, err)
	assert.Equal(t, Refused, plan.Changes[1].Status)
	assert.Equal(t, "this kernel is built without NUMA (CONFIG_NUMA): there is one memory for all CPUs", plan.Changes[1].Reason)
	assert.Contains(t, plan.Warnings, "30 has a memory policy of its own (bind 0): what it allocates later goes there, only its pages of now move")

	_, err = m.tuner(Options{}).Plan(context.Background(), []Request{{
		Targets: []Target{{TID: 11, Scope: ScopeThread}}, Settings: Settings{MemoryFollows: true},
	}})
	assert.EqualError(t, err, "memory belongs to the whole process 10, not to its thread 11")

	m.write("sys/devices/system/node/has_memory", "0\n")
	plan, err = m.tuner(Options{}).Plan(context.Background(), follows(two, 30))
	require.NoError(t, err)
	assert.Equal(t, "the nodes of CPU 2 have no memory of their own", plan.Changes[1].Reason)
}

// An undo of pages that were on both nodes moves as many as there were.
func TestMemoryIsDividedAgain(t *testing.T) {
	m := newMachine(t)
	m.numa()
	m.spawn(10, 10)
	m.write("proc/10/numa_maps", "1000 default N1=4 kernelpagesize_kB=4\n9000 default N0=1\n")
	m.write("proc/10/maps", "1000-5000 rw-p 0 00:00 0\n9000-a000 rw-p 0 00:00 0\n")
	d := division{t: m.tuner(Options{}), pid: 10, missing: map[int32]int64{0: -2, 1: 2}}
	require.NoError(t, d.move([]uint64{0x1000, 0x2000, 0x3000}, 1), "the fake says that all of them are on node 0")
	assert.Equal(t, []string{"MovePages(10, [1000 2000] to [1 1])"}, m.Calls())

	tuner := m.tuner(Options{})
	require.NoError(t, tuner.write(Change{PID: 10, TID: 10, Attribute: Memory, After: "0:2 1:3"}))
	assert.Len(t, m.Calls(), 1, "of node 1's pages the fake has none")
}

func TestPagesText(t *testing.T) {
	pages, ok := ParsePages("0:812 1:3")
	require.True(t, ok)
	assert.Equal(t, Pages{0: 812, 1: 3}, pages)
	for _, text := range []string{"", "1", "0-1", "x:1", "1:x", "-1:5"} {
		_, ok := ParsePages(text)
		assert.False(t, ok, text)
	}
	for _, tt := range []struct {
		a, b  string
		alike bool
	}{
		{"0:100", "0:130", true}, {"0:100", "1:100", false}, {"0:30 1:70", "0:32 1:70", true}, {"0:30 1:70", "1:100", false},
		{"1:100", "1", true}, {"1", "0:1 1:99", false}, {"0-1", "0:5 1:99", true}, {"1", "1", true}, {"0:1 1:99", "1:100", true},
	} {
		assert.Equal(t, tt.alike, memoryAlike(tt.a, tt.b), "%s and %s", tt.a, tt.b)
	}
}

func FuzzParsePages(f *testing.F) {
	f.Add("0:812 1:3")
	f.Fuzz(func(t *testing.T, text string) {
		pages, ok := ParsePages(text)
		if !ok {
			return
		}
		again, ok := ParsePages(pages.String())
		require.True(t, ok)
		assert.Equal(t, pages, again)
	})
}
