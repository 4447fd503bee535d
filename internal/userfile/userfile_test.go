package userfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	assert.EqualError(t, Replace(filepath.Join(dir, "folder"), nil, 0o644), "file exists")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "no file is left beside")
}
