package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/kernel/kerneltest"
)

// disk gives piton's state a file system of its own, and returns its directory.
func (h *home) disk(size string) string {
	kerneltest.NeedRoot(h.t, "to mount a small file system")
	dir := filepath.Join(strings.TrimPrefix(h.env[0], "XDG_STATE_HOME="), "piton")
	require.NoError(h.t, os.MkdirAll(dir, 0o700))
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		h.t.Skip("no small file system can be mounted here: ", err)
	}
	h.t.Cleanup(func() { assert.NoError(h.t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// change runs piton as a process of its own, which keeps no file open.
func (h *home) change(args ...string) {
	out, err := h.program(args...).CombinedOutput()
	require.NoError(h.t, err, "%s", out)
}

// TestReadOnlyDisk: what is recorded can be read and undone, one after the other, though nothing
// can be recorded.
func TestReadOnlyDisk(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	was, dir := levelOf(t, pid), h.disk("1m")
	h.change("ionice", fmt.Sprint(pid), "best-effort:5")
	h.change("ionice", fmt.Sprint(pid), "best-effort:6")
	changed := levelOf(t, pid)
	require.NoError(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))

	r := h.run("journal")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "in force")
	assert.Contains(t, r.out, "changed again by entry 2")
	r = h.run("ionice", fmt.Sprint(pid), "best-effort:7")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "read-only file system")
	assert.Equal(t, changed, levelOf(t, pid))

	for _, want := range []string{"best-effort:6 +best-effort:5", "best-effort:5 +none"} {
		r = h.run("undo")
		assert.Equal(t, exit.Some, r.code, r.err)
		assert.Regexp(t, want, r.out)
		assert.Contains(t, r.err, "changed, but the journal does not say so")
	}
	assert.Equal(t, was, levelOf(t, pid))
	r = h.run("undo")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "entries 1, 2: nothing is left in force, which cannot be recorded")
	r = h.run("undo", "--all")
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "nothing was changed, and the journal could not be written")
}

// TestJournalIsNotMadeToBeRead: who reads makes no file.
func TestJournalIsNotMadeToBeRead(t *testing.T) {
	h := newHome(t)
	r := h.run("journal")
	require.Zero(t, r.code, r.err)
	r = h.run("undo")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "nothing to undo")
	made, err := filepath.Glob(strings.TrimPrefix(h.env[0], "XDG_STATE_HOME=") + "/*")
	require.NoError(t, err)
	assert.Empty(t, made)
}

// TestSmallDisk: a change is recorded whole or not made, and all of them can be undone.
func TestSmallDisk(t *testing.T) {
	for _, size := range []string{"64k", "256k", "1m"} {
		t.Run(size, func(t *testing.T) {
			h, pid := newHome(t), sleeper(t)
			was, dir := levelOf(t, pid), h.disk(size)
			h.change("ionice", fmt.Sprint(pid), "best-effort:5")
			fill(t, filepath.Join(dir, "filler"))
			made := 1
			for {
				before := levelOf(t, pid)
				r := h.run("ionice", fmt.Sprint(pid), fmt.Sprint("best-effort:", made%2+5))
				if r.code != 0 {
					assert.Equal(t, exit.Failed, r.code)
					assert.Contains(t, r.err, "no space left on device")
					assert.Equal(t, before, levelOf(t, pid))
					break
				}
				made++
				require.Less(t, made, 100)
			}
			entries := ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry")
			assert.Len(t, entries, made)
			for _, e := range entries {
				assert.Equal(t, true, e["finished"])
			}
			r := h.run("undo", "--all")
			assert.Contains(t, []int{0, exit.Some}, r.code, r.err)
			assert.Equal(t, was, levelOf(t, pid))
		})
	}
}

// fill takes all that a file system has but for a few pages.
func fill(t *testing.T, path string) {
	const page = 4096
	f, err := os.Create(path)
	require.NoError(t, err)
	size := int64(0)
	for ; err == nil; size += page {
		_, err = f.Write(make([]byte, page))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Truncate(max(0, size-4*page)))
	require.NoError(t, f.Close())
}
