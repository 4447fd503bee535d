package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// TestProgramsOfAStranger is that what piton runs has none of its capabilities: a
// command, and programs that the user put where piton looks for others.
func TestProgramsOfAStranger(t *testing.T) {
	s := newStranger(t, advised(t)...)
	for _, name := range []string{"sudo", "perf", "tuna", "fake"} {
		script := "#!/bin/sh\ngrep -H '^Cap[PEA]' /proc/self/status >> " + s.home + "/caps\n"
		require.NoError(t, os.WriteFile(filepath.Join(s.home, name), []byte(script), 0o755))
	}
	path := []string{"PATH=" + s.home + ":" + os.Getenv("PATH")}
	for _, args := range [][]string{
		{"run", "--nice=-5", "--", "fake"},
		{"bench", "run", "--place", "normal", "--place", "fifo:3", "--runs", "1", "--", "fake"},
	} {
		out, code := s.run(t, path, args...)
		assert.Zero(t, code, "%s: %s", args, out)
	}
	caps := strings.Fields(read(t, filepath.Join(s.home, "caps")))
	require.NotEmpty(t, caps)
	for i := 1; i < len(caps); i += 2 {
		assert.Equal(t, "0000000000000000", caps[i], caps)
	}
}

// TestHostRootDropsAll is that no thread can raise anything while it reads a tree that
// somebody else may have made, and that a tree is not reached through another process.
func TestHostRootDropsAll(t *testing.T) {
	s := newStranger(t, advised(t)...)
	tree := hostTree(t, filepath.Join(s.home, "tree"), nil)
	cmd := s.command(t.Context(), nil, "--host-root", tree, "--headless", "-d", "100ms")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	for _, tid := range threads(t, kernel.TID(cmd.Process.Pid)) {
		status := read(t, fmt.Sprintf("/proc/%d/task/%d/status", cmd.Process.Pid, tid))
		assert.Contains(t, status, "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n")
	}
	text, code := s.run(t, nil, "--host-root", "/proc/self/root", "topo")
	assert.Equal(t, 2, code, text)
	assert.Contains(t, text, "leads through a link into a process's open files")
}

// TestStrangersBenchmarkEndsWithPiton is that a command ends when piton is killed,
// though the kernel forgets the parent-death signal with file capabilities.
func TestStrangersBenchmarkEndsWithPiton(t *testing.T) {
	s := newStranger(t, kernel.CapSysNice)
	cmd := s.command(t.Context(), nil, "bench", "run", "--place", "normal", "--runs", "1", "--", "sh", "-c", "echo $$ > pid; exec sleep 300")
	require.NoError(t, cmd.Start())
	child := 0
	assert.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(s.home, "pid"))
		child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && child > 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Positive(t, child)
	assert.Eventually(t, func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil || strings.Contains(string(text), ") Z ")
	}, time.Minute, 10*time.Millisecond, "sleep %d goes on", child)
}
