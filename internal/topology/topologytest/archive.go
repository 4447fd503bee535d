package topologytest

import (
	"archive/tar"
	"compress/bzip2"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Archives are the trees of other people's machines beside the repository; none where that
// folder is not there.
func Archives(t testing.TB) []string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(hosts(t), "../../../shared/topologies/*.tar.bz2"))
	require.NoError(t, err)
	return archives
}

// Extract returns the top directory of a .tar.bz2, unpacked.
func Extract(t testing.TB, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	dir, top := TempDir(t), ""
	made := map[string]bool{}
	for r := tar.NewReader(bzip2.NewReader(f)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, top)
		}
		require.NoError(t, err)
		top, _, _ = strings.Cut(strings.TrimPrefix(h.Name, "./"), "/")
		require.True(t, filepath.IsLocal(h.Name), h.Name)
		path := filepath.Join(dir, h.Name)
		if parent := filepath.Dir(path); !made[parent] {
			require.NoError(t, os.MkdirAll(parent, 0o755))
			made[parent] = true
		}
		switch h.Typeflag {
		case tar.TypeReg:
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o644))
		case tar.TypeSymlink:
			require.NoError(t, os.Symlink(h.Linkname, path))
		case tar.TypeDir:
			require.NoError(t, os.MkdirAll(path, 0o755))
		}
	}
}
