package bpf

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/feature"
)

func TestLoaded(t *testing.T) {
	if _, err := Loaded(); errors.Is(err, feature.ErrNotSupported) {
		t.Skip(err)
	}
	cpus := twoCPUs(t)
	known := map[uint32]bool{}
	before, err := Loaded()
	require.NoError(t, err)
	for _, p := range before {
		known[p.ID] = true
	}
	m := bpftest.Must(t, 5, 8, OpenMigrations)
	defer m.Close()
	stats, err := CountRuns()
	require.NoError(t, err)
	defer stats.Close()
	spinner := start(t, append([]string{"spin"}, hex("counted")...)...)
	var most Program // another piton of this machine may have loaded one, too, in the meantime
	require.Eventually(t, func() bool {
		flip(t, spinner.Tasks(t)[:1], cpus, 50)
		after, err := Loaded()
		require.NoError(t, err)
		for _, p := range after {
			if !known[p.ID] && p.Name == "count_move" && p.Runs > most.Runs {
				most = p
			}
		}
		return most.Runs >= 49
	}, bpftest.Patience, bpftest.Tick)
	assert.Positive(t, most.Took)
}

// Names that the kernel cuts short would not be found.
func TestNamesOfOurs(t *testing.T) {
	for _, programs := range Known {
		for _, names := range programs {
			for _, name := range names {
				assert.LessOrEqual(t, len(name), 15, name)
			}
		}
	}
}
