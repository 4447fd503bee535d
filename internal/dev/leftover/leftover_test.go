package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProcessesThatAreLeft(t *testing.T) {
	code, err := watch(nil, time.Minute, []string{"sh", "-c", "true & exit 3"})
	require.NoError(t, err, "all end")
	assert.Equal(t, 3, code)

	_, err = watch(nil, 0, []string{"sh", "-c", "sleep 60 & kill $$"})
	var pid int
	require.ErrorContains(t, err, ": sleep 60")
	_, err = fmt.Sscanf(err.Error(), "the command left\n  process %d", &pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

func TestFilesThatAreLeft(t *testing.T) {
	dir := t.TempDir()
	places := []string{filepath.Join(dir, "piton*")}
	file := filepath.Join(dir, "piton", "journal")
	before := files(places)
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	made := files(places)
	assert.Equal(t, []string{filepath.Dir(file), file}, differences(before, made))
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	assert.Equal(t, []string{file}, differences(made, files(places)))
	assert.Empty(t, differences(made, before))

	lock := filepath.Join(dir, "piton", "lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	made = files(places)
	require.NoError(t, os.WriteFile(lock, []byte("piton undo (5)"), 0o600))
	assert.Empty(t, differences(made, files(places)), "another piton took the lock")
}
