package place

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// randomRequest makes a machine, its load and some targets from a seed.
func randomRequest(seed uint64) Request {
	r := rand.New(rand.NewPCG(seed, 1))
	spec := topologytest.Spec{Nodes: 1 + r.IntN(3), LLCsPerNode: 1 + r.IntN(3), CoresPerLLC: 1 + r.IntN(4), Threads: 1 + r.IntN(3)}
	if spec.Threads < 3 && spec.CoresPerLLC > 1 {
		spec.ECores = r.IntN(2)
	}
	whole := topologytest.Synthetic(spec)
	spec.Offline = subset(r, whole.Present.AndNot(cpuset.Of(0)), 10).String()
	spec.Isolated = subset(r, whole.Present, 10).String()
	m := topologytest.Synthetic(spec)
	req := Request{Topology: m, AllowIsolated: r.IntN(4) == 0, Strategy: Strategies()[r.IntN(len(Strategies()))]}
	if r.IntN(3) == 0 {
		req.Within = subset(r, m.Present, 50)
	}
	groups := []*Group{nil, {Weight: Weight(0, r.IntN(40)-20)}, {Weight: UnifiedWeight(r.IntN(200))}}
	groups = append(groups, &Group{Parent: groups[2], Weight: NiceZero})
	for id := range m.Online.All() {
		l := Load{CPU: id, Busy: r.Float64(), IRQ: r.Float64() * 0.1, Steal: r.Float64() * 0.1, Rest: r.ExpFloat64(),
			RestNiced: r.Float64(), Pinned: r.IntN(3), RTBusy: r.IntN(12) == 0}
		for range r.IntN(5) {
			used := r.Float64() * r.Float64()
			l.Rivals = append(l.Rivals, Rival{TID: kernel.TID(r.IntN(20)), Used: used, Queued: used + r.Float64()*(1-used),
				Weight: Weight(0, r.IntN(40)-20), RealTime: r.IntN(20) == 0, Group: groups[r.IntN(len(groups))]})
		}
		req.Loads = append(req.Loads, l)
	}
	for i := range 1 + r.IntN(6) {
		t := Target{TID: kernel.TID(i + 1), Comm: "t", Allowed: subset(r, m.Present, 70), LastCPU: cpuset.CPU(r.IntN(40) - 1),
			HomeNode: topology.NodeID(r.IntN(4) - 1), BusyThreads: r.IntN(6), BusyShare: r.Float64() * 4,
			Weight: Weight(0, r.IntN(40)-20), RealTime: r.IntN(9) == 0, Group: groups[r.IntN(len(groups))]}
		t.Share = map[cpuset.CPU]float64{t.LastCPU: r.Float64()}
		req.Targets = append(req.Targets, t)
	}
	return req
}

// subset keeps each CPU with a chance of percent.
func subset(r *rand.Rand, of cpuset.Set, percent int) cpuset.Set {
	var b cpuset.Builder
	for id := range of.All() {
		if r.IntN(100) < percent {
			b.Add(id)
		}
	}
	return b.Set()
}

var percentages = regexp.MustCompile(`-?[0-9]+ %`)

func FuzzPlace(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		req := randomRequest(seed)
		choices, err := Place(req)
		again, errAgain := Place(randomRequest(seed))
		require.Equal(t, choices, again, "the same question has the same answer")
		require.Equal(t, err, errAgain)

		rt := map[cpuset.CPU]bool{}
		for _, l := range req.Loads {
			rt[l.CPU] = l.RTBusy
		}
		placed := map[kernel.TID]bool{}
		for _, c := range choices {
			placed[c.TID] = true
			target := req.Targets[c.TID-1]
			may := target.Allowed.And(req.Topology.Online)
			if !req.Within.Empty() {
				may = may.And(req.Within)
			}
			require.False(t, c.CPUs.Empty())
			require.True(t, c.CPUs.SubsetOf(may), "%s within %s", c.CPUs, may)
			if !req.AllowIsolated && !c.CPUs.And(req.Topology.Isolated).Empty() {
				require.True(t, may.SubsetOf(req.Topology.Isolated), "isolated CPUs only when nothing else is left")
				require.Contains(t, c.Warning, "isolated")
			}
			for id := range c.CPUs.All() {
				require.False(t, rt[id], "a busy real-time task is on %d", id)
			}
			switch req.Strategy {
			case LeastLoaded, SiblingFree:
				require.Equal(t, 1, c.CPUs.Len())
			case Pack, Spread:
				require.LessOrEqual(t, c.CPUs.Len(), target.threads())
			}
			require.Equal(t, target.BusyThreads > c.CPUs.Len(), strings.Contains(c.Warning, "busy threads on"), c.Warning)
			assert.NotEmpty(t, c.Reason)
			assert.NotContains(t, c.Reason, ", ,")
			for _, figure := range percentages.FindAllString(c.Reason, -1) {
				n, err := strconv.Atoi(strings.Fields(figure)[0])
				require.NoError(t, err)
				assert.LessOrEqual(t, n, 100, c.Reason)
			}
			assert.NotRegexp(t, "(cpu|node|llc) -1", c.Reason)
		}
		for _, target := range req.Targets {
			if !placed[target.TID] {
				require.ErrorContains(t, err, "no CPU for")
			}
		}
	})
}

func BenchmarkPlace512(b *testing.B) {
	m := topologytest.Sized(512)
	loads := busy(m, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range loads {
		loads[i].Busy = r.Float64()
	}
	b.Run("best", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Best(m, loads, -1)
		}
	})
	for _, s := range Strategies() {
		for _, n := range []int{1, 64} {
			b.Run(string(s)+map[int]string{1: "/one", 64: "/64"}[n], func(b *testing.B) {
				b.ReportAllocs()
				req := Request{Topology: m, Loads: loads, Targets: targets(m, n), Strategy: s}
				for b.Loop() {
					if _, err := Place(req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
