package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
)

// The tests of this file run inside the many-CPU machine that make guests boots,
// and compare what piton says with how the machine was made.

// vmShape is how the machine was made. Numbers go up from SMT sibling to sibling,
// core to core, LLC to LLC, node to node.
type vmShape struct{ cpus, threads, nodes, l3 int }

func (s vmShape) perLLC() int  { return s.cpus / s.nodes / s.l3 }
func (s vmShape) perNode() int { return s.cpus / s.nodes }

// block is the CPUs of the group of so many that a CPU is in.
func block(cpu, size int) cpuset.Set {
	var b cpuset.Builder
	first := cpu / size * size
	for i := first; i < first+size; i++ {
		b.Add(cpuset.CPU(i))
	}
	return b.Set()
}

func (s vmShape) distance(a, b int) topology.Distance {
	switch {
	case a == b:
		return topology.SameCPU
	case a/s.threads == b/s.threads:
		return topology.SMTSibling
	case a/s.perLLC() == b/s.perLLC():
		return topology.SameLLC
	case a/s.perNode() == b/s.perNode():
		return topology.SameNode
	}
	return topology.OtherNode
}

// shapeVar holds a machine's shape, in shapeFormat: CPUs, threads of a core, nodes, L3 caches of a node.
const (
	shapeVar    = "PITON_VM_SHAPE"
	shapeFormat = "%d,%d,%d,%d"
)

func needVM(t *testing.T) (s vmShape) {
	t.Helper()
	if !inVM() {
		t.Skip("runs in the machine that make guests boots")
	}
	_, err := fmt.Sscanf(os.Getenv(shapeVar), shapeFormat, &s.cpus, &s.threads, &s.nodes, &s.l3)
	require.NoError(t, err)
	return s
}

func TestVMTopology(t *testing.T) {
	s := needVM(t)
	topo, err := topology.Read("/")
	require.NoError(t, err)
	require.Len(t, topo.CPUs, s.cpus)
	for i, c := range topo.CPUs {
		assert.EqualValues(t, i, c.ID)
		assert.True(t, c.Online)
		assert.Equal(t, block(i, s.threads).String(), c.Core.String(), "core of CPU %d", i)
		assert.Equal(t, block(i, s.perLLC()).String(), c.LLC.String(), "LLC of CPU %d", i)
		assert.Equal(t, block(i, s.perNode()).String(), c.Package.String(), "package of CPU %d", i)
		assert.EqualValues(t, i/s.perNode(), c.Node, "node of CPU %d", i)
		for j := range topo.CPUs {
			if got := topo.Distance(c.ID, topo.CPUs[j].ID); got != s.distance(i, j) {
				t.Errorf("from CPU %d to %d it is %v, not %v", i, j, got, s.distance(i, j))
			}
		}
	}
	require.Len(t, topo.Nodes, s.nodes)
	for i, n := range topo.Nodes {
		assert.Equal(t, block(i*s.perNode(), s.perNode()).String(), n.CPUs.String())
		for j := range topo.Nodes {
			apart := min((i-j+s.nodes)%s.nodes, (j-i+s.nodes)%s.nodes) // in the ring
			assert.Equal(t, []int{10, 16, 20}[min(apart, 2)], n.Distances[topology.NodeID(j)], "from node %d to %d", i, j)
		}
	}
}

// hop is a way that a task is sent back and forth.
type hop struct {
	to    int
	times int
	class topology.Distance
}

// hops has a way from CPU 0 for every distance that the machine has.
func (s vmShape) hops() []hop {
	var all []hop
	for i, to := range []int{1, s.threads, s.perLLC(), s.cpus - 1} {
		class := topology.SMTSibling + topology.Distance(i)
		if to < s.cpus && s.distance(0, to) == class {
			all = append(all, hop{to, 3 + 2*i, class})
		}
	}
	return all
}

// TestVMDistances sends a thread over each distance, and looks for the moves in
// piton watch and in the heat map's table.
func TestVMDistances(t *testing.T) {
	s := needVM(t)
	topo, err := topology.Read("/")
	require.NoError(t, err)
	m := startMover(t, "1")
	tid := m.tids[0]
	require.NoError(t, sched.SetAffinity(tid, cpuset.Of(0)))
	m.running()
	sampler, err := sample.New(sample.Options{EBPF: sample.EBPFNow, Needs: sample.Needs{Threads: true}})
	require.NoError(t, err)
	defer sampler.Close()
	first, err := sampler.Read()
	require.NoError(t, err)
	w := startWatch(t, fmt.Sprint(tid), "--thread")
	require.Equal(t, "ebpf", w.first["source"], w.errs.String())
	for _, h := range s.hops() {
		for range h.times {
			require.NoError(t, sched.SetAffinity(tid, cpuset.Of(cpuset.CPU(h.to))))
			require.NoError(t, sched.SetAffinity(tid, cpuset.Of(0)))
		}
	}
	lines := w.end()
	second, err := sampler.Read()
	require.NoError(t, err)
	require.True(t, second.HaveMoves)
	require.Zero(t, second.MovesLost)

	var window model.MoveWindow
	window.Add(model.Next(model.Next(nil, first, topo), second, topo))
	var total int
	classes := ofType(lines, "summary")[0]["by_distance"].(map[string]any)
	for _, h := range s.hops() {
		assert.EqualValues(t, 2*h.times, classes[h.class.String()], "watched: %v", h.class)
		total += 2 * h.times
		for _, level := range []model.MoveLevel{model.ByCPU, model.ByLLC, model.ByNode} {
			s.checkTable(t, &window, model.NewMoveGroups(topo, level), tid, h)
		}
	}
	assert.EqualValues(t, total, ofType(lines, "summary")[0]["moves"])
	assert.Len(t, ofType(lines, "pair"), 2*len(s.hops()))
}

// checkTable looks for a hop's moves in the table at one level. Groups that hold
// both ends of several hops have all of those.
func (s vmShape) checkTable(t *testing.T, window *model.MoveWindow, g *model.MoveGroups, tid kernel.TID, h hop) {
	t.Helper()
	from, to := g.Index(0), g.Index(cpuset.CPU(h.to))
	want := 0
	for _, other := range s.hops() {
		at := g.Index(cpuset.CPU(other.to))
		if at == to {
			want += other.times
		}
		if from == to && at == to {
			want += other.times
		}
	}
	tasks, _ := window.Tasks(time.Hour, g, from, to)
	got := 0
	for _, task := range tasks {
		if task.TID == tid {
			got = int(task.Count)
		}
	}
	assert.Equal(t, want, got, "from CPU 0 to %d by %v", h.to, g.Level)
	if from != to {
		assert.Equal(t, h.class, g.Apart(from, to), "by %v", g.Level)
	}
}

// TestVMHighCPUs sets and reads masks that do not fit one word.
func TestVMHighCPUs(t *testing.T) {
	s := needVM(t)
	if s.cpus <= 64 {
		t.Skipf("%d CPUs fit one word", s.cpus)
	}
	h, pid := newHome(t), spinner(t)
	before := affinityOf(t, pid)
	last := s.cpus - 1
	for _, cpus := range []string{fmt.Sprintf("64-%d", last), fmt.Sprintf("0,63-64,%d", last), fmt.Sprint(last), "65"} {
		r := h.run("pin", fmt.Sprint(pid), "--cpu", cpus, "-o", "json")
		require.Zero(t, r.code, r.err)
		assert.Equal(t, "done", ofType(jsonLines(t, r.out), "change")[0]["status"])
		assert.Equal(t, cpus, affinityOf(t, pid))
		r = h.run("--headless", "-n", "1", "-d", "300ms", "-o", "json", "--pid", fmt.Sprint(pid))
		require.Zero(t, r.code, r.err)
		task := ofType(jsonLines(t, r.out), "task")[0]
		assert.Equal(t, cpus, task["affinity"])
		set, err := cpuset.Parse(cpus)
		require.NoError(t, err)
		assert.True(t, set.Has(cpuset.CPU(task["cpu"].(float64))), "it runs on %v", task["cpu"])
	}
	r := h.run("undo", "--all")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, before, affinityOf(t, pid))
}

// TestVMWalkHasHighMasks reads masks by the walk inside the kernel.
func TestVMWalkHasHighMasks(t *testing.T) {
	s := needVM(t)
	pid := sleeper(t)
	want := cpuset.Of(0, cpuset.CPU(s.cpus/2), cpuset.CPU(s.cpus-1))
	require.NoError(t, sched.SetAffinity(pid, want))
	sampler, err := sample.New(sample.Options{EBPF: sample.EBPFNow, Needs: sample.Needs{Affinity: true}})
	require.NoError(t, err)
	defer sampler.Close()
	n, err := sampler.Read()
	require.NoError(t, err)
	for _, c := range n.Collectors {
		if c.Name == "tasks" {
			require.True(t, strings.HasPrefix(c.Rung, "ebpf"), "%s: %s", c.Rung, c.Better)
		}
	}
	for i := range n.Tasks {
		if n.Tasks[i].TID == pid {
			assert.Equal(t, want.String(), n.Tasks[i].Affinity.String())
			return
		}
	}
	t.Fatal("the walk has no such process")
}
