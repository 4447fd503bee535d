package place

import (
	"math"
	"slices"
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

// stays is a CPU with one task that is there for a share of the time.
func stays(cpu cpuset.CPU, busy float64) Load {
	return Load{CPU: cpu, Busy: busy, Rivals: []Rival{{TID: 9, Used: busy, Queued: busy, Weight: NiceZero}}}
}

// fill puts tasks on a CPU that always want to run, one for each weight, with a
// part of it each.
func fill(l *Load, weights ...float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	l.Busy = 1
	for _, w := range weights {
		l.Rivals = append(l.Rivals, Rival{Used: w / sum, Queued: 1, Weight: w})
	}
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
			reason: "cpu 2: 99 % of a CPU expected (others use 1 %); next cpu 3 (92 %)",
		}, {
			name: "as in the design",
			req: Request{Topology: m16,
				Loads:   busy(m16, map[cpuset.CPU]float64{0: 80, 1: 70, 2: 60, 3: 50, 4: 70, 5: 1, 6: 40, 7: 9, 15: 9}),
				Targets: with(m16, func(t *Target) { t.LastCPU = 4 })},
			want:   "5",
			reason: "cpu 5: 99 % of a CPU expected (others use 1 %, sibling 13 idle, same L3 as now); next cpu 7 (92 %)",
		}, {
			name: "alone on its core it stays",
			req: Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 100}),
				Targets: with(m4, func(t *Target) { t.LastCPU, t.Share = 2, map[cpuset.CPU]float64{2: 1} })},
			want:   "2",
			reason: "cpu 2: 100 % of a CPU expected (others use 0 %, where it is now); cpu 0 gives as much (100 %)",
		}, {
			name: "alone on its core it stays, though its share was under-estimated",
			req: Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 100}),
				Targets: with(m4, func(t *Target) { t.LastCPU, t.Share = 2, map[cpuset.CPU]float64{2: 0.88} })},
			want:   "2",
			reason: "cpu 2: 97 % of a CPU expected (others use 3 %, where it is now); cpu 0 gives as much (100 %)",
		}, {
			name: "its own waiting does not count against its CPU either",
			req: Request{Topology: m4,
				Loads: loads(m4, func(l []Load) {
					l[2] = Load{CPU: 2, Busy: 1, Rivals: []Rival{{TID: 1, Used: 0.9, Queued: 1, Weight: NiceZero}}}
					l[0].Busy, l[1].Busy, l[3].Busy = 0.2, 0.2, 0.2
				}),
				Targets: with(m4, func(t *Target) {
					t.LastCPU, t.Share = 2, map[cpuset.CPU]float64{2: 0.9}
				})},
			want:   "2",
			reason: "cpu 2: 99 % of a CPU expected (others use 1 %, where it is now); next cpu 0 (83 %)",
		}, {
			name: "bouncing: what it did on CPUs that it left is its own as well",
			req: Request{Topology: m4,
				Loads: loads(m4, func(l []Load) {
					l[0] = Load{CPU: 0, Busy: 1, Rivals: []Rival{ // a pinned hog, and the target now
						{TID: 9, Used: 0.75, Queued: 1, Weight: NiceZero}, {TID: 1, Used: 0.85, Queued: 1, Weight: NiceZero}}}
					l[1].Busy = 0.6
					l[2] = stays(2, 0.5)
					l[3] = stays(3, 0.5)
				}),
				Targets: with(m4, func(t *Target) {
					t.LastCPU, t.Share = 0, map[cpuset.CPU]float64{0: 0.85}
				})},
			want:   "1",
			reason: "cpu 1: 100 % of a CPU expected (others use 0 %, same L3 as now); next cpu 2 (66 %)",
		}, {
			name: "nobody knows where it ran: its work is what the others do not explain",
			req: Request{Topology: m4,
				Loads: loads(m4, func(l []Load) {
					for i := range l {
						l[i] = stays(l[i].CPU, 0.9)
					}
					l[2].Rivals = nil
				}),
				Targets: with(m4, func(t *Target) { t.Share = map[cpuset.CPU]float64{-1: 0.9} })},
			want:   "2",
			reason: "cpu 2: 100 % of a CPU expected (others use 0 %); next cpu 0 (52 %)",
		}, {
			name: "sharing its core with another it leaves",
			req: Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 100}),
				Targets: with(m4, func(t *Target) { t.LastCPU, t.Share = 2, map[cpuset.CPU]float64{2: 0.5} })},
			want:   "0",
			reason: "cpu 0: 100 % of a CPU expected (others use 0 %, same L3 as now); cpu 1 gives as much (100 %)",
		}, {
			name: "waiting tasks count: one hog against three",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l[:3] {
					fill(&l[i], NiceZero, NiceZero, NiceZero)
				}
				fill(&l[3], NiceZero)
			})},
			want:   "3",
			reason: "cpu 3: 50 % of a CPU expected (others use 100 %); next cpu 0 (25 %)",
		}, {
			name: "weights decide between CPUs that have no time left",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					fill(&l[i], NiceZero)
				}
				l[1].Rivals = nil
				fill(&l[1], 15, 15, 15)
			})},
			want:   "1",
			reason: "cpu 1: 96 % of a CPU expected (others use 100 %); next cpu 0 (50 %)",
		}, {
			name: "what weighs much and does little is no hindrance",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].Busy = 0.5
				}
				l[1] = Load{CPU: 1, Busy: 0.01, Rivals: []Rival{{Used: 0.01, Queued: 0.01, Weight: Weight(0, -20)}}}
			})},
			want:   "1",
			reason: "cpu 1: 99 % of a CPU expected (others use 1 %); next cpu 0 (66 %)",
		}, {
			name: "the run queue tells how many wait of which no task is known",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].Busy, l[i].Rest = 1, 4
				}
				l[1].Rest = 2
			})},
			want:   "1",
			reason: "cpu 1: 33 % of a CPU expected (others use 100 %); next cpu 0 (20 %)",
		}, {
			name: "and that they weigh little",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].Busy, l[i].Rest = 1, 0.1
				}
				l[1].RestNiced = 1
			})},
			want:   "1",
			reason: "cpu 1: 91 % of a CPU expected (others use 100 %); next cpu 0 (50 %)",
		}, {
			name: "an idle sibling of a busy core loses to an idle core",
			req: Request{Topology: m16, Loads: busy(m16, map[cpuset.CPU]float64{
				0: 100, 1: 100, 2: 100, 4: 100, 5: 100, 6: 100, 7: 100}),
				Targets: with(m16, func(t *Target) { t.LastCPU = 8 })},
			want:   "3",
			reason: "cpu 3: 100 % of a CPU expected (others use 0 %, sibling 11 idle, same L3 as now); next cpu 8 (100 %)",
		}, {
			name: "but wins over a busy CPU",
			req: Request{Topology: m16, Loads: busy(m16, map[cpuset.CPU]float64{
				0: 100, 1: 100, 2: 100, 3: 100, 4: 100, 5: 100, 6: 100, 7: 100, 15: 20, 14: 20, 13: 20, 12: 20, 11: 20, 10: 20, 9: 20})},
			want:   "8",
			reason: "cpu 8: 100 % of a CPU expected (others use 0 %, sibling 0 100 % busy); next cpu 9 (83 %)",
		}, {
			name: "a task pinned there is in the way",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				l[0].Pinned, l[1].Pinned, l[2].Pinned = 2, 3, 9
			})},
			want:   "3",
			reason: "cpu 3: 100 % of a CPU expected (others use 0 %); next cpu 0 (100 %)",
		}, {
			name: "interrupts are in the way",
			req: Request{Topology: m4, Loads: loads(m4, func(l []Load) {
				for i := range l {
					l[i].Busy, l[i].IRQ = 0.3, 0.3
				}
				l[2].IRQ = 0.02
			})},
			want:   "2",
			reason: "cpu 2: 76 % of a CPU expected (others use 30 %, 2 % interrupts); next cpu 0 (70 %)",
		}, {
			name: "equally idle: the same cache",
			req: Request{Topology: m16, Loads: busy(m16, map[cpuset.CPU]float64{0: 3, 6: 100}),
				Targets: with(m16, func(t *Target) { t.LastCPU = 6; t.BusyShare = 0.1 })},
			want:   "4",
			reason: "cpu 4: 100 % of a CPU expected (others use 0 %, sibling 12 idle, same L3 as now); cpu 5 gives as much (100 %)",
		}, {
			name: "equally idle: next to its memory rather than its cache",
			req: Request{Topology: m16, Loads: busy(m16, nil),
				Targets: with(m16, func(t *Target) { t.LastCPU, t.HomeNode = 6, 0 })},
			want:   "0",
			reason: "cpu 0: 100 % of a CPU expected (others use 0 %, sibling 8 idle, other node than now, next to its memory); cpu 1 gives as much (100 %)",
		}, {
			name:   "a busy real-time task is never joined",
			req:    Request{Topology: m4, Loads: append(all(m4, 80)[:3], Load{CPU: 3, RTBusy: true})},
			want:   "0",
			reason: "a guess, every CPU is heavily loaded: cpu 0: 55 % of a CPU expected (others use 80 %); cpu 1 gives as much (55 %)",
		}, {
			name:   "P cores before E cores",
			req:    Request{Topology: hybrid, Loads: busy(hybrid, map[cpuset.CPU]float64{0: 40, 1: 30})},
			want:   "1",
			reason: "cpu 1: 77 % of a CPU expected (others use 30 %, P core); next cpu 0 (71 %)",
		}, {
			name: "an idle E core before a busy P core",
			req:  Request{Topology: hybrid, Loads: busy(hybrid, map[cpuset.CPU]float64{0: 90, 1: 80})},
			want: "2", reason: "cpu 2: 100 % of a CPU expected (others use 0 %, E core); cpu 3 gives as much (100 %)",
		}, {
			name: "an E core is good enough for little work",
			req: Request{Topology: hybrid, Loads: busy(hybrid, map[cpuset.CPU]float64{0: 40, 1: 30}),
				Targets: with(hybrid, func(t *Target) { t.BusyShare = 0.05 })},
			want: "2", reason: "cpu 2: 100 % of a CPU expected (others use 0 %, E core); cpu 3 gives as much (100 %)",
		}, {
			name: "within the user's limit",
			req:  Request{Topology: m4, Loads: busy(m4, map[cpuset.CPU]float64{2: 50, 3: 60}), Within: set("2-3")},
			want: "2", reason: "cpu 2: 66 % of a CPU expected (others use 50 %); next cpu 3 (62 %)",
		}, {
			name: "the only one",
			req:  Request{Topology: m4, Loads: all(m4, 95), Within: set("3")},
			want: "3", reason: "cpu 3: 51 % of a CPU expected (others use 95 %)",
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
	for i := range three[1:] {
		fill(&three[1+i], NiceZero, NiceZero, NiceZero)
	}
	assert.False(t, place1(t, Request{Topology: m, Loads: three}).Guess, "one hog against three can be told")
	weighed := all(m, 0) // the same weight everywhere
	for i := range weighed {
		fill(&weighed[i], NiceZero)
	}
	weighed[0].Rivals = nil
	fill(&weighed[0], slices.Repeat([]float64{NiceZero / 9.0}, 9)...)
	weighed[0].Rivals[8].Queued = 0.9 // less wait than twice what the other three and this one can give
	assert.True(t, place1(t, Request{Topology: m, Loads: weighed}).Guess)
	weighed[0].Rivals = append(weighed[0].Rivals, Rival{Queued: 0.5, Weight: 1})
	assert.False(t, place1(t, Request{Topology: m, Loads: weighed}).Guess, "more waits here than can have come from elsewhere and go back")
	niced := all(m, 0)
	for i := range niced {
		fill(&niced[i], Weight(0, 19))
	}
	assert.False(t, place1(t, Request{Topology: m, Loads: niced}).Guess, "it hardly matters where")
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
		{busy(m, map[cpuset.CPU]float64{1: 30}), 1, 0, 0.3 + 0.3*sharedCPU, ""},
		{busy(m, nil), 999, 0, math.Inf(1), "it is gone"},
	} {
		best, gain := Best(m, tt.loads, tt.before)
		assert.Equal(t, tt.want, best, tt.why)
		if math.IsInf(tt.gain, 1) {
			assert.True(t, math.IsInf(gain, 1))
		} else {
			assert.InDelta(t, tt.gain, gain, 5e-3)
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
