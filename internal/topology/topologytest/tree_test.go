package topologytest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnpack(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, Unpack([]byte("# a comment\n\na{0-1,7}/{x,y}: one line\nb/c:\n\tfirst\n\t\n\tthird: with a colon\nd: \n"), root))
	for path, want := range map[string]string{
		"a0/x": "one line\n", "a1/y": "one line\n", "a7/x": "one line\n",
		"b/c": "first\n\nthird: with a colon\n", "d": "\n",
	} {
		got, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), path)
	}
	assert.ErrorContains(t, Unpack([]byte("../x: 1"), root), "leads out of the tree")
	assert.Error(t, Unpack([]byte("d/e: 1"), root), "a file is in the way")
}
