package topology_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

func TestCacheName(t *testing.T) {
	for want, caches := range map[string][]topology.Cache{
		"":     nil,
		"L1 0": {{Level: 1, Type: "Data", CPUs: cpuset.Of(0)}},
		"L3 0": {{Level: 1, Type: "Data", CPUs: cpuset.Of(0)}, {Level: 3, Type: "Unified", CPUs: cpuset.Of(0)}},
	} {
		one := topology.CPU{ID: 0, Online: true, Core: cpuset.Of(0)}
		if caches != nil {
			one.LLC = cpuset.Of(0)
		}
		m := topology.New(topology.Topology{CPUs: []topology.CPU{one}, Caches: caches})
		c, _ := m.CPU(0)
		assert.Equal(t, want, m.CacheName(&c))
	}
}
