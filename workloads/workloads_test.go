package workloads_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/workloads"
	"piton/workloads/internal/machine"
)

func TestTooMuchMemoryIsRefusedBeforeItRuns(t *testing.T) {
	if machine.AvailableBytes("/") > 1<<38 {
		t.Skip("this machine has as much")
	}
	for name, args := range map[string][]string{"stream": {"--size", "1048576"}, "memlat": {"--size", "262144"}} {
		w, err := workloads.Find(name)
		require.NoError(t, err)
		values, err := w.Parse(args)
		require.NoError(t, err)
		assert.ErrorContains(t, w.Check(values), "of memory are available")
	}
}

// TestDefaultsAreValid also keeps names unique.
func TestDefaultsAreValid(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range workloads.All {
		assert.False(t, seen[w.Name], w.Name)
		seen[w.Name] = true
		values, err := w.Parse(nil)
		require.NoError(t, err, w.Name)
		again, err := w.Parse(w.Args(values))
		require.NoError(t, err, w.Name)
		assert.Equal(t, values, again, w.Name)
	}
}
