package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDemoLeavesNothing opens the screen on a made-up machine and closes it.
func TestDemoLeavesNothing(t *testing.T) {
	term := openTerminal(t, 120, 40)
	dir := filepath.Join(filepath.Dir(term.socket), "tmp")
	require.NoError(t, os.Mkdir(dir, 0o700))
	term.run("TMPDIR=" + dir + " piton demo 64; echo ended $?")
	term.wait(`^ demo .* tasks [1-9]`)
	term.wait(`bouncer`)
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, made, 1, "its files are below the temporary directory")
	term.keys("F10")
	term.wait(`^ended 0$`)
	made, err = os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, made)
}
