package sample

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/waits"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/why"
)

// waitScript is a watcher whose targets each waited as many ms as their number.
type waitScript struct {
	now    []waits.Targets
	closed bool
}

func (s *waitScript) Watch(targets ...waits.Targets) error {
	s.now = append([]waits.Targets(nil), targets...)
	return nil
}

func (s *waitScript) Read() (out []why.Observation, err error) {
	for _, t := range s.now {
		d := time.Duration(append(t.Processes, t.Threads...)[0]) * time.Millisecond
		o := why.Observation{Span: time.Second, Cost: 3 * time.Millisecond, Lost: 2, Threads: 1, Waited: 50 * d, Ran: d, Longest: why.LongestWait{Time: d},
			By: []why.Waited{{By: why.By{Cause: why.Neighbour, Command: "cc1"}, Time: 50 * d}}}
		o.Woken[why.Bin(uint64(d))] = 1
		out = append(out, o)
	}
	return out, nil
}

func (s *waitScript) Close() { s.closed = true }

func scriptWaits(t *testing.T, open func(...waits.Targets) (waitWatcher, error)) {
	real := openWaits
	openWaits = open
	t.Cleanup(func() { openWaits = real })
}

func TestWaitsOfTheRowsShown(t *testing.T) {
	script := &waitScript{}
	opened := 0
	scriptWaits(t, func(targets ...waits.Targets) (waitWatcher, error) {
		opened++
		return script, script.Watch(targets...)
	})
	before := &Sample{}
	for tid := range kernel.TID(200) {
		before.Tasks = append(before.Tasks, &Task{TID: tid + 1, TGID: tid + 1})
	}
	tick := func(w *taskWaits, needs Needs) *Sample {
		n := &Sample{}
		for _, t := range before.Tasks {
			now := *t
			now.RunNs += uint64(t.TID) // the higher numbers are the busier ones
			n.Tasks = append(n.Tasks, &now)
		}
		rung, err := w.read(n, before, newWanted(needs))
		require.NoError(t, err)
		assert.True(t, rung == "" || rung == "ebpf, 0.30 % of a CPU", rung)
		return n
	}
	var w taskWaits
	assert.Empty(t, tick(&w, Needs{Waits: true}).Waits)
	assert.Zero(t, opened, "nothing is attached for no rows")
	assert.Empty(t, tick(&w, Needs{Waits: true, Watch: []kernel.TID{9, 7, 999}}).Waits, "they are watched from now on")
	n := tick(&w, Needs{Waits: true, Watch: []kernel.TID{7}})
	assert.Len(t, n.Waits, 2, "999 is not there")
	assert.Equal(t, "cc1", n.Waits[7].Blame)
	assert.InEpsilon(t, 9*time.Millisecond, n.Waits[9].P99, 0.13)
	assert.Equal(t, uint64(2), n.WaitsLost, "each target counts those of all")
	assert.Equal(t, []waits.Targets{{Processes: []kernel.TID{7}}}, script.now)
	tick(&w, Needs{Waits: true, EveryWait: true, Watch: []kernel.TID{7}})
	n = tick(&w, Needs{Waits: true, EveryWait: true, Watch: []kernel.TID{7}})
	assert.Len(t, n.Waits, MostWaits)
	assert.Contains(t, n.Waits, kernel.TID(7))
	assert.Contains(t, n.Waits, kernel.TID(200))
	assert.NotContains(t, n.Waits, kernel.TID(8), "one of the least busy")
	tick(&w, Needs{Waits: true, Threads: true, Watch: []kernel.TID{7}})
	assert.Equal(t, []waits.Targets{{Threads: []kernel.TID{7}}}, script.now)
	w.close()
	assert.True(t, script.closed)
	assert.Equal(t, 1, opened)

	scriptWaits(t, func(...waits.Targets) (waitWatcher, error) { opened++; return nil, feature.ErrNotSupported })
	for range 2 {
		_, err := w.read(&Sample{Tasks: before.Tasks}, nil, newWanted(Needs{Waits: true, Watch: []kernel.TID{7}}))
		require.ErrorIs(t, err, feature.ErrNotSupported)
	}
	assert.Equal(t, 2, opened, "it is tried once")
}
