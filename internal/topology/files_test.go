package topology_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

func TestFilesThatAreNone(t *testing.T) {
	root := topologytest.Host(t, "2c")
	want, err := topology.Read(root)
	require.NoError(t, err)
	for _, path := range []string{"proc/meminfo", "proc/self/cpuset", "proc/mounts", "sys/devices/system/cpu/isolated"} {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		_ = os.Remove(path)
		require.NoError(t, syscall.Mkfifo(path, 0o644))
	}
	got, err := topology.Read(root)
	require.NoError(t, err)
	assert.Equal(t, want.Online, got.Online)
}
