package field

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

func TestReceived(t *testing.T) {
	topo := topologytest.Sized(2)
	assert.Empty(t, Received(&sample.Flows{}, topo))
	assert.Equal(t, "nothing", Received(&sample.Flows{Of: 7, Over: 1}, topo))
	f := sample.Flows{Of: 7, Over: 2 * time.Second, List: []sample.Flow{
		{Flow: sample.Socket{Cookie: 1}, Bytes: 3e6}, {Flow: sample.Socket{Cookie: 1}, Consumed: 1, Bytes: 1e6},
		{Flow: sample.Socket{Cookie: 2}, Handled: -1, Bytes: 2e6}}}
	assert.Equal(t, "3 MB/s of 2 flows, 75 % on the CPU of their packets", Received(&f, topo))
	f.List, f.Lost = f.List[2:], 1
	assert.Equal(t, "1 MB/s of 1 flow, 1 read not counted", Received(&f, topo))
}
