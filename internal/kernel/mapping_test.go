package kernel

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

func TestMapGivesZeroedMemoryAtAHugePage(t *testing.T) {
	for _, bytes := range []int{1, 4096, hugePage, 3*hugePage + 5} {
		m, err := Mappings().Map(bytes, -1)
		require.NoError(t, err)
		require.Len(t, m, bytes)
		assert.Zero(t, uintptr(unsafe.Pointer(&m[0]))%hugePage)
		assert.Zero(t, m[0]|m[bytes-1])
		m[0], m[bytes-1] = 1, 1
		require.NoError(t, Mappings().Unmap(m))
	}
}

func TestMapBindsToANode(t *testing.T) {
	m, err := Mappings().Map(hugePage, 0)
	if err != nil {
		require.ErrorIs(t, err, syscall.ENOSYS)
		t.Skip("this kernel knows no nodes")
	}
	m[0] = 1
	require.NoError(t, Mappings().Unmap(m))
	_, err = Mappings().Map(hugePage, 1000)
	assert.ErrorIs(t, err, syscall.EINVAL)
	assert.ErrorContains(t, err, "node 1000")
}

// Pages of memory bound to a node are on it, wherever the thread runs. It says
// something on a machine with several nodes.
func TestBoundPagesAreOnTheirNode(t *testing.T) {
	text, err := os.ReadFile("/sys/devices/system/node/has_memory")
	if err != nil {
		t.Skip("this kernel knows no nodes")
	}
	nodes, err := cpuset.Parse(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	for node := range nodes.All() {
		m, err := Mappings().Map(2*hugePage, int(node))
		require.NoError(t, err)
		addrs := []uint64{uint64(uintptr(unsafe.Pointer(&m[0]))), uint64(uintptr(unsafe.Pointer(&m[len(m)-1]))) &^ 4095}
		m[0], m[len(m)-1] = 1, 1
		on, err := movePages(0, addrs, nil)
		require.NoError(t, err)
		assert.Equal(t, []int32{int32(node), int32(node)}, on)
		require.NoError(t, Mappings().Unmap(m))
	}
}

func TestMapRefusesNothing(t *testing.T) {
	_, err := Mappings().Map(0, -1)
	assert.ErrorIs(t, err, syscall.EINVAL)
}
