package userfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel/kerneltest"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Replace(path, []byte("one"), 0o644))
	require.NoError(t, Replace(path, []byte("two"), 0o600))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "two", string(text))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	assert.EqualError(t, Replace(filepath.Join(dir, "none", "file"), nil, 0o644), "no such file or directory")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	assert.EqualError(t, Replace(filepath.Join(dir, "folder"), nil, 0o644), "is a directory")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "no file is left beside")
}

func TestReplaceFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("reports"), 0o755))
	require.NoError(t, os.WriteFile(at("reports/one"), []byte("old"), 0o600))
	require.NoError(t, os.Symlink("reports/one", at("latest")))
	require.NoError(t, os.Symlink("reports/none", at("dangling")))
	for _, name := range []string{"latest", "dangling"} {
		require.NoError(t, Writable(at(name)))
		require.NoError(t, Replace(at(name), []byte("new"), 0o644))
		info, err := os.Lstat(at(name))
		require.NoError(t, err)
		assert.Equal(t, fs.ModeSymlink, info.Mode().Type(), name)
	}
	for _, name := range []string{"one", "none"} {
		text, err := os.ReadFile(at("reports/" + name))
		require.NoError(t, err)
		assert.Equal(t, "new", string(text))
	}
}

// TestReplaceWritesToWhatIsNoFile uses a pipe: with /dev/null a failure
// would take it from the machine where root runs the tests.
func TestReplaceWritesToWhatIsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	assert.EqualError(t, Replace(path, nil, 0o644), "no process reads from it", "and piton does not wait for one")
	read, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer read.Close()
	require.NoError(t, Replace(path, []byte("text"), 0o644))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
	text, err := io.ReadAll(read)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
}

func TestWritableChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Writable(path))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	require.NoError(t, Writable(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	assert.EqualError(t, Writable(dir), "is a directory")
	assert.EqualError(t, Writable(filepath.Join(dir, "none", "file")), "no such file or directory")
	// The name fits, that of the new file beside it does not (NAME_MAX, 255).
	long := filepath.Join(dir, strings.Repeat("x", 254))
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	assert.EqualError(t, Writable(long), "file name too long")
}

// TestReplaceStaysOutOfOthers follows no path through another process's files.
func TestReplaceStaysOutOfOthers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := fmt.Sprintf("/proc/%d/cwd/file", os.Getpid())
	assert.ErrorIs(t, Replace(path, []byte("text"), 0o644), errLinks)
	assert.ErrorIs(t, Writable(path), errLinks)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestReplaceFollowsNoLinkOfOthers is root who is given a name that another user has made a
// link, of which the file or the directory is root's.
func TestReplaceFollowsNoLinkOfOthers(t *testing.T) {
	kerneltest.NeedRoot(t, "to give links to others")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("own"), 0o755))
	require.NoError(t, os.WriteFile(at("own/file"), []byte("old"), 0o644))
	for name, to := range map[string]string{"link": "own/file", "new": "own/none", "dir": "own"} {
		require.NoError(t, os.Symlink(to, at(name)))
		require.NoError(t, os.Lchown(at(name), 1234, -1))
	}
	for _, name := range []string{"link", "new", "dir/file", "dir/none"} {
		_, state := OpenState(filepath.Join(at(name), "below", "piton", "journal"), os.O_RDWR|os.O_CREATE)
		for _, err := range []error{Replace(at(name), []byte("text"), 0o644), Writable(at(name)), MakeDir(at(name) + "/below"), state} {
			assert.ErrorContains(t, err, "is a link of user 1234, and root writes through none of others", name)
		}
	}
	left, err := os.ReadDir(at("own"))
	require.NoError(t, err)
	assert.Len(t, left, 1)
	text, err := os.ReadFile(at("own/file"))
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
}

// A slash at the end means a directory: nothing is written.
func TestReplaceMakesNoDirectoryAFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o644))
	for name, want := range map[string]string{"/none/": "no such file or directory", "/file/": "not a directory", "/": "is a directory", "": "is a directory"} {
		for _, err := range []error{Replace(dir+name, []byte("text"), 0o644), Writable(dir + name)} {
			assert.ErrorContains(t, err, want, name)
		}
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

func TestMakeDir(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "own"), 0o700))
	require.NoError(t, os.Symlink("own", filepath.Join(dir, "link")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for range 2 {
		require.NoError(t, MakeDir(filepath.Join(dir, "link/one/two")+"/"))
	}
	left, err := os.ReadDir(filepath.Join(dir, "own/one/two"))
	require.NoError(t, err)
	assert.Empty(t, left)
	for _, name := range []string{"file", "file/below"} {
		assert.ErrorIs(t, MakeDir(filepath.Join(dir, name)), syscall.ENOTDIR, name)
	}
	t.Chdir(dir)
	require.NoError(t, MakeDir("relative/one"))
	assert.DirExists(t, "relative/one")
}
