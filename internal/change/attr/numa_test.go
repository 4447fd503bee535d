package attr_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// onNodes is a machine of two nodes with process 10 on the first one.
func onNodes(t *testing.T) *changetest.Machine {
	m := changetest.New(t)
	twoNodes(m)
	m.Spawn(10, 10)
	m.Write("proc/10/numa_maps", onNode0)
	return m
}

func TestMemoryFollowsAndIsRestored(t *testing.T) {
	m := onNodes(t)
	m.Spawn(10, 11)
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t)})
	m.Before("MigratePages", 10, func() {
		m.Write("proc/10/numa_maps", "400000 default N1=8 kernelpagesize_kB=4\n7f0000 default N1=94 kernelpagesize_kB=4\n")
	})
	outcome := changetest.Apply(t, tuner, follows(cpuset.Of(2, 3), 10))
	assert.Equal(t, []string{"affinity 0-3 to 2-3: done", "memory 0:100 to 1:102: done", "affinity 0-3 to 2-3: done"}, changetest.Brief(outcome.Changes),
		"once for the process")
	m.Write("proc/10/numa_maps", "7f0000 default N1=130 kernelpagesize_kB=4\n") // it runs, and has got more
	m.Before("MigratePages", 10, func() { m.Write("proc/10/numa_maps", "7f0000 default N0=130 kernelpagesize_kB=4\n") })
	outcome = changetest.Undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, 3, outcome.Count(attr.Done), "%v", changetest.Brief(outcome.Changes))
	assert.Contains(t, m.Calls(), "MigratePages(10, 0 to 1)")
	assert.Contains(t, m.Calls(), "MigratePages(10, 1 to 0)")
}

func TestMemoryThatStays(t *testing.T) {
	m := onNodes(t)
	m.Before("MigratePages", 10, func() { m.Write("proc/10/numa_maps", "400000 default N0=8 N1=92\n") })
	follow := func(cpus cpuset.Set) attr.Change {
		return changetest.Apply(t, m.Tuner(change.Options{}), follows(cpus, 10)).Changes[1]
	}
	c := follow(cpuset.Of(2))
	assert.Equal(t, attr.Done, c.Status)
	assert.Equal(t, "8 of 100 pages stayed on node 0: others use them too, or they cannot be moved", c.Reason)

	m.Write("proc/10/numa_maps", onNode0)
	assert.Equal(t, attr.Failed, follow(cpuset.Of(3)).Status, "nothing moved")
	assert.Equal(t, []string{"memory 0:100 to 0:100: unchanged"}, changetest.Brief([]attr.Change{follow(cpuset.Of(0))}))
}

func TestMemoryRefusals(t *testing.T) {
	m := onNodes(t)
	m.Spawn(10, 11)
	m.Spawn(20, 20)
	m.Write("proc/20/comm", "job\n")
	m.Spawn(30, 30)
	m.Write("proc/30/numa_maps", "400000 bind:0 N0=8\n")
	tuner := m.Tuner(change.Options{})
	p := changetest.Plan(t, tuner, follows(cpuset.Of(2), 20, 30))
	assert.Equal(t, attr.Refused, p.Changes[1].Status)
	assert.Equal(t, "this kernel has no NUMA nodes (CONFIG_NUMA): there is one memory for all CPUs", p.Changes[1].Reason)
	assert.Contains(t, change.Texts(p.Warnings), "30 has a memory policy of its own (bind 0): what it allocates later goes there, only its pages of now move")

	_, err := tuner.Plan(t.Context(), []change.Request{{
		Targets: []change.Target{{TID: 11, Scope: change.ScopeThread}}, Set: []attr.Setting{attr.SetMemoryNear(cpuset.Set{})},
	}})
	assert.EqualError(t, err, "memory belongs to the whole process 10, not to its thread 11")

	m.Write("sys/devices/system/node/has_memory", "0\n")
	p = changetest.Plan(t, tuner, follows(cpuset.Of(2), 30))
	assert.Equal(t, "the nodes of CPU 2 have no memory of their own", p.Changes[1].Reason)
}

// Without CPUs it is near those that the process may use.
func TestMemoryNearItsOwnCPUs(t *testing.T) {
	m := onNodes(t)
	require.NoError(t, m.SetAffinity(10, cpuset.Of(3)))
	assert.Equal(t, []string{"memory 0:100 to 1: planned"}, changetest.Brief(plan(t, m, attr.SetMemoryNear(cpuset.Set{}), 10).Changes))
}

// An undo of pages that were on both nodes moves as many as there were.
func TestMemoryIsDividedAgain(t *testing.T) {
	m := onNodes(t)
	m.Write("proc/10/numa_maps", "1000 default N1=4 kernelpagesize_kB=4\n9000 default N0=1\n")
	m.Write("proc/10/maps", "1000-5000 rw-p 0 00:00 0\n9000-a000 rw-p 0 00:00 0\n")
	want, err := attr.Memory.Parse("0:2 1:3")
	require.NoError(t, err)
	changetest.Apply(t, m.Tuner(change.Options{}), changetest.One(attr.Setting{Attribute: attr.Memory, Value: want}, 10))
	assert.Empty(t, m.Calls(), "of node 1's pages the fake has none")
}

// onNode0 is the numa_maps of a process with 100 pages.
const onNode0 = "400000 default file=/bin/x mapped=8 N0=8 kernelpagesize_kB=4\n7f0000 default anon=92 N0=92 kernelpagesize_kB=4\n"

// twoNodes gives a machine two NUMA nodes of two CPUs.
func twoNodes(m *changetest.Machine) {
	m.Write("sys/devices/system/node/has_memory", "0-1\n")
	m.Write("sys/devices/system/node/node0/cpulist", "0-1\n")
	m.Write("sys/devices/system/node/node1/cpulist", "2-3\n")
}

// follows asks for CPUs, and for the memory to be near them.
func follows(cpus cpuset.Set, tids ...kernel.TID) []change.Request {
	return changetest.Set([]attr.Setting{attr.SetAffinity(cpus), attr.SetMemoryNear(cpus)}, tids...)
}
