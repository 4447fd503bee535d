package kernel

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestMapRefusesNothing(t *testing.T) {
	_, err := Mappings().Map(0, -1)
	assert.ErrorIs(t, err, syscall.EINVAL)
}
