package userfile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel/kerneltest"
)

func TestStateDir(t *testing.T) {
	for _, tt := range []struct {
		state, home string
		euid        int
		want        string
	}{
		{"/s", "/home/b", 1000, "/s/piton"},
		{"/s", "/root", 0, "/s/piton"},
		{"", "/root", 0, "/var/lib/piton"},
		{"relative", "/root", 0, "/var/lib/piton"},
		{"relative", "/home/b", 1000, "/home/b/.local/state/piton"},
		{"", "", 1000, ""},
		{"", "", 0, "/var/lib/piton"},
	} {
		env := map[string]string{"XDG_STATE_HOME": tt.state, "HOME": tt.home}
		assert.Equal(t, tt.want, StateDir(func(key string) string { return env[key] }, tt.euid), "%+v", tt)
	}
}

// TestRootFollowsNobody is sudo -E, which keeps the XDG_STATE_HOME of its user.
func TestRootFollowsNobody(t *testing.T) {
	kerneltest.NeedRoot(t, "to give directories to others")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"own/below", "foreign/roots", "open", "sticky"} {
		require.NoError(t, os.MkdirAll(at(name), 0o755))
	}
	require.NoError(t, os.Chmod(at("open"), 0o777))
	require.NoError(t, os.Chmod(at("sticky"), 0o777|fs.ModeSticky))
	require.NoError(t, os.Chown(at("foreign"), 1234, 1234))
	require.NoError(t, os.Symlink("foreign", at("own/away")))
	require.NoError(t, os.Symlink(at("own"), at("foreign/link")))
	require.NoError(t, os.WriteFile(at("file"), nil, 0o600))
	for name, followed := range map[string]bool{
		"own": true, "own/below": true, "own/new/state": true, "sticky": true, "foreign": false, "foreign/new": false,
		"foreign/roots": false, "open": false, "open/new": false, "own/away": false, "foreign/link": false, "file/x": false,
	} {
		env := map[string]string{"XDG_STATE_HOME": at(name)}
		want := "/var/lib/piton"
		if followed {
			want = at(name) + "/piton"
		}
		assert.Equal(t, want, StateDir(func(key string) string { return env[key] }, 0), name)
	}
}

func TestOpenStateCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "piton", "journal")
	_, err := OpenState(path, os.O_RDONLY)
	require.ErrorIs(t, err, fs.ErrNotExist)
	f, err := OpenState(path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	require.NoError(t, err)
	_, err = f.WriteString("line\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for name, mode := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), name)
	}
	f, err = OpenState(path, os.O_RDWR|os.O_TRUNC)
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.Empty(t, text)
	require.NoError(t, f.Close())
}

// TestOpenStateRefuses has everything that another user could put in the way; each
// must stay as it is.
func TestOpenStateRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		put        func(t *testing.T, dir, file string) // dir is not there yet
	}{
		{"a link", "it is a symbolic link", func(t *testing.T, dir, file string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Symlink("../other", file))
		}},
		{"a linked directory", "it is a symbolic link", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Mkdir(dir+".real", 0o700))
			require.NoError(t, os.Symlink("piton.real", dir))
		}},
		{"a link to a device", "it is a symbolic link", func(t *testing.T, dir, file string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Symlink("/dev/full", file))
		}},
		{"a FIFO", "not a regular file", func(t *testing.T, dir, file string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, syscall.Mkfifo(file, 0o600))
		}},
		{"a directory", "is a directory", func(t *testing.T, _, file string) { require.NoError(t, os.MkdirAll(file, 0o700)) }},
		{"a file of all", "others may write to it (mode 0666)", func(t *testing.T, dir, file string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			require.NoError(t, os.Chmod(file, 0o666))
		}},
		{"a directory of a group", "others may write to it (mode 0770)", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chmod(dir, 0o770))
		}},
		{"another's file", "belongs to user 1234, and piton runs as user 0", func(t *testing.T, dir, file string) {
			needRoot(t)
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			require.NoError(t, os.Chown(file, 1234, 1234))
		}},
		{"another's directory", "belongs to user 1234, and piton runs as user 0", func(t *testing.T, dir, _ string) {
			needRoot(t)
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chown(dir, 1234, 1234))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			other := filepath.Join(home, "other")
			require.NoError(t, os.WriteFile(other, []byte("theirs"), 0o600))
			dir, file := filepath.Join(home, "piton"), filepath.Join(home, "piton", "journal")
			tt.put(t, dir, file)
			_, err := OpenState(file, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
			require.ErrorContains(t, err, tt.want)
			err = ReplaceState(file, Synced, func(w io.Writer) error { _, err := io.WriteString(w, "ours"); return err })
			require.Error(t, err)
			text, err := os.ReadFile(other)
			require.NoError(t, err)
			assert.Equal(t, "theirs", string(text))
			left, err := filepath.Glob(filepath.Join(home, "piton*", "*"))
			require.NoError(t, err)
			assert.LessOrEqual(t, len(left), 1, "nothing was created: %v", left)
		})
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	kerneltest.NeedRoot(t, "to give files to others")
}

func TestOpenStateStaysOutOfOthers(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := OpenState("/proc/self/cwd/piton/journal", os.O_RDWR|os.O_CREATE)
	assert.ErrorIs(t, err, errLinks)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestReplaceState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "piton", "config.json")
	for _, want := range []string{"one", "two"} {
		require.NoError(t, ReplaceState(path, Synced, func(w io.Writer) error { _, err := io.WriteString(w, want); return err }))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file stays")
}
