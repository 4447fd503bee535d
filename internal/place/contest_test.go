package place

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/topology/topologytest"
)

// comeAndGo are rivals of nice 0 that each work for a share of the time where they do not
// meet.
func comeAndGo(n int, share float64) Load {
	l := Load{Busy: float64(n) * share}
	for range n {
		l.Rivals = append(l.Rivals, on(nil, NiceZero, share))
	}
	return l
}

// alwaysThere is what one that always wants to run gets beside n that come and go at random
// and share the CPU in equal parts: a birth-death process, exactly.
func alwaysThere(n int, share float64) float64 {
	sleep := (1 - share) / share
	state, sum, gets := 1.0, 0.0, 0.0
	for k := 0; k <= n; k++ { // k of them are queued
		sum, gets = sum+state, gets+state/float64(k+1)
		state *= float64(n-k) / sleep * float64(k+2) / float64(k+1)
	}
	return gets / sum
}

func TestBesideTasksThatComeAndGo(t *testing.T) {
	m := flat(topologytest.Spec{})
	for n := 1; n <= 6; n++ {
		for _, share := range []float64{0.02, 0.05, 0.1, 0.15, 0.3, 0.45} {
			if float64(n)*share > 0.95 {
				continue
			}
			loads := busy(m, nil)
			loads[0] = comeAndGo(n, share)
			b := newBoard(Request{Topology: m, Loads: loads})
			assert.InDelta(t, alwaysThere(n, share), b.share(&Target{}, 0), 0.02, "%d of %.2f", n, share)
		}
	}
}

// One rival of another weight: its stretch is known exactly, and the target has the rest.
func TestBesideOneOfAnotherWeight(t *testing.T) {
	m := flat(topologytest.Spec{})
	for _, nice := range []int{-5, 0, 5, 19} {
		for _, share := range []float64{0.1, 0.4, 0.8} {
			loads := busy(m, nil)
			weight := Weight(0, nice)
			loads[0] = Load{Busy: share, Rivals: []Rival{on(nil, weight, share)}}
			b := newBoard(Request{Topology: m, Loads: loads})
			want := 1 - 1/(1+NiceZero/weight+(1-share)/share)
			assert.InDelta(t, want, b.share(&Target{}, 0), 0.04, "nice %d, %.1f", nice, share)
		}
	}
}

// What others waited for the target they would wait for it again: its CPU is taken for what
// the target gets there, be it alone with spinners or with tasks that come and go.
func TestItsOwnPartOfTheWaiting(t *testing.T) {
	m := flat(topologytest.Spec{})
	for _, tt := range []struct {
		name       string
		used       float64 // by the target
		n          int
		each, wait float64 // of n others: used, and waited
	}{
		{"2 spinners", 1. / 3, 2, 1. / 3, 2. / 3},
		{"3 spinners", 1. / 4, 3, 1. / 4, 3. / 4},
		{"one that works 0.4 ms and sleeps 0.6", 0.714, 1, 0.286, 0.286},
		{"one that waits long for very little", 0.99, 1, 0.01, 0.6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			loads := busy(m, nil)
			loads[0] = Load{Busy: 1, Rivals: []Rival{{TID: 1, Process: 1, Used: tt.used, Queued: 1, Weight: NiceZero}}}
			for range tt.n {
				loads[0].Rivals = append(loads[0].Rivals, Rival{TID: 9, Process: 9, Used: tt.each, Queued: tt.each + tt.wait, Weight: NiceZero})
			}
			target := task(m)
			target.LastCPU, target.BusyShare, target.Share = 0, tt.used, map[cpuset.CPU]float64{0: tt.used}
			b := newBoard(Request{Topology: m, Loads: loads, Targets: []Target{target}})
			assert.InDelta(t, tt.used, b.share(&target, 0), 0.01)
		})
	}
}

// The first finding of the issue: 2 spinners on CPU 0 and 3 on CPU 1, and the target on
// either.
func TestItLeavesTheCrowdedCPU(t *testing.T) {
	m := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 2})
	for home, want := range []string{
		"cpu 0: 33 % of a CPU expected (others use 63 %, where it is now); next cpu 1 (25 %)",
		"cpu 0: 33 % of a CPU expected (others use 100 %, same L3 as now); next cpu 1 (25 %)",
	} {
		loads := busy(m, nil)
		for i, spinners := range []int{2, 3} {
			weights := make([]float64, spinners)
			for k := range weights {
				weights[k] = NiceZero
			}
			if i == home {
				weights = append(weights, NiceZero)
			}
			fill(&loads[i], weights...)
			loads[i].Fixed = 1
		}
		own := &loads[home].Rivals[len(loads[home].Rivals)-1]
		own.TID, own.Process = 1, 1
		target := task(m)
		target.LastCPU, target.BusyShare = cpuset.CPU(home), own.Used
		target.Share = map[cpuset.CPU]float64{target.LastCPU: own.Used}
		assert.Equal(t, want, place1(t, Request{Topology: m, Loads: loads, Targets: []Target{target}}).Reason)
	}
}

// Who asks has used time as well, and does no more.
func TestTheOneWhoAsksIsIgnored(t *testing.T) {
	m := flat(topologytest.Spec{})
	loads := busy(m, map[cpuset.CPU]float64{0: 30, 1: 20, 2: 20, 3: 20})
	loads[0].Rivals = []Rival{{TID: 7, Process: 7, Used: 0.3, Queued: 0.5, Weight: NiceZero}}
	r := Request{Topology: m, Loads: loads, Strategy: LeastLoaded}
	assert.Equal(t, "1", place1(t, r).CPUs.String())
	r.Ignored = []Target{{TID: 7, BusyShare: 0.3, Share: map[cpuset.CPU]float64{0: 0.3}}}
	c := place1(t, r)
	assert.Equal(t, "0", c.CPUs.String())
	assert.Contains(t, c.Reason, "100 % of a CPU expected")
}

// A task that is in state R in both samples and did not run is taken to have waited all the
// time: not where there was time to run in.
func TestNobodyWaitsForAnIdleCPU(t *testing.T) {
	m := flat(topologytest.Spec{})
	for _, tt := range []struct{ busy, want float64 }{{1, 1. / 3}, {0.5, 2. / 3}} {
		loads := busy(m, nil)
		loads[0] = Load{Busy: tt.busy, Rivals: []Rival{on(nil, NiceZero, tt.busy), {TID: 8, Queued: 1, Weight: NiceZero}}}
		b := newBoard(Request{Topology: m, Loads: loads})
		assert.InDelta(t, tt.want, b.share(&Target{}, 0), 0.01)
	}
}

// The clock's tick does not see all of what comes and goes in step with it: what the tasks of a
// CPU are known to have used there is used.
func TestWorkThatTheTickDoesNotSee(t *testing.T) {
	m := flat(topologytest.Spec{})
	for _, tick := range []float64{0.1, 0.18, 0.3} {
		loads := busy(m, map[cpuset.CPU]float64{0: 100 * tick})
		loads[0].Rivals = []Rival{on(nil, NiceZero, 0.3)}
		loads[0].Fixed = 0.3
		b := newBoard(Request{Topology: m, Loads: loads})
		assert.InDelta(t, 1-0.3/1.3, b.share(&Target{}, 0), 0.01, "%.2f", tick)
	}
}

// A share is a number however little a rival's part is: what is left of one that did its work
// on another CPU may be a rounding error.
func TestShareBesideNextToNothing(t *testing.T) {
	m := flat(topologytest.Spec{})
	inner := &Group{Weight: NiceZero, Parent: &Group{Weight: 3 * NiceZero}}
	tiny := []float64{0, 1e-300, 1e-20, 5e-17, 1e-12, 1e-7, 1e-3, 1}
	for _, queued := range tiny {
		for _, used := range tiny {
			for _, rest := range tiny {
				for _, g := range []*Group{nil, inner} {
					loads := busy(m, nil)
					loads[0] = Load{Busy: 1, Rest: rest, Rivals: []Rival{{Used: used, Queued: queued, Weight: NiceZero, Group: g}, {Used: used, Queued: used, Weight: Weight(0, 19), Group: inner}}}
					b := newBoard(Request{Topology: m, Loads: loads, Groups: GroupsConcur})
					for _, of := range []*Group{nil, inner} {
						share := b.share(&Target{Group: of}, 0)
						assert.True(t, share >= 0 && share <= 1+settled, "%v of queued %g, used %g, rest %g", share, queued, used, rest)
					}
				}
			}
		}
	}
}
