package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// write writes a file of the kernel, which may be busy for a moment: EBUSY was seen of CPUs that
// go offline, and of sched_rt_runtime_us.
func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.WriteFile(path, []byte(text), 0o644)
	for end := time.Now().Add(patience()); errors.Is(err, syscall.EBUSY) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	require.NoError(t, err)
}

// limited makes a control group that is limited to CPUs, version 2, and puts a
// process in it.
func limited(t *testing.T, name string, cpus cpuset.Set, pid kernel.TID) string {
	t.Helper()
	const root = "/sys/fs/cgroup"
	write(t, root+"/cgroup.subtree_control", "+cpuset")
	dir := filepath.Join(root, name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		_ = os.WriteFile(root+"/cgroup.procs", fmt.Append(nil, pid), 0)
		_ = os.Remove(dir)
	})
	write(t, dir+"/cpuset.cpus", cpus.String())
	write(t, dir+"/cgroup.procs", fmt.Sprint(pid))
	return dir
}

// TestVMIsolateCpusets isolates the CPUs of a control group, and of one that has
// one more.
func TestVMIsolateCpusets(t *testing.T) {
	s := needSmallVM(t)
	cpus := s.lastNode()
	h, narrow, wide := newHome(t), sleeper(t), sleeper(t)
	limited(t, "narrow", cpus, narrow)
	limited(t, "wide", cpus.Or(cpuset.Of(1)), wide)
	require.NoError(t, sched.SetAffinity(wide, cpuset.Of(cpus.Last())))
	before := everyMask(t)

	r := h.run("isolate", cpus.String(), "--yes", "-o", "json")
	require.Zero(t, r.code, r.err)
	var why any
	for _, u := range ofType(jsonLines(t, r.out), "unmovable") {
		if u["tid"] == float64(narrow) && u["when"] == "after" {
			why = u["why"]
		}
	}
	assert.Equal(t, fmt.Sprintf("its cgroup /narrow allows only CPUs %s", cpus), why)
	assert.Equal(t, cpus.String(), affinityOf(t, narrow))
	assert.Equal(t, "1", affinityOf(t, wide), "where its group lets it")

	require.Zero(t, h.run("include", cpus.String()).code)
	assert.Empty(t, unlike(before, everyMask(t)))

	r = h.run("move", "0", "-t", fmt.Sprint(narrow))
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "its cgroup /narrow allows only")
	r = h.run("move", "0-1", "-t", fmt.Sprint(wide), "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, ofType(jsonLines(t, r.out), "change")[0]["reason"], "cgroup /wide allows only")
	assert.Equal(t, "1", affinityOf(t, wide))
}

// TestVMIsolateHotplug takes a CPU offline while it is isolated and while a task is
// pinned to it.
func TestVMIsolateHotplug(t *testing.T) {
	s := needSmallVM(t)
	h, pinned, free := newHome(t), sleeper(t), sleeper(t)
	last := cpuset.CPU(s.cpus - 1)
	online := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", last)
	t.Cleanup(func() { _ = os.WriteFile(online, []byte("1"), 0) })
	before := everyMask(t)
	for what := range before { // a driver lays out its queues anew when CPUs come and go
		if strings.HasPrefix(what, "/proc/irq/") {
			delete(before, what)
		}
	}
	require.Zero(t, h.run("move", fmt.Sprint(last), "-t", fmt.Sprint(pinned)).code)

	write(t, online, "0") // the kernel lets the task run elsewhere, or it would never run
	assert.NotEqual(t, fmt.Sprint(last), affinityOf(t, pinned))
	r := h.run("move", fmt.Sprint(last), "-t", fmt.Sprint(free))
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "not online")
	r = h.run("isolate", fmt.Sprint(last), "--yes")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "not online")
	write(t, online, "1")
	r = h.run("undo", "--force")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, unlike(before, everyMask(t)), "pinned to a CPU that went and came")

	require.Zero(t, h.run("isolate", fmt.Sprintf("%d-%d", last-1, last), "--yes").code)
	write(t, online, "0")
	r = h.run("include", fmt.Sprint(last-1), "-o", "json")
	require.Zero(t, r.code, r.err)
	var told []map[string]any
	for _, c := range ofType(jsonLines(t, r.out), "change") {
		if c["tid"] == float64(free) {
			told = append(told, c)
		}
	}
	assert.Equal(t, fmt.Sprintf("0-%d", last-1), affinityOf(t, free), "%v", told)
	write(t, online, "1")
	assert.Equal(t, fmt.Sprintf("0-%d", last-1), affinityOf(t, free), "%v", told)
	r = h.run("include", fmt.Sprint(last))
	require.Zero(t, r.code, r.err)
	assert.Empty(t, unlike(before, everyMask(t)), "isolated, gone, and included")
}

// TestVMIsolateVerify puts a task on a CPU that is set apart and watched.
func TestVMIsolateVerify(t *testing.T) {
	s := needSmallVM(t)
	h, pid := newHome(t), spinner(t)
	last := cpuset.CPU(s.cpus - 1)
	cmd := h.program("isolate", fmt.Sprint(last), "--yes", "--verify", "3s", "-o", "json")
	var out, errs strings.Builder
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for said := bufio.NewScanner(stderr); said.Scan(); {
		fmt.Fprintln(&errs, said.Text())
		if strings.Contains(said.Text(), "watching CPUs") { // all has been moved and read back
			mask, err := sched.Affinity(pid)
			require.NoError(t, err)
			require.False(t, mask.Has(last), "it has left the CPU")
			require.NoError(t, sched.SetAffinity(pid, cpuset.Of(last)))
		}
	}
	require.NoError(t, cmd.Wait(), errs.String())
	lines := jsonLines(t, out.String())
	verified := ofType(lines, "verified")
	require.Len(t, verified, 1)
	assert.GreaterOrEqual(t, verified[0]["span_s"], 2.5)
	found := false
	for _, stay := range ofType(lines, "stay") {
		assert.EqualValues(t, last, stay["cpu"])
		assert.NotEmpty(t, stay["kind"])
		if stay["tid"] == float64(pid) {
			found = true
			assert.Greater(t, stay["share"], 0.0)
			assert.Greater(t, stay["longest_ns"], 0.0)
			assert.Equal(t, "it is pinned there", stay["why"])
		}
	}
	assert.True(t, found, out.String())
	require.Zero(t, h.run("undo", "--all", "--force").code)
}
