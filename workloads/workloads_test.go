package workloads_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/workloads"
	"piton/workloads/machine"
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
		assert.ErrorContains(t, w.Validate(values), "of memory are available")
	}
}

// TestLimitsAreRefused: a workload relies on it that its options are within them.
func TestLimitsAreRefused(t *testing.T) {
	for _, w := range workloads.All {
		for _, p := range w.Params {
			bad := []string{"", "x", fmt.Sprint(p.Min - 1), fmt.Sprint(p.Max + 1)}
			for _, value := range bad {
				_, err := w.Parse([]string{p.Flag(), value})
				assert.ErrorContains(t, err, p.Flag()+" must be", "%s %s", w.Name, value)
			}
		}
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
		require.NoError(t, w.Validate(values), w.Name)
		assert.Contains(t, values, w.Length, "%s: Length must name a Param: answers say to use a larger one", w.Name)
		again, err := w.Parse(w.Args(values))
		require.NoError(t, err, w.Name)
		assert.Equal(t, values, again, w.Name)
	}
}
