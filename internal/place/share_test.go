package place

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology/topologytest"
)

// on is a task that is queued for a share of the time, and alone then.
func on(group *Group, weight, queued float64) Rival {
	return Rival{TID: 9, Used: queued, Queued: queued, Weight: weight, Group: group}
}

// full are tasks that want a CPU to themselves and share it by what they used.
func full(rivals ...Rival) Load {
	l := Load{Busy: 1, Rivals: rivals}
	for i := range l.Rivals {
		l.Rivals[i].Queued = 1
	}
	return l
}

// The figures are what sched(7) and cgroups(7) promise: shares by weight, between
// entities of the same level.
func TestShare(t *testing.T) {
	m := flat(topologytest.Spec{})
	session, other := &Group{Weight: NiceZero}, &Group{Weight: NiceZero}
	heavy, light := &Group{Weight: UnifiedWeight(100)}, &Group{Weight: UnifiedWeight(10)}
	inHeavy := &Group{Parent: heavy, Weight: UnifiedWeight(50)}
	besideIt := &Group{Parent: heavy, Weight: UnifiedWeight(150)}
	idle := &Group{Weight: Weight(kernel.Idle, 0)}
	for _, tt := range []struct {
		name   string
		target Target
		load   Load
		others []Rival // queued on another CPU
		want   float64
	}{
		{"idle", Target{}, Load{}, nil, 1},
		{"half busy: it works for twice as long, and sleeps for as long as before", Target{}, Load{Busy: 0.5}, nil, 2. / 3},
		{"a hog at nice 0", Target{}, full(on(nil, 1024, 1)), nil, 0.5},
		{"at nice 1", Target{}, full(on(nil, 820, 1)), nil, 1024. / 1844},
		{"at nice 5", Target{}, full(on(nil, Weight(0, 5), 1)), nil, 1024. / 1359},
		{"at nice 19", Target{}, full(on(nil, Weight(0, 19), 1)), nil, 1024. / 1039},
		{"SCHED_IDLE", Target{}, full(on(nil, Weight(5, 0), 1)), nil, 1024. / 1027},
		{"the target is nice 5 itself", Target{Weight: 335}, full(on(nil, 1024, 1)), nil, 335. / 1359},
		{"three at once", Target{}, full(on(nil, 1024, 0.4), on(nil, 1024, 0.3), on(nil, 1024, 0.3)), nil, 0.25},
		{"three that come and go", Target{}, Load{Busy: 0.9, Rivals: []Rival{on(nil, 1024, 0.3), on(nil, 1024, 0.3), on(nil, 1024, 0.3)}}, nil,
			0.44},
		{"real time and interrupts come first", Target{}, Load{Busy: 0.4, IRQ: 0.1, Steal: 0.1,
			Rivals: []Rival{{Used: 0.2, Queued: 0.2, RealTime: true}}}, nil, 0.6},
		{"a real-time target gets what they leave", Target{RealTime: true}, Load{Busy: 1, IRQ: 0.1,
			Rivals: []Rival{{Used: 0.2, Queued: 0.2, RealTime: true}, on(nil, 1024, 0.7)}}, nil, 0.7},
		{"more was used here than the CPU did", Target{}, Load{Busy: 0.5, Rivals: []Rival{on(nil, 1024, 1)}}, nil, 2. / 3},
		{"the same session: its nice counts", Target{Group: session}, full(on(session, 15, 1)), nil, 1024. / 1039},
		{"another session: it does not", Target{Group: session}, full(on(other, 15, 1)), nil, 0.5},
		{"another session against a task in none", Target{}, full(on(other, 15, 1)), nil, 0.5},
		{"its own session is busy elsewhere too", Target{Group: session}, full(on(other, 15, 1)), []Rival{on(session, 1024, 1)}, 1. / 3},
		{"the other one is", Target{Group: session}, full(on(other, 15, 1)), []Rival{on(other, 15, 1)}, 2. / 3},
		{"cpu.weight 100 against 10", Target{Group: heavy}, full(on(light, 1024, 1)), nil, 100. / 110},
		{"cpu.weight 10 against 100", Target{Group: light}, full(on(heavy, 15, 1)), nil, 10. / 110},
		{"cpu.idle", Target{Group: heavy}, full(on(idle, 1024, 1)), nil, 1024. / 1027},
		{"a group in a group: both compete as the outer one", Target{Group: inHeavy}, full(on(light, 1024, 1)), nil, 100. / 110},
		{"they compete with each other where they part", Target{Group: inHeavy}, full(on(besideIt, 15, 1)), nil, 50. / 200},
		{"both", Target{Group: inHeavy}, full(on(besideIt, 15, 0.9), on(light, 15, 0.1)), nil, 100. / 110 * 50 / 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			loads := busy(m, nil)
			tt.load.CPU = 0
			loads[0] = tt.load
			loads[1].Rivals = tt.others
			if tt.others != nil {
				loads[1].Busy = 1
			}
			b := newBoard(Request{Topology: m, Loads: loads})
			assert.InDelta(t, tt.want, b.share(&tt.target, 0), 6e-3)
		})
	}
}

// Row 18 of the findings: a CPU that a hog at nice > 0 fills is not free.
func TestANicedHogIsLoad(t *testing.T) {
	m := flat(topologytest.Spec{})
	loads := all(m, 3)
	loads[0] = full(on(nil, Weight(0, 1), 1))
	c := place1(t, Request{Topology: m, Loads: loads})
	assert.Equal(t, "1", c.CPUs.String())
	assert.Equal(t, "cpu 1: 97 % of a CPU expected (others use 3 %); cpu 2 gives as much (97 %)", c.Reason)
	c = place1(t, Request{Topology: m, Loads: loads, Within: set("0")})
	assert.Equal(t, "cpu 0: 56 % of a CPU expected (others use 100 %)", c.Reason)
	for i := range loads {
		loads[i].Busy = 0
	}
	loads[0] = full(on(nil, Weight(0, 19), 1))
	near := task(m)
	near.LastCPU = 0
	assert.Equal(t, "1", place1(t, Request{Topology: m, Loads: loads, Targets: []Target{near}}).CPUs.String(), "nor is one of nice 19, if others are idle")
}

// A session's nice counts inside it only, so that of two hogs at nice 19 the one
// of the target's own session is the better neighbour.
func TestTheLevelDecides(t *testing.T) {
	m := flat(topologytest.Spec{})
	session, other := &Group{Weight: NiceZero}, &Group{Weight: NiceZero}
	loads := busy(m, nil)
	for i := range loads {
		group := other
		if i == 2 {
			group = session
		}
		loads[i] = full(on(group, 15, 1))
		loads[i].CPU = cpuset.CPU(i)
	}
	target := task(m)
	target.Group = session
	assert.Equal(t, "2", place1(t, Request{Topology: m, Loads: loads, Targets: []Target{target}}).CPUs.String())
}

// What is placed counts for the next by its weight and group.
func TestPlacedTargetsCompete(t *testing.T) {
	m := flat(topologytest.Spec{})
	pair := targets(m, 2)
	for i := range pair {
		pair[i].Allowed = set("0")
	}
	pair[1].Weight, pair[1].BusyShare = 335, 0.9
	got := place(t, Request{Topology: m, Loads: busy(m, nil), Targets: pair, Strategy: LeastLoaded})
	assert.Equal(t, "cpu 0: 100 % of a CPU expected (others use 0 %)", got[0].Reason)
	assert.Equal(t, "cpu 0: 25 % of a CPU expected (others use 100 %)", got[1].Reason)
}

// TestShortIsTheFirstPartOfTheReason: the status line of the screen says what the command
// line says.
func TestShortIsTheFirstPartOfTheReason(t *testing.T) {
	for want, c := range map[string]Choice{
		"cpu 0: 74 % of a CPU expected (others use 26 %)":                                {CPUs: cpuset.Of(0), Share: 0.74, Busy: 0.26},
		"cpu 5: 99 % of a CPU expected (others use 1 %, same L3 as now)":                 {CPUs: cpuset.Of(5), Share: 0.99, Busy: 0.012, Near: "same L3 as now"},
		"cpu 9: 50 % of a CPU expected (others use 100 %, other node than now, a guess)": {CPUs: cpuset.Of(9), Share: 0.5, Busy: 1, Near: "other node than now", Guess: true},
	} {
		assert.Equal(t, want, c.Short())
	}
}
