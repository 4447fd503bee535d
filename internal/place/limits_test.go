package place

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/topology/topologytest"
)

func TestIsolated(t *testing.T) {
	m := flat(topologytest.Spec{Isolated: "2-3"})
	loads := busy(m, map[cpuset.CPU]float64{0: 90, 1: 80})
	assert.Equal(t, "1", place1(t, Request{Topology: m, Loads: loads}).CPUs.String(), "isolated CPUs are left alone")

	c := place1(t, Request{Topology: m, Loads: loads, AllowIsolated: true})
	assert.Equal(t, "2", c.CPUs.String())
	assert.Equal(t, "cpu 2: 100 % of a CPU expected (others use 0 %, isolated); cpu 3 gives as much (100 %)", c.Reason)
	assert.Empty(t, c.Warning)

	c = place1(t, Request{Topology: m, Loads: loads, Within: set("2-3")})
	assert.Equal(t, "2", c.CPUs.String())
	assert.Equal(t, "only isolated CPUs are left (2-3)", c.Warning)
}

func TestNoCPU(t *testing.T) {
	m := flat(topologytest.Spec{Offline: "3"})
	rt := busy(m, nil)
	for i := range rt {
		rt[i].RTBusy = true
	}
	nan := busy(m, nil)
	zero := 0.0
	nan[1].Busy /= zero
	for _, tt := range []struct {
		name string
		req  Request
		want string
	}{
		{"no cpuset", Request{Loads: busy(m, nil), Targets: []Target{{TID: 7, Comm: "x"}}},
			"no CPU for 7 (x): its cpuset leaves it no CPU"},
		{"offline", Request{Loads: busy(m, nil), Targets: []Target{{TID: 7, Comm: "x", Allowed: set("3")}}},
			"no CPU for 7 (x): no CPU that it may use (3) is online (online: 0-2)"},
		{"limit offline", Request{Loads: busy(m, nil), Within: set("3"), Targets: []Target{{TID: 7, Comm: "x", Allowed: set("0-2")}}},
			"no CPU for 7 (x): no CPU of 3 is online (online: 0-2)"},
		{"cpuset against limit", Request{Loads: busy(m, nil), Within: set("0-1"), Targets: []Target{{TID: 7, Comm: "x", Allowed: set("2")}}},
			"no CPU for 7 (x): its cpuset leaves no CPU of 0-1, it may use 2"},
		{"real time", Request{Loads: rt, Targets: []Target{{TID: 7, Comm: "x", Allowed: set("0-2")}}},
			"no CPU for 7 (x): a busy real-time task runs on each of 0-2, it would starve there"},
		{"not measured", Request{Targets: []Target{{TID: 7, Comm: "x", Allowed: set("0-2")}}},
			"no CPU for 7 (x): the load of CPUs 0-2 has not been measured"},
		{"no value", Request{Loads: nan, Targets: []Target{{TID: 7, Comm: "x", Allowed: set("1")}}},
			"no CPU for 7 (x): the load of CPU 1 has not been measured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Topology, tt.req.Strategy = m, LeastLoaded
			choices, err := Place(tt.req)
			require.EqualError(t, err, tt.want)
			assert.Empty(t, choices)
			var no *NoCPUError
			require.True(t, errors.As(err, &no))
			assert.EqualValues(t, 7, no.TID)
		})
	}
}

func TestOneFailureHidesNoOther(t *testing.T) {
	m := flat(topologytest.Spec{})
	good, bad := task(m), task(m)
	good.TID, bad.Allowed = 2, set("9")
	choices, err := Place(Request{Topology: m, Loads: busy(m, nil), Targets: []Target{bad, good}, Strategy: LeastLoaded})
	require.ErrorContains(t, err, "no CPU for 1 (t)")
	require.Len(t, choices, 1)
	assert.EqualValues(t, 2, choices[0].TID)
	assert.Equal(t, "0", choices[0].CPUs.String())
}
