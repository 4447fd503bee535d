package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/lab/steer"
	"piton/internal/topology/topologytest"
)

// TestPrograms is which programs a policy and a way take.
func TestPrograms(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 2})
	for policy, want := range map[action.Policy]steer.Policy{
		action.PolicyCurrent: steer.Current, action.PolicyRequest: steer.Request, action.PolicyDedicated: steer.Chosen,
		action.PolicyApart: steer.Apart, action.PolicyLeastLoaded: steer.Chosen,
	} {
		ask := action.HookAsk{Way: action.WayXDP, Policy: policy, Topology: topo, Interfaces: []int{2}}
		o := steerOptions(ask)
		assert.Equal(t, want, o.Policy)
		assert.Equal(t, steer.Native, o.Mode)
		assert.Equal(t, []int{2}, o.Interfaces)
		assert.Equal(t, policy == action.PolicyApart, o.Apart != nil)
		ask.Way, ask.CPUs = action.WayGeneric, cpuset.Of(1)
		o = steerOptions(ask)
		assert.Equal(t, steer.Generic, o.Mode)
		assert.Equal(t, ask.CPUs, o.CPUs)
	}
	ask := action.HookAsk{Way: action.WayHint, Policy: action.PolicyCurrent, Topology: topo}
	assert.Equal(t, steer.Hint, steerOptions(ask).Policy)
	ask.ByIP = true
	assert.Equal(t, steer.HintByIP, steerOptions(ask).Policy)
}

// TestApart is another CPU of the same cache, no sibling where there is a choice.
func TestApart(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 2, Threads: 2, LLCsPerNode: 2})
	for from, to := range apart(topo, topo.Online) {
		c, _ := topo.CPU(from)
		assert.True(t, c.LLC.Has(to), "%d to %d", from, to)
		assert.False(t, c.Core.Has(to), "%d to %d", from, to)
	}
	assert.Equal(t, map[cpuset.CPU]cpuset.CPU{0: 1, 1: 0}, apart(topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 2}), cpuset.Of(0, 1)))
}

// TestConsumersOnIsolatedCPUs is that packets follow a consumer to a CPU that was set apart
// for it, and that nothing else is handed to such CPUs.
func TestConsumersOnIsolatedCPUs(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 4, Isolated: "3"})
	for policy, isolated := range map[action.Policy]bool{action.PolicyCurrent: true, action.PolicyRequest: true, action.PolicyLeastLoaded: false, action.PolicyApart: false} {
		o := steerOptions(action.HookAsk{Way: action.WayXDP, Policy: policy, Topology: topo})
		assert.Equal(t, isolated, o.CPUs.Has(3), policy)
	}
}
