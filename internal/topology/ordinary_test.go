package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
)

func TestOrdinary(t *testing.T) {
	topo := &Topology{Online: cpuset.Of(0, 1, 2, 3), Isolated: cpuset.Of(2), NohzFull: cpuset.Of(3)}
	assert.Equal(t, "0-1", topo.Ordinary().String())
	topo.Isolated = cpuset.Of(0, 1, 2)
	assert.Equal(t, "0-3", topo.Ordinary().String(), "all of them rather than none")
	assert.Equal(t, "1", topo.OnlineAmong(cpuset.Of(1, 7)).String())
	assert.Equal(t, "0-3", topo.OnlineAmong(cpuset.Of(7)).String())
}
