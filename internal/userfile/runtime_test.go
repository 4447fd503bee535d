package userfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// TestRuntimeDir is also of a /run that belongs to another user, as for the root of a
// user namespace.
func TestRuntimeDir(t *testing.T) {
	was, own := Run, kernel.EUID()
	t.Cleanup(func() { Run = was })
	Run = filepath.Join(t.TempDir(), "run")
	assert.Equal(t, "/s/run", RuntimeDir(own, "/s"), "not there")
	require.NoError(t, os.MkdirAll(filepath.Join(Run, "user", "1234"), 0o755))
	assert.Equal(t, "/s/run", RuntimeDir(1234, "/s"), "another's")
	if own == 0 {
		assert.Equal(t, Run+"/piton", RuntimeDir(0, "/s"))
		needRoot(t)
		require.NoError(t, os.Chown(filepath.Join(Run, "user", "1234"), 1234, 1234))
		assert.Equal(t, Run+"/user/1234/piton", RuntimeDir(1234, "/s"))
		require.NoError(t, os.Chown(Run, 1234, 1234))
	}
	assert.Equal(t, "/s/run", RuntimeDir(0, "/s"), "of a root whose /run is another's")
}
