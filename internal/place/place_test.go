package place

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// smt is 16 CPUs: 8 cores of 2 threads (c and c+8) on 2 nodes of one L3 each,
// CPUs 0-3,8-11 and 4-7,12-15.
func smt(spec topologytest.Spec) *topology.Topology {
	spec.Nodes, spec.CoresPerLLC, spec.Threads = 2, 4, 2
	return topologytest.Synthetic(spec)
}

// flat is 4 CPUs that share one L3.
func flat(spec topologytest.Spec) *topology.Topology {
	spec.CoresPerLLC = 4
	return topologytest.Synthetic(spec)
}

// busy makes the loads of all online CPUs: busy in percent by CPU number, the
// rest idle.
func busy(t *topology.Topology, percent map[cpuset.CPU]float64) []Load {
	var out []Load
	for id := range t.Online.All() {
		out = append(out, Load{CPU: id, Busy: percent[id] / 100})
	}
	return out
}

// all is the same busy share everywhere.
func all(t *topology.Topology, percent float64) []Load {
	out := busy(t, nil)
	for i := range out {
		out[i].Busy = percent / 100
	}
	return out
}

func set(list string) cpuset.Set {
	s, err := cpuset.Parse(list)
	if err != nil {
		panic(err)
	}
	return s
}

// task is a target that may go anywhere and of which nothing is known.
func task(m *topology.Topology) Target {
	return Target{TID: 1, Comm: "t", Allowed: m.Online, LastCPU: -1, HomeNode: -1, BusyThreads: 1, BusyShare: 1}
}

func place1(t *testing.T, r Request) Choice {
	t.Helper()
	if r.Strategy == "" {
		r.Strategy = LeastLoaded
	}
	if len(r.Targets) == 0 {
		r.Targets = []Target{task(r.Topology)}
	}
	choices, err := Place(r)
	require.NoError(t, err)
	require.Len(t, choices, 1)
	return choices[0]
}

func TestLeastLoaded(t *testing.T) {
	m16, m4 := smt(topologytest.Spec{}), flat(topologytest.Spec{})
	hybrid := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 4, ECores: 2})
	with := func(m *topology.Topology, change func(*Target)) []Target {
		target := task(m)
		change(&target)
		return []Target{target}
	}
	loads := func(m *topology.Topology, change func([]Load)) []Load {
		out := busy(m, nil)
		change(out)
		return out
	}
	for _, tt := range []struct {
		name   string
		req    Request
		want   string
		reason string
	}{
		{
			name:   "the idle one",
			req:    Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{0: 90, 1: 20, 2: 1, 3: 9})},
			want:   "2",
			reason: "cpu 2: 1% busy; next cpu 3 (9%)",
		}, {
			name: "as in the design",
			req: Request{Topology: m16,
				Loads:   busy(m16, map[cpuset.CPU]float64{0: 80, 1: 70, 2: 60, 3: 50, 4: 70, 5: 1, 6: 40, 7: 9, 15: 9}),
				Targets: with(m16, func(t *Target) { t.LastCPU = 4 })},
			want:   "5",
			reason: "cpu 5: 1% busy, sibling 13 idle, same L3 as now; next cpu 7 (9%)",
		}, {
			name: "alone on its core it stays",
			req: Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 100}),
				Targets: with(m4, func(t *Target) { t.LastCPU, t.Share = 2, map[cpuset.CPU]float64{2: 1} })},
			want:   "2",
			reason: "cpu 2: 0% busy by others, where it is now; next cpu 0 (0%)",
		}, {
			name: "alone on its core it stays, though its share was under-estimated",
			req: Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 100}),
				Targets: with(m4, func(t *Target) { t.LastCPU, t.Share = 2, map[cpuset.CPU]float64{2: 0.88} })},
			want:   "2",
			reason: "cpu 2: 3% busy by others, where it is now; next cpu 0 (0%)",
		}, {
			name: "its own waiting does not count against its CPU either",
			req: Request{Topology: m4,
				Loads: loads(m4, func(l []Load) {
					l[2] = Load{CPU: 2, Busy: 1, RunDelay: 0.1}
					l[0].Busy, l[1].Busy, l[3].Busy = 0.2, 0.2, 0.2
				}),
				Targets: with(m4, func(t *Target) {
					t.LastCPU, t.Share, t.Delay = 2, map[cpuset.CPU]float64{2: 0.9}, map[cpuset.CPU]float64{2: 0.1}
				})},
			want:   "2",
			reason: "cpu 2: 1% busy by others, where it is now; next cpu 0 (20%)",
		}, {
			name: "bouncing: what it did on CPUs that it left is its own as well",
			req: Request{Topology: m4,
				Loads: loads(m4, func(l []Load) {
					l[0] = Load{CPU: 0, Busy: 1, RunDelay: 0.25, Resident: 0.75 + 0.85} // a pinned hog, and the target now
					l[1].Busy = 0.6
					l[2] = Load{CPU: 2, Busy: 0.5, Resident: 0.5}
					l[3] = Load{CPU: 3, Busy: 0.5, Resident: 0.5}
				}),
				Targets: with(m4, func(t *Target) {
					t.LastCPU, t.Share, t.Delay = 0, map[cpuset.CPU]float64{0: 0.85}, map[cpuset.CPU]float64{0: 0.15}
				})},
			want:   "1",
			reason: "cpu 1: 0% busy by others, same L3 as now; next cpu 2 (50%)",
		}, {
			name: "nobody knows where it ran: its work is what the others do not explain",
			req: Request{Topology: m4,
				Loads: loads(m4, func(l []Load) {
					for i := range l {
						l[i] = Load{CPU: l[i].CPU, Busy: 0.9, Resident: 0.9}
					}
					l[2].Resident = 0
				}),
				Targets: with(m4, func(t *Target) { t.Share = map[cpuset.CPU]float64{-1: 0.9} })},
			want:   "2",
			reason: "cpu 2: 0% busy by others; next cpu 0 (90%)",
		}, {
			name: "sharing its core with another it leaves",
			req: Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 100}),
				Targets: with(m4, func(t *Target) { t.LastCPU, t.Share = 2, map[cpuset.CPU]float64{2: 0.5} })},
			want:   "0",
			reason: "cpu 0: 0% busy, same L3 as now; next cpu 1 (0%)",
		}, {
			name: "waiting tasks count: one hog against three",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].Busy, l[i].RunDelay = 1, 2
				}
				l[3].RunDelay = 0
			})},
			want:   "3",
			reason: "cpu 3: 100% busy; next cpu 0 (300%)",
		}, {
			name: "pressure decides between CPUs that have no time left",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].HavePressure, l[i].Busy, l[i].Pressure = true, 1, 1
				}
				l[1].RunDelay, l[1].Pressure = 2, 0.1
			})},
			want:   "1",
			reason: "cpu 1: 110% pressure; next cpu 0 (200%)",
		}, {
			name: "what weighs much and does little is no hindrance",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].HavePressure, l[i].Busy, l[i].Pressure = true, 0.5, 0.5
				}
				l[1].Busy, l[1].Pressure = 0.01, 65
			})},
			want:   "1",
			reason: "cpu 1: 1% busy; next cpu 0 (50%)",
		}, {
			name: "a target's own part of the pressure is taken off",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].HavePressure, l[i].Busy, l[i].Pressure = true, 1, 1
				}
			}), Targets: with(m4, func(t *Target) {
				t.LastCPU, t.BusyShare, t.BusyThreads = 2, 0.5, 1
				t.Share, t.Pressure = map[cpuset.CPU]float64{2: 0.1}, map[cpuset.CPU]float64{2: 0.6}
			})},
			want:   "2",
			reason: "cpu 2: 123% pressure by others, where it is now; next cpu 0 (200%)",
		}, {
			name: "pressure of some CPUs only is not used",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				l[1].HavePressure, l[1].Busy = true, 0.5
				l[0].Busy, l[2].Busy = 0.3, 0.3
			})},
			want:   "3",
			reason: "cpu 3: 0% busy; next cpu 0 (30%)",
		}, {
			name: "an idle sibling of a busy core loses to an idle core",
			req: Request{Topology: m16, Loads: busy(m16, map[cpuset.CPU]float64{
				0: 100, 1: 100, 2: 100, 4: 100, 5: 100, 6: 100, 7: 100}),
				Targets: with(m16, func(t *Target) { t.LastCPU = 8 })},
			want:   "3",
			reason: "cpu 3: 0% busy, sibling 11 idle, same L3 as now; next cpu 8 (0%)",
		}, {
			name: "but wins over a busy CPU",
			req: Request{Topology: m16, Loads: busy(m16, map[cpuset.CPU]float64{
				0: 100, 1: 100, 2: 100, 3: 100, 4: 100, 5: 100, 6: 100, 7: 100, 15: 20, 14: 20, 13: 20, 12: 20, 11: 20, 10: 20, 9: 20})},
			want:   "8",
			reason: "cpu 8: 0% busy, sibling 0 100% busy; next cpu 9 (20%)",
		}, {
			name: "a task pinned there is in the way",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				l[0].Pinned, l[1].Pinned, l[2].Pinned = 2, 3, 9
			})},
			want:   "3",
			reason: "cpu 3: 0% busy; next cpu 0 (0%)",
		}, {
			name: "interrupts are in the way",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].Busy, l[i].IRQ = 0.3, 0.3
				}
				l[2].IRQ = 0.02
			})},
			want:   "2",
			reason: "cpu 2: 30% busy, 2% interrupts; next cpu 0 (30%)",
		}, {
			name: "equally idle: the same cache",
			req: Request{Topology: m16, Loads: busy(m16, map[cpuset.CPU]float64{0: 3, 6: 100}),
				Targets: with(m16, func(t *Target) { t.LastCPU = 6; t.BusyShare = 0.1 })},
			want:   "4",
			reason: "cpu 4: 0% busy, sibling 12 idle, same L3 as now; next cpu 5 (0%)",
		}, {
			name: "equally idle: next to its memory rather than its cache",
			req: Request{Topology: m16, Loads: busy(m16, nil),
				Targets: with(m16, func(t *Target) { t.LastCPU, t.HomeNode = 6, 0 })},
			want:   "0",
			reason: "cpu 0: 0% busy, sibling 8 idle, other node than now, next to its memory; next cpu 1 (0%)",
		}, {
			name:   "a busy real-time task is never joined",
			req:    Request{Topology: m4, Loads: append(all(m4, 80)[:3], Load{CPU: 3, RTBusy: true})},
			want:   "0",
			reason: "a guess, every CPU is heavily loaded: cpu 0: 80% busy; next cpu 1 (80%)",
		}, {
			name:   "P cores before E cores",
			req:    Request{Topology: hybrid, Loads: busy(hybrid, map[cpuset.CPU]float64{0: 40, 1: 30})},
			want:   "1",
			reason: "cpu 1: 30% busy, P core; next cpu 0 (40%)",
		}, {
			name: "an idle E core before a busy P core",
			req:  Request{Topology: hybrid, Loads: busy(hybrid, map[cpuset.CPU]float64{0: 90, 1: 80})},
			want: "2", reason: "cpu 2: 0% busy, E core; next cpu 3 (0%)",
		}, {
			name: "an E core is good enough for little work",
			req: Request{Topology: hybrid, Loads: busy(hybrid, map[cpuset.CPU]float64{0: 40, 1: 30}),
				Targets: with(hybrid, func(t *Target) { t.BusyShare = 0.05 })},
			want: "2", reason: "cpu 2: 0% busy, E core; next cpu 3 (0%)",
		}, {
			name: "within the user's limit",
			req:  Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 50, 3: 60}), Within: set("2-3")},
			want: "2", reason: "cpu 2: 50% busy; next cpu 3 (60%)",
		}, {
			name: "the only one",
			req:  Request{Topology: m4, Loads: all(m4, 95), Within: set("3")},
			want: "3", reason: "cpu 3: 95% busy",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := place1(t, tt.req)
			assert.Equal(t, tt.want, c.CPUs.String())
			assert.Equal(t, tt.reason, c.Reason)
			assert.Empty(t, c.Warning)
		})
	}
}

func TestGuess(t *testing.T) {
	m := flat(topologytest.Spec{})
	assert.True(t, place1(t, Request{Topology: m, Loads: all(m, 95)}).Guess)
	assert.False(t, place1(t, Request{Topology: m, Loads: all(m, 30)}).Guess, "not heavily loaded")
	pinned := all(m, 95)
	for i := range pinned {
		pinned[i].Fixed = 0.9
	}
	assert.False(t, place1(t, Request{Topology: m, Loads: pinned}).Guess, "what is pinned does not float")
	pinned[0].Fixed = 0.5
	assert.True(t, place1(t, Request{Topology: m, Loads: pinned}).Guess)
	assert.False(t, place1(t, Request{Topology: m, Loads: all(m, 95), Within: set("1")}).Guess, "nothing to choose from")
	assert.False(t, place1(t, Request{Topology: m, Loads: busy(m, map[cpuset.CPU]float64{0: 99, 1: 99, 2: 99, 3: 60})}).Guess)
	three := all(m, 100)
	three[1].RunDelay, three[2].RunDelay, three[3].RunDelay = 2, 2, 2
	assert.False(t, place1(t, Request{Topology: m, Loads: three}).Guess, "one hog against three can be told")
	weighed := all(m, 50) // by the weight of their group; what was measured differs
	for i := range weighed {
		weighed[i].Pressure, weighed[i].HavePressure, weighed[i].Busy = 0.5, true, 1
	}
	weighed[0].RunDelay = 8 // as much again as the other three and this one can give
	assert.True(t, place1(t, Request{Topology: m, Loads: weighed}).Guess)
	weighed[0].RunDelay = 8.5
	assert.False(t, place1(t, Request{Topology: m, Loads: weighed}).Guess, "more waits here than can have come from elsewhere and go back")
	whole := place1(t, Request{Topology: smt(topologytest.Spec{}), Loads: all(smt(topologytest.Spec{}), 95), Strategy: NodeWide})
	assert.True(t, whole.Guess)
	assert.Contains(t, whole.Reason, "a guess")
}

func TestBest(t *testing.T) {
	m := flat(topologytest.Spec{Isolated: "3"})
	for _, tt := range []struct {
		loads  []Load
		before cpuset.CPU
		want   cpuset.CPU
		gain   float64
		why    string
	}{
		{busy(m, map[cpuset.CPU]float64{0: 20, 1: 10}), -1, 2, math.Inf(1), ""},
		{nil, -1, -1, math.Inf(1), ""},
		{busy(m, nil), -1, 0, math.Inf(1), ""},
		{busy(m, map[cpuset.CPU]float64{1: 3}), 1, 1, 0, "3 % more is nothing"},
		{busy(m, map[cpuset.CPU]float64{1: 30}), 1, 0, 0.3, ""},
		{busy(m, nil), 999, 0, math.Inf(1), "it is gone"},
	} {
		best, gain := Best(m, tt.loads, tt.before)
		assert.Equal(t, tt.want, best, tt.why)
		if math.IsInf(tt.gain, 1) {
			assert.True(t, math.IsInf(gain, 1))
		} else {
			assert.InDelta(t, tt.gain, gain, 1e-9)
		}
	}
}

func TestParseStrategy(t *testing.T) {
	for _, s := range Strategies() {
		got, err := ParseStrategy(string(s))
		require.NoError(t, err)
		assert.Equal(t, s, got)
		assert.Contains(t, layouts, s)
	}
	assert.Len(t, layouts, len(Strategies()))
	_, err := ParseStrategy("best")
	assert.EqualError(t, err, `"best" is no placement: use least-loaded, pack, spread, llc, node, sibling-free`)
	_, err = Place(Request{Topology: flat(topologytest.Spec{})})
	assert.ErrorContains(t, err, `"" is no placement`)
}
