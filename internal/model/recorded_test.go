package model_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/topology/topologytest"
)

// TestRecorded compares what is expected in recorded windows with what probes got: make
// expected says how they were made.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			tries, err := readTries(file)
			require.NoError(t, err)
			score := Score{}
			for i := range tries {
				y := &tries[i]
				y.Target.HomeNode = -1 // the machine is not the same
				a, err := y.Ask(topologytest.Synthetic(topologytest.Spec{CoresPerLLC: len(y.Loads)}))
				require.NoError(t, err)
				t.Logf("%s: %s", y.World, score.Add(y, a))
			}
			t.Log(&score)
			assert.GreaterOrEqual(t, 60*score.Right, 58*score.Tries)
			assert.Equal(t, score.Alike, score.Stayed)
			assert.LessOrEqual(t, score.Median(), 0.05)
			assert.GreaterOrEqual(t, score.Within(0.12), 0.96, "a rival that makes up for waiting, at fixed times, and one whose work waiting takes away are not told apart")
			assert.LessOrEqual(t, score.Most(), 0.16)
		})
	}
}
