package facts

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why"
)

// TestATargetThatEnds has its threads as they were, and what it used until it was last looked at.
func TestATargetThatEnds(t *testing.T) {
	cmd := exec.Command("sleep", "3600")
	require.NoError(t, cmd.Start())
	r, err := Open(procfs.New("/"), watch.Targets{IDs: []kernel.TID{kernel.TID(cmd.Process.Pid)}})
	require.NoError(t, err)
	left, err := r.Look()
	require.NoError(t, err)
	assert.True(t, left)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // the error is of the signal
	left, err = r.Look()
	require.NoError(t, err)
	assert.False(t, left)
	o := r.Observe()
	assert.Equal(t, 1, o.Threads)
	g := r.Target(&o)
	require.Len(t, g.Threads, 1)
	assert.False(t, g.Threads[0].Allowed.Empty())
	assert.False(t, g.Threads[0].Cpuset.Empty())
}

// TestSumsAreTheKernels compares with the kernel's own figures of a process that spins.
func TestSumsAreTheKernels(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := kernel.TID(cmd.Process.Pid)
	fs := procfs.New("/")
	before, err := fs.Schedstat(pid, 0)
	if err != nil {
		t.Skip("schedstat: ", err)
	}
	r, err := Open(fs, watch.Targets{IDs: []kernel.TID{pid}})
	require.NoError(t, err)
	for o := r.Observe(); o.Ran < 50*time.Millisecond; o = r.Observe() { // it runs sooner or later
		time.Sleep(10 * time.Millisecond)
		_, err = r.Look()
		require.NoError(t, err)
	}
	after, err := fs.Schedstat(pid, 0)
	require.NoError(t, err)
	o := r.Observe()
	assert.LessOrEqual(t, o.Ran, time.Duration(after.RunNs-before.RunNs))
	assert.LessOrEqual(t, o.Waited, time.Duration(after.RunDelayNs-before.RunDelayNs))
	o.By = []why.Waited{{By: why.By{Cause: why.Neighbour, Group: "/", PID: pid}}}
	g := r.Target(&o)
	require.Contains(t, g.Rivals, pid)
	assert.False(t, g.Rivals[pid].Bound)
	assert.False(t, g.Machine.Online.Empty())
	assert.NotEmpty(t, g.Machine.Rule)
}

func TestLeaders(t *testing.T) {
	parts := func(by ...why.By) (out []why.Waited) {
		for _, b := range by {
			out = append(out, why.Waited{By: b})
		}
		return out
	}
	sh := why.By{Cause: why.Neighbour, Group: "/a", Command: "sh", PID: 1}
	rt := why.By{Cause: why.RealTime, Command: "rt", PID: 3}
	again, other, rt2 := sh, sh, rt
	again.PID, other.Group, rt2.PID = 2, "/b", 4
	var pids []kernel.TID
	for _, by := range leaders(parts(sh, rt, again, other, rt2, rt)) {
		pids = append(pids, by.PID)
	}
	assert.Equal(t, []kernel.TID{1, 3, 1, 4}, pids)
}
