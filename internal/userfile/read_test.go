package userfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("file"), []byte("text"), 0o600))
	require.NoError(t, os.Symlink("file", at("link")))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	for _, name := range []string{"file", "link"} {
		text, err := Read(at(name), 4)
		require.NoError(t, err)
		assert.Equal(t, "text", string(text))
	}
	_, err := Read(at("file"), 3)
	assert.EqualError(t, err, at("file")+" is larger than 3 bytes")
	_, err = Read(at("none"), 4)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	for path, want := range map[string]string{
		dir: " is not a regular file", at("fifo"): " is not a regular file", "/dev/zero": " is not a regular file",
		"/dev/full": " is not a regular file", at("loop"): "symbolic links", "/proc/self/fd/0": "symbolic links",
		"/proc/self/cwd/file": "symbolic links", "/dev/tty": "",
	} {
		_, err := Read(path, 1<<20)
		assert.ErrorContains(t, err, want, path)
		assert.ErrorContains(t, err, path)
	}
}

// TestReadIsBounded reads a file that says it is regular and has no end.
func TestReadIsBounded(t *testing.T) {
	_, err := ReadAll(endless{}, "standard input", 16<<20)
	assert.EqualError(t, err, "standard input is larger than 16 MiB")
	text, err := ReadAll(strings.NewReader("text"), "standard input", 4)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
