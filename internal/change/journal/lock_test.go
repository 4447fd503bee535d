package journal

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
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

// Room for a record changes nothing that a reader, who has no lock, can see.
func TestRoomIsNotSeen(t *testing.T) {
	f := &File{path: filepath.Join(t.TempDir(), "journal")}
	require.NoError(t, f.Exclusive(func(int64) error { return f.Append([]byte("line\n")) }))
	sizes, stop := map[int64]bool{}, make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			info, err := os.Stat(f.path)
			assert.NoError(t, err)
			sizes[info.Size()] = true
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for range 1000 {
		require.NoError(t, f.Exclusive(func(int64) error { return f.Room(1 << 16) }))
	}
	close(stop)
	reader.Wait()
	assert.Equal(t, map[int64]bool{5: true}, sizes)
}
