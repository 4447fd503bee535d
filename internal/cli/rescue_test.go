package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/guard"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// rescue runs piton rescue as a process of its own: it takes the highest priority.
func (h *home) rescue(args ...string) result {
	h.t.Helper()
	var out, errs bytes.Buffer
	cmd := h.program(append([]string{"rescue", "-d", "50ms"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		require.NoError(h.t, err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestRescue(t *testing.T) {
	needRights(t)
	h, pid, ordinary := newHome(t), sleeper(t), sleeper(t)
	require.NoError(t, sched.SetPolicy(pid, kernel.FIFO, 3, false))

	r := h.rescue("--list", "-o", "json")
	require.Zero(t, r.code, r.err)
	sum := ofType(jsonLines(t, r.out), "rescue")
	require.Len(t, sum, 1)
	assert.GreaterOrEqual(t, sum[0]["asleep"], 1.0)
	assert.NotEmpty(t, sum[0]["throttling"])
	assert.Contains(t, h.rescue().out, "asleep", "without a terminal it asks nothing")
	assert.Equal(t, exit.Usage, h.rescue("1").code)
	assert.Equal(t, exit.Usage, h.rescue("--list", "--demote", "all").code)
	assert.Equal(t, exit.Usage, h.rescue("--demote", "some").code)
	r = h.rescue("--demote", fmt.Sprint(ordinary))
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "no real-time task")

	r = h.rescue("--demote", fmt.Sprint(ordinary, ",some"))
	assert.Equal(t, exit.Usage, r.code)
	assert.Equal(t, kernel.FIFO, policyOf(t, pid))

	r = h.rescue("--demote", fmt.Sprint(ordinary), fmt.Sprint(pid), "-o", "json")
	require.Equal(t, exit.Some, r.code, r.err)
	assert.Contains(t, r.err, fmt.Sprintf("%d is no real-time task", ordinary))
	changes := ofType(jsonLines(t, r.out), "change")
	require.Len(t, changes, 1)
	assert.Equal(t, "FIFO:3", changes[0]["before"])
	assert.Equal(t, "done", changes[0]["status"])
	sum = ofType(jsonLines(t, r.out), "summary")
	assert.EqualValues(t, 1, sum[0]["journal"])
	assert.EqualValues(t, exit.Some, sum[0]["exit_code"])
	assert.Equal(t, kernel.Other, policyOf(t, pid))

	require.Zero(t, h.run("undo").code)
	assert.Equal(t, kernel.FIFO, policyOf(t, pid))
	r = h.rescue("--demote", fmt.Sprint(pid))
	require.Zero(t, r.code, r.err)
	assert.Equal(t, kernel.Other, policyOf(t, pid))
}

// TestRescueOvertakes sees that the threads of piton rescue queue behind no task of
// the highest real-time priority.
func TestRescueOvertakes(t *testing.T) {
	refused := make(chan error)
	go func() { refused <- guard.AboveAll() }() // its thread ends with it
	if err := <-refused; err != nil {
		t.Skip("this process may not be DEADLINE here: ", err)
	}
	var errs bytes.Buffer
	cmd := newHome(t).program("rescue", "--list", "-d", "1m")
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	eventually(t, "its threads are DEADLINE", func() bool {
		tids, err := procfs.New("/").Threads(kernel.TID(cmd.Process.Pid))
		require.NoError(t, err)
		above := 0
		for _, tid := range tids {
			if attr, err := sched.Attr(tid); err == nil && attr.Policy == kernel.Deadline {
				above++
			}
		}
		return above >= 3 // two at least that the Go runtime starts by itself; later ones are ordinary
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	assert.NotContains(t, errs.String(), "less sure")
}

func policyOf(t *testing.T, pid kernel.TID) kernel.Policy {
	t.Helper()
	attr, err := sched.Attr(pid)
	require.NoError(t, err)
	return attr.Policy
}

// TestVMRescue lets spinners have every CPU, and piton rescue take them back.
func TestVMRescue(t *testing.T) {
	shape := needGuardVM(t)
	h := newHome(t)
	var pids []kernel.TID
	for cpu := range shape.cpus {
		for range 2 { // one of each two has nothing but the wish to run
			pid := child(t, "sh", "-c", "while :; do :; done")
			require.NoError(t, sched.SetAffinity(pid, cpuset.Of(cpuset.CPU(cpu))))
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids { // a shell that is still being started sleeps now and then
		eventually(t, "it spins", func() bool {
			st, err := procfs.New("/").Stat(pid)
			return err == nil && st.UserTicks >= 5
		})
	}
	run := h.startHeld("rescue", "-d", "50ms", "--demote", "all", "-o", "json")
	line := startLifeline(t, run.cmd.Process.Pid, pids)
	require.NoError(t, kernel.OnThread(func() error { // which they do not keep from making all of them real-time
		err := sched.Own.SetPolicy(0, kernel.FIFO, 99, false)
		for _, pid := range pids {
			err = errors.Join(err, sched.SetPolicy(pid, kernel.FIFO, 99, false))
		}
		return errors.Join(err, sched.Own.SetPolicy(0, kernel.Other, 0, false)) // or its end is one of the real-time tasks
	}))
	r := run.release()
	if !line.judged(t) {
		return
	}
	require.Zero(t, r.code, r.err)
	for _, pid := range pids {
		assert.Equal(t, kernel.Other, policyOf(t, pid))
		_ = syscall.Kill(int(pid), syscall.SIGKILL)
	}
	tasks := ofType(jsonLines(t, r.out), "rt_task")
	assert.GreaterOrEqual(t, len(tasks), len(pids))
	assert.GreaterOrEqual(t, tasks[0]["cpu_percent"], 25.0, "the first eats most")
	assert.Contains(t, h.run("journal").out, "→ OTHER", "the spinners, and the lifeline")
}
