package noise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
)

const spinVerb = "spin"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == spinVerb {
		cpus, err := cpuset.Parse(os.Args[2])
		fmt.Fprintln(os.Stderr, errors.Join(err, Spin(os.Stdin, os.Stdout, cpus)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestWatch: the tick interrupts a thread that spins, and is named.
func TestWatch(t *testing.T) {
	allowed, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	w, err := Watch(spinVerb, nil, cpuset.Of(allowed.CPUs()[0]), true)
	require.NoError(t, err)
	defer w.Close()
	named := w.Unnamed == nil
	if !named {
		assert.ErrorIs(t, w.Unnamed, feature.ErrNotSupported)
	}
	require.Eventually(t, func() bool {
		gaps, err := w.Gaps()
		require.NoError(t, err)
		return slices.ContainsFunc(gaps, func(g Gap) bool {
			assert.GreaterOrEqual(t, g.Length, w.Least)
			return !named || slices.ContainsFunc(g.Parts, func(p Part) bool { return p.Kind == Interrupt || p.Kind == IRQ }) // of arm64 it is a line
		})
	}, 20*time.Second, 20*time.Millisecond)
}

func TestWatchSaysWhyNot(t *testing.T) {
	_, err := Watch(spinVerb, nil, cpuset.Of(4095), false)
	assert.ErrorContains(t, err, "watch CPU 4095")
}
