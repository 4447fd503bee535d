package journal

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The wait is bounded, and its error names the holder.
func TestLockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	release, err := (&fileLock{path: path}).Acquire(0, "piton pin 10")
	require.NoError(t, err)
	_, err = (&fileLock{path: path}).Acquire(20*time.Millisecond, "piton undo")
	require.ErrorIs(t, err, ErrBusy)
	assert.ErrorContains(t, err, "piton pin 10 ("+strconv.Itoa(os.Getpid())+"); nothing was done after waiting 20ms")

	time.AfterFunc(20*time.Millisecond, release)
	again, err := (&fileLock{path: path}).Acquire(time.Minute, "piton undo")
	require.NoError(t, err, "once the other one is done")
	again()
}

func TestLockFollowsNoLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.Symlink("/etc/passwd", path))
	_, err := (&fileLock{path: path}).Acquire(0, "piton pin 10")
	require.Error(t, err)
}
