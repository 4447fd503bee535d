package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOpenSource is that there always is one, and that a worse one says why.
func TestOpenSource(t *testing.T) {
	for _, ebpf := range []bool{true, false} {
		s := OpenSource(ebpf)
		defer s.Close()
		assert.NotEmpty(t, s.Name)
		assert.Equal(t, s.Name == "eBPF", s.Complete())
		assert.True(t, s.Name != "eBPF" || ebpf)
		if ebpf && !s.Complete() {
			assert.Error(t, s.Better)
		}
		_, _, err := s.Read(nil, time.Millisecond)
		require.NoError(t, err)
	}
	began := time.Now()
	events, lost, err := noSource{}.Read(nil, time.Millisecond)
	require.NoError(t, err)
	assert.Empty(t, events)
	assert.Zero(t, lost)
	assert.GreaterOrEqual(t, time.Since(began), time.Millisecond)
}
