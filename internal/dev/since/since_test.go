package since

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPaths(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=tester", "-c", "user.email=", "-c", "core.hooksPath="}, args...)...)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip(err)
		}
		require.NoError(t, err, "git %v: %s", args, out)
		return strings.TrimSpace(string(out))
	}
	file := func(name, text string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	git("init", "-q")
	for _, name := range []string{"same", "edited", "moved", "committed"} {
		file(name, name)
	}
	git("add", ".")
	git("commit", "-qm", "first")
	first := git("rev-parse", "HEAD")
	_, err := LastFull(root)
	assert.ErrorIs(t, err, os.ErrNotExist)
	for _, text := range []string{"", "never\n", "--help\n", strings.Repeat("0", 40) + "\n"} {
		file(".ci/full", text)
		commit, err := LastFull(root)
		if err == nil {
			_, err = Paths(root, commit)
		}
		assert.Error(t, err, "%q", text)
	}
	file(".ci/full", first+" 2026-11-27\nmore\n")
	file("committed", "changed")
	git("commit", "-qam", "second")
	file("edited", "changed")
	git("mv", "moved", "away")
	file("new", "")
	commit, err := LastFull(root)
	require.NoError(t, err)
	assert.Equal(t, first, commit)
	differ, err := Paths(root, commit)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{".ci/full", "committed", "edited", "moved", "away", "new"}, differ)
	_, err = paths(root, commit, 1)
	assert.ErrorContains(t, err, "1 commits old")
}
