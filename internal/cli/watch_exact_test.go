package cli

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/bpf/bpftest"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
)

// checkSums holds what was watched against the kernel's own counters.
func checkSums(t *testing.T, lines []map[string]any, before, after map[kernel.TID]uint64) (summary map[string]any) {
	t.Helper()
	summaries := ofType(lines, "summary")
	require.Len(t, summaries, 1)
	summary = summaries[0]
	var growth, tasks, pairs, classes uint64
	for tid := range after {
		growth += after[tid] - before[tid]
	}
	moved := map[kernel.TID]uint64{}
	for _, task := range ofType(lines, "task") {
		moved[kernel.TID(number(task, "tid"))] = number(task, "moves")
		tasks += number(task, "moves")
	}
	for tid := range after {
		assert.Equal(t, after[tid]-before[tid], moved[tid], "thread %d", tid)
	}
	for _, pair := range ofType(lines, "pair") {
		assert.NotEqual(t, pair["from"], pair["to"])
		pairs += number(pair, "count")
	}
	for _, n := range summary["by_distance"].(map[string]any) {
		classes += uint64(n.(float64))
	}
	assert.Equal(t, growth, number(summary, "moves"), "nr_migrations")
	assert.Equal(t, growth, tasks)
	hides, err := bpf.HidesTasks()
	require.NoError(t, err)
	bpftest.Told(t, growth, pairs, hides, "moves from CPU to CPU")
	unseen := number(summary, "unseen")
	assert.Equal(t, growth, pairs+unseen)
	assert.Equal(t, growth, classes+unseen)
	assert.Equal(t, unseen, number(summary, "unknown_pair"))
	assert.Equal(t, growth, uint64(len(ofType(lines, "move")))+number(summary, "lost")+unseen, "each has a line or is counted as lost")
	return summary
}

// exactness is how often, and with how many flips, exactness is tried.
// Ten runs of 2,000 are what is asked for; emulated CPUs get fewer.
func exactness() (runs, flips int) {
	switch {
	case inVM():
		return 1, 400
	case testing.Short():
		return 2, 200
	}
	return 10, 2000
}

// TestWatchIsExact flips the threads of a process from outside and then leaves
// them to the scheduler, which has too few CPUs for them.
func TestWatchIsExact(t *testing.T) {
	a, b := twoCPUs(t)
	topo, err := topology.Read("/")
	require.NoError(t, err)
	runs, flips := exactness()
	whole := 0
	for run := range runs {
		m := startMover(t, "4")
		other := spinner(t)
		all, err := sched.Affinity(m.tids[0])
		require.NoError(t, err)
		for _, tid := range m.tids {
			require.NoError(t, sched.SetAffinity(tid, cpuset.Of(a)))
		}
		before := m.freeze()
		w := startWatch(t, fmt.Sprint(m.pid))
		w.needBPF()
		m.thaw()
		m.running()
		for i := range flips {
			to := b
			if i/len(m.tids)%2 == 1 {
				to = a
			}
			require.NoError(t, sched.SetAffinity(m.tids[i%len(m.tids)], cpuset.Of(to)))
		}
		flipped := m.freeze()
		m.thaw()
		for _, tid := range m.tids {
			require.NoError(t, sched.SetAffinity(tid, all))
		}
		time.Sleep(150 * time.Millisecond)
		require.NoError(t, sched.SetAffinity(other, cpuset.Of(a)))
		after := m.freeze()
		lines := w.end()
		assert.Equal(t, exit.Interrupted, <-w.code)
		summary := checkSums(t, lines, before, after)
		assert.EqualValues(t, 130, summary["exit_code"])
		assert.Equal(t, true, summary["exact"])
		if summary["unseen"].(float64) == 0 {
			checkFlips(t, topo, lines, m.tids, before, flipped, flips, a, b)
			whole++
		}
		t.Logf("run %d: %v moves, %d of them flips", run+1, summary["moves"], flips)
		m.thaw()
	}
	assert.Positive(t, whole, "in no run eBPF was told of every move")
}

// checkFlips looks at the threads that were flipped, as long as they were: each
// went from a to b and back, and so often as it was told.
func checkFlips(t *testing.T, topo *topology.Topology, lines []map[string]any, tids []kernel.TID, before, flipped map[kernel.TID]uint64, flips int, a, b cpuset.CPU) {
	t.Helper()
	var there, back uint64
	seen := map[kernel.TID]uint64{}
	for _, move := range ofType(lines, "move") {
		tid := kernel.TID(number(move, "tid"))
		if !slices.Contains(tids, tid) || seen[tid] == flipped[tid]-before[tid] {
			continue
		}
		seen[tid]++
		from, to := cpuset.CPU(number(move, "from")), cpuset.CPU(number(move, "to"))
		assert.Equal(t, topo.Distance(from, to).String(), move["distance"])
		switch [2]cpuset.CPU{from, to} {
		case [2]cpuset.CPU{a, b}:
			there++
		case [2]cpuset.CPU{b, a}:
			back++
		}
	}
	assert.EqualValues(t, flips, there+back, "one move a flip")
	assert.EqualValues(t, flips/2, there)
}
