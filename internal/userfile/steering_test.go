package userfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel/kerneltest"
)

// TestSteering has every place where others could put what root follows.
func TestSteering(t *testing.T) {
	kerneltest.NeedRoot(t, "to give files to others")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, mode fs.FileMode, uid int) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		require.NoError(t, os.WriteFile(at(name), []byte(name), 0o600))
		require.NoError(t, os.Chmod(at(name), mode))
		require.NoError(t, os.Chown(at(name), uid, -1))
	}
	link := func(to, name string, uid int) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
		require.NoError(t, os.Symlink(to, at(name)))
		require.NoError(t, os.Lchown(at(name), uid, -1))
	}
	for _, name := range []string{"own/file", "open/file", "group/file", "foreign/file", "foreign/deep/file", "sticky/file"} {
		put(name, 0o644, 0)
	}
	put("own/open", 0o666, 0)
	put("own/group", 0o664, 0)
	put("own/foreign", 0o600, 1234)
	put("sticky/foreign", 0o644, 1234)
	require.NoError(t, os.Chmod(at("open"), 0o777))
	require.NoError(t, os.Chmod(at("group"), 0o775))
	require.NoError(t, os.Chmod(at("sticky"), 0o777|fs.ModeSticky))
	require.NoError(t, os.Chown(at("foreign"), 1234, -1))
	link("../own/file", "own/link", 0)
	link("../open/file", "own/away", 0)
	link(at("foreign"), "own/dir", 0)
	link("../own/file", "foreign/link", 0)
	link(at("own/file"), "sticky/link", 1234)
	link("loop", "own/loop", 0)

	for name, want := range map[string]string{
		"own/file": "", "own/link": "", "sticky/file": "", "own/../own/./file": "",
		"own/open":          "others may write to " + at("own/open") + " (mode 0666)",
		"own/group":         "others may write to " + at("own/group") + " (mode 0664)",
		"own/foreign":       at("own/foreign") + " belongs to user 1234",
		"open/file":         "others may write to " + at("open") + " (mode 0777)",
		"group/file":        "others may write to " + at("group") + " (mode 0775)",
		"foreign/file":      at("foreign") + " belongs to user 1234",
		"foreign/deep/file": at("foreign") + " belongs to user 1234",
		"own/away":          "others may write to " + at("open") + " (mode 0777)",
		"own/dir/file":      at("foreign") + " belongs to user 1234",
		"foreign/link":      at("foreign") + " belongs to user 1234",
		"own/../open/file":  "others may write to " + at("open"),
		"sticky/foreign":    at("sticky/foreign") + " belongs to user 1234",
		"sticky/link":       at("sticky/link") + " belongs to user 1234",
	} {
		text, untrusted, err := Steering(at(name), 100)
		require.NoError(t, err, name)
		assert.NotEmpty(t, text, name)
		if want == "" {
			assert.NoError(t, untrusted, name)
		} else {
			assert.ErrorContains(t, untrusted, want, name)
		}
	}
	for name, want := range map[string]string{"own": "is not a regular file", "own/none": "no such file", "own/file/x": "not a directory",
		"own/loop": "symbolic links in a circle"} {
		_, _, err := Steering(at(name), 100)
		assert.ErrorContains(t, err, want, name)
		assert.ErrorContains(t, err, at(name))
	}
	_, _, err := Steering(at("own/file"), 3)
	assert.EqualError(t, err, at("own/file")+" is larger than 3 bytes")
	t.Chdir(at("open"))
	_, untrusted, err := Steering("file", 100)
	require.NoError(t, err)
	assert.ErrorContains(t, untrusted, "others may write to "+at("open"), "a relative path")
}

// TestSteeringOfAPipe is <(command) of a shell.
func TestSteeringOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	_, err = w.WriteString("text")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} { // the second finds it empty
		assert.True(t, OwnPipe(dir+strconv.Itoa(int(r.Fd()))))
		text, untrusted, err := Steering(dir+strconv.Itoa(int(r.Fd())), 4)
		require.NoError(t, err)
		require.NoError(t, untrusted)
		assert.Equal(t, map[string]string{"/dev/fd/": "text"}[dir], string(text))
	}
	for _, path := range []string{"/dev/fd/0", "/dev/null", "file"} {
		assert.False(t, OwnPipe(path), path)
	}
}

func TestConfigDir(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "open"), 0o700))
	require.NoError(t, syscall.Chmod(filepath.Join(dir, "open"), 0o777))
	for _, tt := range []struct {
		config, home string
		euid         int
		want         string
		trusted      bool
	}{
		{"/c", "/home/b", 1000, "/c/piton", true},
		{"relative", "/home/b", 1000, "/home/b/.config/piton", true},
		{"", "", 1000, "", true},
		{"", dir + "/open", 1000, dir + "/open/.config/piton", true},
		{"", dir + "/open", 0, dir + "/open/.config/piton", false},
		{dir + "/open/new", "/root", 0, dir + "/open/new/piton", false},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": tt.config, "HOME": tt.home}
		got, untrusted := ConfigDir(func(key string) string { return env[key] }, tt.euid)
		assert.Equal(t, tt.want, got)
		assert.Equal(t, tt.trusted, untrusted == nil, "%+v: %v", tt, untrusted)
	}
}
