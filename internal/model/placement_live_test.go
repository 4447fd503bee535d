package model_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/topology"
)

// probeTime is how long probes measure what a CPU has left. They are equal to
// within alike when it does not matter which CPU was picked.
const (
	probeTime = 200 * time.Millisecond
	alike     = 0.1
)

// rig is two CPUs of this machine, and what looks at them.
type rig struct {
	topo    *topology.Topology
	sampler *sample.Sampler
	cpus    [2]cpuset.CPU
}

func newRig(t *testing.T, ebpf sample.EBPF) *rig {
	topo, err := topology.Read("/")
	require.NoError(t, err)
	if topo.Online.Len() < 2 {
		t.Skip("one CPU: there is nothing to choose")
	}
	if ebpf == sample.EBPFNow {
		w, err := bpf.OpenWalk(bpf.WalkOptions{})
		if err != nil {
			t.Skip(err)
		}
		w.Close()
	}
	s, err := sample.New(sample.Options{EBPF: ebpf, Needs: sample.Needs{Affinity: true, Threads: true, Delay: true, All: true}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	online := topo.Online.CPUs()
	return &rig{topo, s, [2]cpuset.CPU{online[0], online[1]}}
}

// pick measures for a window and chooses one of the two CPUs.
func (r *rig) pick(t *testing.T, target func(*model.Model) place.Target) place.Choice {
	before, err := r.sampler.Read()
	require.NoError(t, err)
	time.Sleep(250 * time.Millisecond)
	after, err := r.sampler.Read()
	require.NoError(t, err)
	m := model.Next(model.Next(nil, before, r.topo), after, r.topo)
	to := target(m)
	to.Allowed = cpuset.Of(r.cpus[:]...)
	choices, err := place.Place(place.Request{Topology: r.topo, Loads: m.Loads(), Targets: []place.Target{to}, Strategy: place.LeastLoaded})
	require.NoError(t, err)
	return choices[0]
}

// newcomer is a busy task that is not on the machine yet.
func newcomer(*model.Model) place.Target {
	return place.Target{LastCPU: -1, HomeNode: -1, BusyShare: 1, BusyThreads: 1}
}

// truth is what a probe on each CPU gets, as a share of one.
func truth(t *testing.T, probes [2]kernel.TID) (got [2]float64) {
	var before [2]time.Duration
	for i, pid := range probes {
		before[i] = used(t, pid)
		require.NoError(t, signal(pid, resume))
	}
	time.Sleep(probeTime)
	for i, pid := range probes {
		require.NoError(t, signal(pid, pause))
		got[i] = (used(t, pid) - before[i]).Seconds() / probeTime.Seconds()
	}
	return got
}

// The pick is the CPU on which a probe then gets most, for the six loads that
// FACTS §3 measured. What counts as right is measured each time, because other
// load of the machine moves the truth as well.
func TestLeastLoadedPick(t *testing.T) {
	n := windows(t, "PITON_TEST_PLACEMENT")
	fifo, low := always(), always()
	fifo.fifo, low.nice = true, 19
	ms := time.Millisecond
	for _, tc := range []struct {
		name string
		on   [2][]hog
	}{
		{"1 vs 3 hogs", [2][]hog{{always()}, {always(), always(), always()}}},
		{"30 vs 60 % duty", [2][]hog{{duty(30, 10*ms)}, {duty(60, 10*ms)}}},
		{"the same, 100 ms period", [2][]hog{{duty(30, 100*ms)}, {duty(60, 100*ms)}}},
		{"nice 19 vs 0", [2][]hog{{low}, {always()}}},
		{"FIFO vs other", [2][]hog{{fifo}, {always()}}},
		{"5 x 10 vs 30 %", [2][]hog{{duty(10, 20*ms), duty(10, 21*ms), duty(10, 22*ms), duty(10, 23*ms), duty(10, 24*ms)}, {duty(30, 20*ms)}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sample.EBPFNow)
			for i, hogs := range tc.on {
				for _, h := range hogs {
					startHog(t, h, r.cpus[i])
				}
			}
			probes := [2]kernel.TID{startHog(t, always(), r.cpus[0]), startHog(t, always(), r.cpus[1])}
			for _, pid := range probes {
				require.NoError(t, signal(pid, pause))
			}
			right, guesses := 0, 0
			for range n {
				time.Sleep(200 * time.Millisecond) // the probes' load decays
				c := r.pick(t, newcomer)
				got := truth(t, probes)
				best := got[0] > got[1] == c.CPUs.Has(r.cpus[0])
				switch {
				case c.Guess:
					guesses++
				case best, math.Abs(got[0]-got[1]) < alike*max(got[0], got[1]):
					right++
				default:
					t.Logf("wrong: %s; a probe got %.2f", c.Reason, got)
				}
			}
			t.Logf("%d of %d picks right, %d more were called guesses", right, n-guesses, guesses)
			if guesses > n/2 {
				t.Skip("other load of this machine floats, most picks are guesses")
			}
			assert.GreaterOrEqual(t, float64(right), 0.95*float64(n-guesses))
		})
	}
}
