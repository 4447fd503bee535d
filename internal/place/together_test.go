package place

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// targets makes n busy targets that may go anywhere.
func targets(m *topology.Topology, n int) []Target {
	out := make([]Target, n)
	for i := range out {
		out[i] = task(m)
		out[i].TID = kernel.TID(i + 1)
	}
	return out
}

// lists are the CPUs of each choice.
func lists(choices []Choice) []string {
	var out []string
	for _, c := range choices {
		out = append(out, c.CPUs.String())
	}
	return out
}

func place(t *testing.T, r Request) []Choice {
	t.Helper()
	choices, err := Place(r)
	require.NoError(t, err)
	require.Len(t, choices, len(r.Targets))
	for i := range choices {
		assert.Equal(t, r.Targets[i].TID, choices[i].TID)
	}
	return choices
}

func TestSeveralTargets(t *testing.T) {
	m := smt(topologytest.Spec{}) // 8 cores of 2
	small := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 2, Threads: 2})
	for _, tt := range []struct {
		name     string
		m        *topology.Topology
		strategy Strategy
		n        int
		busy     map[cpuset.CPU]float64
		want     []string
	}{
		{"one core each", m, LeastLoaded, 8, nil, []string{"0", "1", "2", "3", "4", "5", "6", "7"}},
		{"cores, siblings, then sharing", small, LeastLoaded, 5, nil, []string{"0", "1", "2", "3", "0"}},
		{"an idle sibling is not a core of its own", small, LeastLoaded, 2, map[cpuset.CPU]float64{1: 60}, []string{"0", "3"}},
		{"siblings stay free", small, SiblingFree, 2, nil, []string{"0", "1"}},
		{"siblings together", m, Pack, 4, nil, []string{"0", "8", "1", "9"}},
		{"packing around the busy", m, Pack, 3, map[cpuset.CPU]float64{0: 90, 1: 90, 2: 90, 3: 90}, []string{"4", "12", "5"}},
		{"spread over nodes", m, Spread, 4, nil, []string{"0", "4", "1", "5"}},
		{"spread takes what is least loaded there", m, Spread, 2, map[cpuset.CPU]float64{0: 50, 1: 40, 4: 90, 5: 20}, []string{"2", "6"}},
		{"one cache each", m, LLC, 2, nil, []string{"0-3,8-11", "4-7,12-15"}},
		{"one node each", m, NodeWide, 3, nil, []string{"0-3,8-11", "4-7,12-15", "0-3,8-11"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := place(t, Request{Topology: tt.m, Loads: busy(tt.m, tt.busy), Targets: targets(tt.m, tt.n), Strategy: tt.strategy})
			assert.Equal(t, tt.want, lists(got))
		})
	}
}

func TestStackingWarns(t *testing.T) {
	m := flat(topologytest.Spec{})
	got := place(t, Request{Topology: m, Loads: busy(m, nil), Targets: targets(m, 9), Strategy: LeastLoaded})
	for i, c := range got {
		switch {
		case i < 4:
			assert.Empty(t, c.Warning)
		case i < 8:
			assert.Equal(t, "more targets than CPUs: another one is placed on cpu "+c.CPUs.String()+" too", c.Warning)
		default:
			assert.Equal(t, "more targets than CPUs: 2 others are placed on cpu 0 too", c.Warning)
		}
	}
}

func TestTargetsWithLeastChoiceGoFirst(t *testing.T) {
	m := flat(topologytest.Spec{})
	all := targets(m, 3)
	all[2].Allowed = set("0") // would find 0 taken if it came last
	all[1].BusyShare = 0.1    // the idle one takes what is left
	got := place(t, Request{Topology: m, Loads: busy(m, map[cpuset.CPU]float64{2: 50, 3: 60}), Targets: all, Strategy: LeastLoaded})
	assert.Equal(t, []string{"1", "2", "0"}, lists(got))
	for _, c := range got {
		assert.Empty(t, c.Warning)
	}
}

func TestTargetsOwnLoadsGoTogether(t *testing.T) {
	// Two hogs on CPU 0, nothing elsewhere: both shares are gone from there once
	// they are placed, so one may stay.
	m := flat(topologytest.Spec{})
	pair := targets(m, 2)
	for i := range pair {
		pair[i].LastCPU, pair[i].Share = 0, map[cpuset.CPU]float64{0: 0.5}
	}
	loads := busy(m, map[cpuset.CPU]float64{0: 100})
	for i := range pair {
		loads[0].Rivals = append(loads[0].Rivals, Rival{TID: pair[i].TID, Used: 0.5, Queued: 1, Weight: NiceZero})
	}
	got := place(t, Request{Topology: m, Loads: loads, Targets: pair, Strategy: LeastLoaded})
	assert.Equal(t, []string{"0", "1"}, lists(got))
	assert.Equal(t, "cpu 0: 100 % of a CPU expected (others use 0 %, where it is now); cpu 1 gives as much (100 %)", got[0].Reason)
}

func TestManyThreads(t *testing.T) {
	m := smt(topologytest.Spec{})
	sub := topologytest.Synthetic(topologytest.Spec{Nodes: 2, LLCsPerNode: 4, CoresPerLLC: 2})
	for _, tt := range []struct {
		name     string
		m        *topology.Topology
		strategy Strategy
		threads  int
		within   string
		want     string
		warning  string
	}{
		{"fits", m, LeastLoaded, 1, "", "0", ""},
		{"squeezed", m, LeastLoaded, 4, "", "0", "4 busy threads on one CPU; llc or node would hold them"},
		{"squeezed beside its siblings", m, SiblingFree, 4, "", "0", "4 busy threads on one CPU; llc or node would hold them"},
		{"only a node is wide enough", sub, LeastLoaded, 5, "", "0", "5 busy threads on one CPU; node would hold them"},
		{"the cache is too small", sub, LLC, 5, "", "0-1", "5 busy threads on 2 CPUs; node would hold them"},
		{"the node is too small too", m, NodeWide, 20, "", "0-3,8-11", "20 busy threads on 8 CPUs"},
		{"nothing is wide enough", m, LeastLoaded, 20, "", "0", "20 busy threads on one CPU; llc would give them 8 CPUs"},
		{"the user's limit counts", m, LeastLoaded, 4, "0-1", "0", "4 busy threads on one CPU; llc would give them 2 CPUs"},
		{"the cache holds them", m, LLC, 8, "", "0-3,8-11", ""},
		{"the node holds them", m, NodeWide, 8, "", "0-3,8-11", ""},
		{"packed", m, Pack, 3, "", "0-1,8", ""},
		{"packed by cores", m, Pack, 4, "", "0-1,8-9", ""},
		{"spread", m, Spread, 3, "", "0-1,4", ""},
		{"spread over all there is", m, Spread, 99, "", "0-15", "99 busy threads on 16 CPUs"},
		{"packed over all there is", m, Pack, 99, "", "0-15", "99 busy threads on 16 CPUs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target := task(tt.m)
			target.BusyThreads, target.BusyShare = tt.threads, float64(tt.threads)
			c := place1(t, Request{Topology: tt.m, Loads: busy(tt.m, nil), Targets: []Target{target}, Strategy: tt.strategy, Within: set(tt.within)})
			assert.Equal(t, tt.want, c.CPUs.String())
			assert.Equal(t, tt.warning, c.Warning)
		})
	}
}

func TestWholeRegions(t *testing.T) {
	m := smt(topologytest.Spec{})
	now := func(last cpuset.CPU, home topology.NodeID) []Target {
		target := task(m)
		target.LastCPU, target.HomeNode = last, home
		return []Target{target}
	}
	node0 := map[cpuset.CPU]float64{0: 80, 1: 80, 2: 80, 3: 80}
	for _, tt := range []struct {
		name   string
		req    Request
		want   string
		reason string
	}{
		{"the least loaded node", Request{Loads: busy(m, node0), Strategy: NodeWide, Targets: now(0, -1)},
			"4-7,12-15", "node 1 (cpus 4-7,12-15): 100 % of a CPU expected on average (others use 0 %, other node than now); next node 0 (77 %)"},
		{"alike: where its memory is", Request{Loads: busy(m, map[cpuset.CPU]float64{4: 10}), Strategy: NodeWide, Targets: now(0, 1)},
			"4-7,12-15", "node 1 (cpus 4-7,12-15): 99 % of a CPU expected on average (others use 1 %, other node than now, next to its memory); next node 0 (100 %)"},
		{"alike: where it is", Request{Loads: busy(m, nil), Strategy: LLC, Targets: now(6, -1)},
			"4-7,12-15", "llc 1 (cpus 4-7,12-15): 100 % of a CPU expected on average (others use 0 %, it runs there now); next llc 0 (100 %)"},
		{"the least loaded cache", Request{Loads: busy(m, node0), Strategy: LLC, Targets: now(-1, -1)},
			"4-7,12-15", "llc 1 (cpus 4-7,12-15): 100 % of a CPU expected on average (others use 0 %); next llc 0 (77 %)"},
		{"what is allowed of it", Request{Loads: busy(m, nil), Strategy: LLC, Targets: now(-1, -1), Within: set("2,5-6,12")},
			"5-6,12", "llc 1 (cpus 5-6,12): 100 % of a CPU expected on average (others use 0 %); next llc 0 (100 %)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Topology = m
			c := place1(t, tt.req)
			assert.Equal(t, tt.want, c.CPUs.String())
			assert.Equal(t, tt.reason, c.Reason)
		})
	}
}

func TestRegionsLeaveRealTimeAlone(t *testing.T) {
	m := flat(topologytest.Spec{})
	loads := busy(m, nil)
	loads[2].RTBusy = true
	assert.Equal(t, "0-1,3", place1(t, Request{Topology: m, Loads: loads, Strategy: NodeWide}).CPUs.String())
}

func TestUnknownCachesAndNodes(t *testing.T) {
	m := topology.New(topology.Topology{CPUs: []topology.CPU{
		{ID: 0, Online: true, Core: set("0"), Node: -1}, {ID: 1, Online: true, Core: set("1"), Node: -1}}})
	r := Request{Topology: m, Loads: busy(m, map[cpuset.CPU]float64{0: 30}), Targets: targets(m, 1), Strategy: LLC}
	_, err := Place(r)
	assert.EqualError(t, err, "no CPU for 1 (t): the kernel does not say here which CPUs share a cache, node may do")
	r.Strategy = NodeWide
	_, err = Place(r)
	assert.EqualError(t, err, "no CPU for 1 (t): none of the CPUs that it may use is on a node, llc may do")
	for _, s := range []Strategy{LeastLoaded, Pack, Spread, SiblingFree} {
		r.Strategy = s
		assert.Equal(t, "1", place1(t, r).CPUs.String(), s)
	}
}

func TestCacheWiderThanItsNodes(t *testing.T) {
	var cpus []topology.CPU
	for id := range cpuset.CPU(4) {
		cpus = append(cpus, topology.CPU{ID: id, Online: true, Core: cpuset.Of(id), LLC: set("0-3"), Node: topology.NodeID(id / 2)})
	}
	m := topology.Describe(cpus, 1<<30, 20)
	target := task(m)
	target.BusyThreads = 3
	r := Request{Topology: m, Loads: busy(m, nil), Targets: []Target{target}}
	assert.Equal(t, "3 busy threads on one CPU; llc would hold them", place1(t, r).Warning)
	r.Targets[0].Allowed, r.Strategy = set("0,2"), LeastLoaded
	assert.Equal(t, "3 busy threads on one CPU; llc would give them 2 CPUs", place1(t, r).Warning)
	for i := range cpus {
		cpus[i].LLC = set("")
	}
	r.Topology = topology.New(topology.Topology{CPUs: cpus, Nodes: m.Nodes})
	r.Targets[0].Allowed = m.Online
	assert.Equal(t, "3 busy threads on one CPU; node would give them 2 CPUs", place1(t, r).Warning)
}

func TestSiblingFree(t *testing.T) {
	m := smt(topologytest.Spec{})
	c := place1(t, Request{Topology: m, Strategy: SiblingFree, Within: set("0-1"),
		Loads: busy(m, map[cpuset.CPU]float64{1: 30, 8: 10})})
	assert.Equal(t, "1", c.CPUs.String(), "its own load is no reason, a busy sibling is")
	assert.Equal(t, "cpu 1: 77 % of a CPU expected (others use 30 %, sibling 9 idle); cpu 0 gives as much (100 %)", c.Reason)
	assert.Empty(t, c.Warning)
	c = place1(t, Request{Topology: m, Strategy: SiblingFree, Within: set("0-1"),
		Loads: busy(m, map[cpuset.CPU]float64{8: 40, 9: 30})})
	assert.Equal(t, "1", c.CPUs.String())
	assert.Equal(t, "no core has idle siblings only, the busiest one here does 30 %", c.Warning)
}
