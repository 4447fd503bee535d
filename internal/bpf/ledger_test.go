package bpf

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

func TestAddPresent(t *testing.T) {
	earlier := RunInterval{CPU: 0, Kind: KindTask, ID: 7, OnNs: 1}
	intervals := []RunInterval{
		earlier,
		{CPU: 0, Kind: KindTask, ID: 7, OnNs: 100, LongestNs: 60, Count: 2},
		{CPU: 0, Kind: KindIRQ, ID: 7, OnNs: 5, Count: 1},
		{CPU: 1, Kind: KindTask, ID: 7, OnNs: 9, Count: 1},
	}
	now := []cpuNow{
		{partTID: 7, partTGID: 6, partNs: 50, partLongestNs: 500, known: 1},
		{partTID: 8, partTGID: 8, partNs: 40, partLongestNs: 40}, // found at the beginning, never left
		{partTID: 0, partNs: 1000},                               // offline, or idle all the time
		{partTID: 0, partNs: 30, partLongestNs: 30, known: 1},    // idle since its last switch
		{partTID: 9, partNs: 0, known: 1},                        // switched at this very moment
	}
	assert.Equal(t, []RunInterval{
		earlier,
		{CPU: 0, Kind: KindTask, ID: 7, OnNs: 150, LongestNs: 500, Count: 2},
		intervals[2], intervals[3],
		{CPU: 1, Kind: KindTask, ID: 8, TGID: 8, OnNs: 40, LongestNs: 40},
		{CPU: 3, Kind: KindTask, ID: 0, OnNs: 30, LongestNs: 30},
	}, addPresent(append([]RunInterval{}, intervals...), 1, now))
}

func TestKindNames(t *testing.T) {
	assert.Equal(t, "task irq softirq", fmt.Sprint(KindTask, " ", KindIRQ, " ", KindSoftIRQ))
}

// The time of a CPU is all accounted for, window after window.
func TestLedgerAddsUp(t *testing.T) {
	cpus := onlineCPUs(t)
	busy := cpus[len(cpus)-1]
	spinner := start(t, append([]string{"spin"}, hex("one", "two")...)...)
	for _, task := range spinner.Tasks(t) {
		require.NoError(t, task.SetAffinity(cpuset.Of(busy)))
	}
	l := bpftest.Must(t, 5, 14, OpenLedger)
	defer l.Close()
	before := runOf(t, spinner) // on a loaded machine it takes its time to get to the ledger, and back
	_, _, err := l.Drain(nil)
	require.NoError(t, err)
	begun, ending := runOf(t, spinner), procfs.Schedstat{}
	var window time.Duration
	var spun, waited, turns, longest, sum uint64
	// Real-time tasks of other tests may have all of the CPU for a second.
	for i := 0; i < 3 || turns == 0; i++ {
		time.Sleep(300 * time.Millisecond)
		ending = runOf(t, spinner)
		intervals, stats, err := l.Drain(nil)
		require.NoError(t, err)
		require.Zero(t, stats.Lost)
		window += stats.Window
		seen := map[RunInterval]bool{}
		for _, s := range intervals {
			id := RunInterval{CPU: s.CPU, Kind: s.Kind, ID: s.ID}
			require.False(t, seen[id], "%+v is there twice", id)
			seen[id] = true
			require.Less(t, s.WaitNs, uint64(time.Hour), "%+v", s)
			if s.CPU != busy {
				continue
			}
			sum += s.OnNs
			longest = max(longest, s.LongestNs)
			if s.Kind == KindTask && slices.Contains(spinner.TIDs, kernel.TID(s.ID)) {
				spun += s.OnNs
				waited += s.WaitNs
				turns += uint64(s.Count)
			}
		}
	}
	after := runOf(t, spinner)
	// A stay that ends while the tables are exchanged is in the next window: one may be
	// missing at the end, and one be too many at the beginning.
	between := func(what string, least, most, got, border uint64) {
		t.Helper()
		t.Logf("of %v: %s %d to %d by the kernel, %d by the ledger", window, what, least, most, got)
		assert.GreaterOrEqual(t, float64(got+border), 0.9*float64(least), what)
		assert.LessOrEqual(t, float64(got), 1.1*float64(most)+float64(border), what)
	}
	between("ns of a busy CPU", uint64(window), uint64(window), sum, longest)
	between("ns on the CPU", ending.RunNs-begun.RunNs, after.RunNs-before.RunNs, spun, longest)
	between("turns", ending.Slices-begun.Slices, after.Slices-before.Slices, turns, 20)
	// Of the waits that end there each thread may have one.
	between("ns waiting", ending.RunDelayNs-begun.RunDelayNs, after.RunDelayNs-before.RunDelayNs, waited, uint64(window)/2)
	assert.Positive(t, longest)
}

func runOf(t *testing.T, c *bpftest.Child) (sum procfs.Schedstat) {
	t.Helper()
	for _, tid := range c.TIDs {
		s, ok := see(fmt.Sprintf("/proc/%d/task/%d", c.PID, tid))
		require.True(t, ok)
		sum.RunNs += s.run.RunNs
		sum.RunDelayNs += s.run.RunDelayNs
		sum.Slices += s.run.Slices
	}
	return sum
}

// Someone who was on the CPU before, and never leaves it, is seen all the same.
func TestLedgerSeesWhoNeverLeaves(t *testing.T) {
	cpus := onlineCPUs(t)
	busy := cpus[len(cpus)-1]
	spinner := start(t, append([]string{"spin"}, hex("rt")...)...)
	tid, task := spinner.TIDs[0], spinner.Tasks(t)[0]
	require.NoError(t, task.SetAffinity(cpuset.Of(busy)))
	if err := task.SetPolicy(kernel.FIFO, 1, false); err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, task.SetPolicy(kernel.Other, 0, false)) }()
	ranUntil := func(at uint64) {
		require.Eventually(t, func() bool { return runOf(t, spinner).RunNs > at }, bpftest.Patience, bpftest.Tick)
	}
	ranUntil(50e6)
	l := bpftest.Must(t, 5, 14, OpenLedger)
	defer l.Close()
	begun := runOf(t, spinner).RunNs
	ranUntil(begun + 50e6)
	ran := runOf(t, spinner).RunNs - begun
	intervals, stats, err := l.Drain(nil)
	require.NoError(t, err)
	for _, s := range intervals {
		if s.CPU == busy && s.Kind == KindTask && s.ID == uint32(tid) {
			assert.GreaterOrEqual(t, float64(s.OnNs), 0.9*float64(ran))
			return
		}
	}
	t.Errorf("no stay of task %d on CPU %d in %v", tid, busy, stats.Window)
}

// Every window has interrupt work: the timer's softirq at least.
func TestLedgerHasSoftirqs(t *testing.T) {
	l := bpftest.Must(t, 5, 14, OpenLedger)
	defer l.Close()
	require.Eventually(t, func() bool {
		intervals, _, err := l.Drain(nil)
		require.NoError(t, err)
		for _, s := range intervals {
			if s.Kind == KindSoftIRQ && s.Count > 0 && s.OnNs > 0 && s.ID < 10 { // NR_SOFTIRQS
				return true
			}
		}
		return false
	}, bpftest.Patience, 5*bpftest.Tick)
}

func TestLedgerAfterClose(t *testing.T) {
	l := bpftest.Must(t, 5, 14, OpenLedger)
	l.Close()
	l.Close()
	_, _, err := l.Drain(nil)
	assert.ErrorIs(t, err, object.ErrClosed)
}
