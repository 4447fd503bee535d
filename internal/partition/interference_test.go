package partition

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
)

func TestWatcher(t *testing.T) {
	w := server(t)
	w.isolate("4-7")
	w.f.Tasks[8].Mask = set(t, "5")   // 12 is pinned there by now
	w.f.Tasks[7].Mask = set(t, "3-4") // 11 has widened itself
	watch := NewWatcher(set(t, "4-5"))
	ms := uint64(time.Millisecond)
	first := []sample.RunInterval{
		{CPU: 4, Kind: sample.RunOfTask, TID: 0, RunNs: 900 * ms},
		{CPU: 3, Kind: sample.RunOfTask, TID: 10, RunNs: 900 * ms},
		{CPU: 5, Kind: sample.RunOfTask, TID: 12, Name: "task", RunNs: 20 * ms, LongestNs: 3 * ms, Times: 4},
		{CPU: 4, Kind: sample.RunOfTask, TID: 3, Name: "ksoftirqd/4", RunNs: ms, LongestNs: ms, Times: 1},
		{CPU: 4, Kind: sample.RunOfTask, TID: 11, Name: "task", RunNs: 2 * ms, LongestNs: ms, Times: 2},
		{CPU: 4, Kind: sample.RunOfTask, TID: 999, Name: "gone", RunNs: 3 * ms, LongestNs: ms, Times: 2},
		{CPU: 5, Kind: sample.RunOfIRQ, Number: 25, Name: "dev", RunNs: ms, LongestNs: ms, Times: 9},
		{CPU: 5, Kind: sample.RunOfIRQ, Number: 24, Name: "dev", RunNs: ms / 2, LongestNs: ms, Times: 1},
		{CPU: 4, Kind: sample.RunOfSoftIRQ, Number: 9, Name: "RCU", RunNs: ms / 4, LongestNs: ms / 4, Times: 1},
		{CPU: 4, Kind: sample.RunOfSoftIRQ, Number: 1, Name: "TIMER", RunNs: ms / 8, LongestNs: ms / 8, Times: 1},
	}
	watch.Add(first)
	watch.Add([]sample.RunInterval{{CPU: 5, Kind: sample.RunOfTask, TID: 12, Name: "task", RunNs: 20 * ms, LongestNs: 9 * ms, Times: 1}})
	table := irq.Table{Elapsed: 2 * time.Second, CPUs: []cpuset.CPU{0, 4, 5}, Named: []irq.NamedRow{
		{Named: irq.Named{Name: "LOC"}, Rate: irq.Rate{OK: true, ByCPU: []float64{250, 100.2, 0}}},
		{Named: irq.Named{Name: "RES"}},
	}}
	got := watch.Report(w.f, &table)
	var names []string
	by := map[string]Interference{}
	for _, v := range got {
		names = append(names, v.Name)
		by[v.Name+string(v.Kind)] = v
	}
	assert.Equal(t, []string{"gone", "task", "ksoftirqd/4", "RCU", "TIMER", "LOC", "task", "dev", "dev"}, names)
	pinned := got[6]
	assert.Equal(t, 12, pinned.Number)
	assert.Equal(t, 40*time.Millisecond, pinned.Run)
	assert.Equal(t, 9*time.Millisecond, pinned.Longest)
	assert.EqualValues(t, 5, pinned.Times)
	assert.Equal(t, "it is pinned there", pinned.Why)
	assert.Equal(t, "piton pin 11 --thread --cpu 3", got[1].Do)
	assert.Equal(t, "it has ended", got[0].Why)
	assert.Contains(t, by["ksoftirqd/4task"].Do, "piton irq list")
	assert.Contains(t, got[7].Why, "its driver manages it")
	assert.Contains(t, got[8].Why, "before its new affinity took effect")
	assert.Equal(t, "boot with rcu_nocbs=4-5", by["RCUsoftirq"].Do)
	assert.Contains(t, by["TIMERsoftirq"].Do, "nohz_full=4-5")
	local := by["LOCinterrupt"]
	assert.False(t, local.Timed)
	assert.EqualValues(t, 200, local.Times)
	assert.Contains(t, local.Do, "nohz_full=")
	busy := watch.Busy(time.Second)
	require.Len(t, busy, 2)
	assert.InDelta(t, 0.006375, busy[0], 1e-9)
	assert.InDelta(t, 0.0415, busy[1], 1e-9)
}

// TestLook reads this machine.
func TestLook(t *testing.T) {
	f, err := Look()
	require.NoError(t, err)
	assert.False(t, f.Online.Empty())
	assert.NotZero(t, f.Ticks)
	own := kernel.TID(os.Getpid())
	found := false
	for _, task := range f.Tasks {
		if task.TID == own {
			found = true
			mask, err := kernel.System().Affinity(own)
			require.NoError(t, err)
			assert.Equal(t, mask.String(), task.Mask.String())
			assert.EqualValues(t, os.Getppid(), task.PPID)
			assert.LessOrEqual(t, task.StartTicks, f.Ticks)
		}
	}
	assert.True(t, found)
	for _, m := range f.Masks {
		assert.NotEmpty(t, m.Name)
		assert.False(t, m.CPUs.Empty(), m.Path)
	}
}
