package kernel

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestProcessTime(t *testing.T) {
	first, err := ProcessTime(TID(os.Getpid()))
	require.NoError(t, err)
	second, err := ProcessTime(TID(os.Getpid()))
	require.NoError(t, err)
	assert.Greater(t, second, first, "it ran in between")

	_, err = ProcessTime(1) // another user's, when the test is not root
	require.NoError(t, err)
	_, err = ProcessTime(1 << 22) // PID_MAX_LIMIT, never given out
	require.ErrorIs(t, err, unix.EINVAL)
}
