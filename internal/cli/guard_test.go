package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

func niceOf(t *testing.T, pid kernel.TID) int {
	t.Helper()
	n, err := sched.Nice(pid)
	require.NoError(t, err)
	return n
}

// levelOf is that of the I/O priority, which every user may both raise and lower again.
func levelOf(t *testing.T, pid kernel.TID) int {
	t.Helper()
	p, err := sched.IOPrio(pid)
	require.NoError(t, err)
	return int(p.Level)
}

// guardOf returns the PID of the one guard of a home, as piton keep lists it.
func (h *home) guardOf() kernel.TID {
	h.t.Helper()
	r := h.run("keep", "-o", "json")
	require.Zero(h.t, r.code, r.err)
	guards := ofType(jsonLines(h.t, r.out), "guard")
	require.Len(h.t, guards, 1)
	return kernel.TID(guards[0]["guard_pid"].(float64))
}

// gone waits for the end of a guard, which may be a child of this process.
func gone(t *testing.T, pid kernel.TID) {
	t.Helper()
	eventually(t, "it ends", func() bool {
		st, err := procfs.New("/").Stat(pid)
		return err != nil || st.State == 'Z'
	})
}

// TestRevertAfterOutlivesPiton kills piton as soon as it has made its changes.
func TestRevertAfterOutlivesPiton(t *testing.T) {
	t.Parallel()
	h, pid, cpu := newHome(t), sleeper(t), oneCPU(t)
	before, level := affinityOf(t, pid), levelOf(t, pid)
	cmd := h.program("--headless", "--pid", fmt.Sprint(pid), "--ioprio", "best-effort:5", "--pin", fmt.Sprint(cpu), "--revert-after", "1s")
	require.NoError(t, cmd.Start())
	eventually(t, "it has made its changes", func() bool {
		made := ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry")
		return len(made) > 0 && made[0]["finished"] == true
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "it is reverted", func() bool { return levelOf(t, pid) == level && affinityOf(t, pid) == before })
	eventually(t, "it is recorded", func() bool { return strings.Contains(h.run("journal").out, "undone by guard") })
}

func TestRevertAfterAndKeep(t *testing.T) {
	t.Parallel()
	h, pid := newHome(t), sleeper(t)
	r := h.run("ionice", fmt.Sprint(pid), "best-effort:5", "--revert-after", "1h", "-o", "json")
	require.Zero(t, r.code, r.err)
	told := ofType(jsonLines(t, r.out), "guard")
	require.Len(t, told, 1)
	assert.EqualValues(t, 1, told[0]["entry"])
	assert.EqualValues(t, 3600, told[0]["revert_after_s"])
	assert.Equal(t, "piton keep 1", told[0]["confirm"])
	guard := h.guardOf()
	assert.EqualValues(t, told[0]["guard_pid"], guard)
	r = h.run("keep")
	assert.Contains(t, r.out, "waiting")
	assert.Contains(t, r.out, "piton ionice")
	assert.Equal(t, exit.Usage, h.run("keep", "one").code)

	r = h.run("keep", "1")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "entry 1 stays")
	gone(t, guard)
	assert.Equal(t, 5, levelOf(t, pid))
	r = h.run("keep", "1")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "entry 1: no guard is known: it was confirmed, or made without --revert-after, or")
	assert.Equal(t, exit.Failed, h.run("keep", "9").code)

	r = h.run("ionice", fmt.Sprint(pid), "best-effort:6", "--revert-after", "1h")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "entry 2 is reverted in 1h0m0s unless you confirm it: piton keep 2")
	guard = h.guardOf()
	r = h.run("ionice", fmt.Sprint(pid), "best-effort:7", "--revert-after", "1h")
	require.Zero(t, r.code, r.err)
	r = h.run("keep", "3", "1", "3")
	assert.Equal(t, exit.Some, r.code)
	assert.Equal(t, "entry 3 stays; piton undo 3 undoes it\n", r.out)
	assert.Equal(t, 1, strings.Count(r.err, "entry"), r.err)
	assert.Equal(t, exit.Failed, h.run("keep", "1", "3").code, "none was kept")
	r = h.run("keep", "--all", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "kept", jsonLines(t, r.out)[0]["state"])
	gone(t, guard)
}

func TestUndoEndsTheGuard(t *testing.T) {
	t.Parallel()
	h, pid := newHome(t), sleeper(t)
	before := levelOf(t, pid)
	require.Zero(t, h.run("ionice", fmt.Sprint(pid), "best-effort:5", "--revert-after", "1h").code)
	guard := h.guardOf()
	r := h.run("undo")
	require.Zero(t, r.code, r.err)
	gone(t, guard)
	assert.Equal(t, before, levelOf(t, pid))
	r = h.run("keep", "1")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "reverted or undone already")
	assert.Empty(t, ofType(jsonLines(t, h.run("keep", "-o", "json").out), "guard"))
}

// TestUndoLeavesTheGuardOfWhatItLeft undoes a change of two, one of which somebody
// else has changed since.
func TestUndoLeavesTheGuardOfWhatItLeft(t *testing.T) {
	t.Parallel()
	h, pid, other := newHome(t), sleeper(t), sleeper(t)
	before := levelOf(t, pid)
	require.Zero(t, h.run("ionice", fmt.Sprint(pid), fmt.Sprint(other), "best-effort:5", "--revert-after", "1h").code)
	guard := h.guardOf()
	require.NoError(t, sched.SetIOPrio(other, kernel.IOPrio{Class: kernel.IOBestEffort, Level: 7}))
	r := h.run("undo")
	assert.Equal(t, exit.Some, r.code, r.err)
	assert.Equal(t, before, levelOf(t, pid))
	assert.Equal(t, guard, h.guardOf())
	require.Zero(t, h.run("undo", "--force", "1").code)
	gone(t, guard)
	assert.Equal(t, before, levelOf(t, other))
}

func TestRevertAfterUsage(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	for _, args := range [][]string{
		{"ionice", fmt.Sprint(pid), "best-effort:5", "--revert-after", "1ms"},
		{"ionice", fmt.Sprint(pid), "best-effort:5", "--revert-after", "soon"},
		{"--headless", "--revert-after", "1s"},
		{"--revert-after", "1s"},
		{"keep", "--all", "1"},
	} {
		r := h.run(args...)
		assert.Equal(t, exit.Usage, r.code, "%v: %s", args, r.err)
	}
	require.Zero(t, h.run("ionice", fmt.Sprint(pid), "best-effort:5").code)
	r := h.run("undo", "--revert-after", "1s")
	assert.Equal(t, exit.Usage, r.code, r.err)
	assert.Equal(t, 5, levelOf(t, pid))
	assert.Equal(t, exit.Failed, h.run("keep", "1").code, "it never had a guard")
}

// TestDangerNeedsAnAnswer asks for FIFO on a busy task, and changes nothing.
func TestDangerNeedsAnAnswer(t *testing.T) {
	needRights(t)
	h, pid := newHome(t), spinner(t)
	eventually(t, "it is busy", func() bool {
		r := h.run("policy", fmt.Sprint(pid), "fifo:1", "--dry-run", "-o", "json")
		var last map[string]any
		lines := strings.Split(strings.TrimSpace(r.out), "\n")
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
		return len(last["warnings"].([]any)) > 0
	})
	r := h.run("policy", fmt.Sprint(pid), "fifo:1")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "--revert-after")
	attr, err := sched.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Other, attr.Policy)
}
