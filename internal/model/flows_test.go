package model

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

func flowCount(cookie uint64, handled, consumed cpuset.CPU, bytes uint64) sample.Flow {
	return sample.Flow{Flow: sample.Socket{Cookie: cookie, PID: 10}, Handled: handled, Consumed: consumed,
		Bytes: bytes, Reads: 1, Packets: 2, Interface: 3, Queue: -1}
}

func TestLocality(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{Nodes: 2, LLCsPerNode: 2, CoresPerLLC: 2, Threads: 2}) // core 0 is 0 and 8
	counts := []sample.Flow{
		flowCount(1, 0, 0, 400), flowCount(1, 0, 1, 300), flowCount(1, 0, 8, 200), flowCount(1, 0, 2, 50), flowCount(1, 4, 0, 50),
		flowCount(2, -1, 3, 5000),
	}
	l := LocalityOf(counts, topo)
	assert.Equal(t, Locality{Bytes: 6000, Reads: 6, Packets: 12, Placed: 1000, SameCPU: 400, SameLLC: 900, SameNode: 950}, l)
	share, ok := l.Share(l.SameLLC)
	assert.True(t, ok)
	assert.InDelta(t, 0.9, share, 1e-12)
	_, ok = new(Locality).Share(0)
	assert.False(t, ok)
	var sum Locality
	sum.Join(LocalityOf(counts[:3], topo))
	sum.Join(LocalityOf(counts[3:], topo))
	assert.Equal(t, l, sum)

	flows := Flows(counts, topo)
	assert.Len(t, flows, 2)
	assert.Equal(t, uint64(2), flows[0].Cookie, "most bytes first")
	assert.Empty(t, flows[0].Handled, "it is not known")
	assert.Equal(t, []CPUShare{{3, 5000}}, flows[0].Consumed)
	assert.Equal(t, []CPUShare{{0, 950}, {4, 50}}, flows[1].Handled)
	assert.Equal(t, []CPUShare{{0, 450}, {1, 300}, {8, 200}, {2, 50}}, flows[1].Consumed)
	assert.Equal(t, uint64(1000), flows[1].Bytes)
	assert.Equal(t, []int{3, -1}, []int{flows[1].Interface, flows[1].Queue})
	assert.Empty(t, Flows(nil, topo))
}
