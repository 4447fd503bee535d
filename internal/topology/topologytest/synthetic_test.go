package topologytest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

func TestSized(t *testing.T) {
	for _, tt := range []struct {
		cpus, nodes, llcs, cores int
		order                    []cpuset.CPU
	}{
		{1, 1, 1, 1, []cpuset.CPU{0}},
		{2, 1, 1, 2, []cpuset.CPU{0, 1}},
		{8, 1, 1, 4, []cpuset.CPU{0, 4, 1, 5, 2, 6, 3, 7}},
		{64, 4, 8, 64, nil},
		{512, 8, 32, 256, nil},
	} {
		m := Sized(tt.cpus)
		assert.Len(t, m.CPUs, tt.cpus)
		assert.Equal(t, tt.cpus, m.Online.Len())
		assert.Len(t, m.Groups(), tt.nodes)
		assert.Len(t, m.LLCs(), tt.llcs)
		assert.Len(t, m.Cores(), tt.cores)
		assert.Len(t, m.Packages(), tt.nodes)
		assert.Len(t, m.Order(), tt.cpus)
		if tt.order != nil {
			assert.Equal(t, tt.order, m.Order())
		}
	}
	assert.Panics(t, func() { Sized(7) })
}

func TestSyntheticHybrid(t *testing.T) {
	m := Synthetic(Spec{CoresPerLLC: 6, Threads: 2, ECores: 4, Offline: "3", Isolated: "1"})
	assert.Equal(t, "0-7", m.Present.String())
	assert.Equal(t, "0-2,4-7", m.Online.String())
	assert.Equal(t, "1", m.Isolated.String())
	p, ok := m.CPU(7)
	require.True(t, ok)
	assert.Equal(t, "1,7", p.Core.String())
	assert.Equal(t, topology.KindPerformance, p.Kind)
	e, _ := m.CPU(4)
	assert.Equal(t, "4", e.Core.String())
	assert.Equal(t, topology.KindEfficiency, e.Kind)
	off, _ := m.CPU(3)
	assert.Equal(t, topology.CPU{ID: 3, CoreIndex: -1, LLCIndex: -1, PackageIndex: -1, Node: -1}, off)
	groups := m.Groups()
	require.Len(t, groups, 2)
	assert.Equal(t, topology.NodeID(-1), groups[1].Node)
	assert.Equal(t, "3", groups[1].CPUs.String())
}
