package topologytest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Host unpacks the host tree testdata/hosts/SHAPE into a temporary directory
// and returns it: a root with proc and sys, to give to topology.Read and the
// like. The shapes are the folders there.
func Host(t testing.TB, shape string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(hosts(t), shape, "*.tree"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no host tree called %s", shape)
	root := TempDir(t)
	for _, f := range files {
		packed, err := os.ReadFile(f)
		require.NoError(t, err)
		require.NoError(t, Unpack(packed, root), "unpack %s", f)
	}
	return root
}

// Shapes lists the host trees there are.
func Shapes(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(hosts(t))
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TempDir is t.TempDir, but in memory where there is /dev/shm: a tree of
// 512 CPUs is thousands of files, which take seconds to create on a disk.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "piton-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// hosts is testdata/hosts at the top of the module, from any package's tests.
func hosts(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "testdata", "hosts")
		}
		parent := filepath.Dir(dir)
		require.NotEqual(t, dir, parent, "no go.mod above the test")
		dir = parent
	}
}
