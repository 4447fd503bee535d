package tune

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSignal(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(10, 11)
	tuner := m.tuner(Options{})
	require.NoError(t, tuner.Signal(Target{TID: 11, StartTicks: 1011}, syscall.SIGTERM))
	assert.Equal(t, []string{"Signal(10, terminated)"}, m.Calls(), "the process, whichever thread was named")

	require.ErrorIs(t, tuner.Signal(Target{TID: 10, StartTicks: 5}, syscall.SIGTERM), ErrGone)
	require.ErrorIs(t, tuner.Signal(Target{TID: 99}, syscall.SIGTERM), ErrGone)
	var usage UsageError
	require.ErrorAs(t, tuner.Signal(Target{TID: -1}, syscall.SIGTERM), &usage, "-1 would be everybody")
	assert.Len(t, m.Calls(), 1)
}
