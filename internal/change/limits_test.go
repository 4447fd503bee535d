package change_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// mountFor is where cgroups of a controller are made: of version 1, or in a
// machine of our own of version 2; else it skips.
func mountFor(t *testing.T, controller string) string {
	t.Helper()
	mount := filepath.Join("/sys/fs/cgroup", controller)
	if _, err := os.Stat(filepath.Join(mount, "tasks")); err == nil {
		return mount
	}
	const unified = "/sys/fs/cgroup"
	if os.Getenv("PITON_VM_SHAPE") == "" {
		t.Skipf("no %s cgroups of version 1 here", controller)
	}
	if err := os.WriteFile(filepath.Join(unified, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
		t.Skipf("no %s cgroups here: %v", controller, err)
	}
	return unified
}

// cgroupFor makes a cgroup with a child process in it, or skips.
func cgroupFor(t *testing.T, controller string, files map[string]string) (pid kernel.TID, dir, path string) {
	t.Helper()
	needRoot(t)
	path = "/piton-test-" + strconv.Itoa(os.Getpid())
	dir = filepath.Join(mountFor(t, controller), path)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no cgroup can be made: %v", err)
	}
	pid, end := start(t, "idle")
	t.Cleanup(func() {
		end()
		assert.NoError(t, os.Remove(dir))
	})
	for name, value := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(int(pid))), 0o644))
	return pid, dir, path
}

func TestRealCpuset(t *testing.T) {
	mine, in, out := twoCPUs(t)
	pid, dir, path := cgroupFor(t, "cpuset", map[string]string{"cpuset.cpus": in.String(), "cpuset.mems": "0"})
	tuner := change.Local()
	want := fmt.Sprintf("its cgroup %s allows only CPU %s, and %s is outside; choose among those, or widen the group's cpuset.cpus", path, in, out)
	for _, c := range apply(t, tuner, pin(change.ScopeProcess, out, pid)).Changes {
		assert.Equal(t, attr.Failed, c.Status)
		assert.Equal(t, want, c.Reason)
	}
	assert.Equal(t, in, cpusOf(t, pid))

	c := single(t, tuner, pid, attr.SetAffinity(mine)) // partly outside: the kernel cuts without a word
	assert.Equal(t, []any{attr.Done, attr.Value(in)}, []any{c.Status, c.After})
	assert.Equal(t, fmt.Sprintf("%s is in force: cgroup %s allows only %s", in.InWords(), path, in.InWords()), c.Reason)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte(mine.String()), 0o644))
	assert.Equal(t, mine, cpusOf(t, pid), "and it comes back when the group widens")
}

func TestRealGroupWithoutRealTime(t *testing.T) {
	pid, dir, _ := cgroupFor(t, "cpu", nil)
	file := filepath.Join(dir, "cpu.rt_runtime_us")
	if data, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(data)) != "0" {
		t.Skip("this kernel has no CONFIG_RT_GROUP_SCHED")
	}
	c := single(t, change.Local(), pid, fifo)
	assert.Equal(t, attr.Failed, c.Status)
	assert.Contains(t, c.Reason, "its cpu cgroup has no real-time budget: "+file+" is 0")
	assert.NotErrorIs(t, c.Err, attr.ErrNotPermitted, "more rights would not help")
}

// unprivileged runs one of this file's tests again as nobody, against a child
// of nobody's and one of root's.
const unprivilegedVar = "PITON_CHANGE_TEST_NOBODY"

func TestRealWithoutRights(t *testing.T) {
	needRoot(t)
	kerneltest.NeedOpenTemp(t)
	others, _ := start(t, "idle")
	ordinary, err := kernel.System().Nice(others)
	require.NoError(t, err)
	if ordinary != 0 {
		t.Skip("has another nice value than 0, which nobody cannot set again")
	}
	binary := filepath.Join(t.TempDir(), "change.test")
	data, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, data, 0o755))
	for dir := filepath.Dir(binary); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755)) // so that nobody may enter
	}
	const nobody = 65534
	cmd := exec.Command(binary, "-test.run=^TestNobody$", "-test.v")
	cmd.Env = append(os.Environ(), unprivilegedVar+"="+strconv.Itoa(int(others)))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestNobody")
}

func TestNobody(t *testing.T) {
	number, err := strconv.Atoi(os.Getenv(unprivilegedVar))
	if err != nil {
		t.Skip("run by TestRealWithoutRights, as nobody")
	}
	others := kernel.TID(number)
	pid, _ := start(t, "idle")
	tuner := change.Local()
	policy := func(p kernel.Policy) attr.Setting { return attr.SetPolicy(attr.PolicyValue{Policy: p}) }
	mine := cpusOf(t, pid)

	assert.Equal(t, attr.Done, single(t, tuner, pid, policy(kernel.Batch)).Status, "one's own may be changed so far")
	assert.Equal(t, attr.Done, single(t, tuner, pid, attr.SetNice(15)).Status)
	for name, tt := range map[string]struct {
		change change.Change
		errno  syscall.Errno
		reason string
	}{
		"nice down":     {single(t, tuner, pid, attr.SetNice(0)), syscall.EACCES, "lowering nice from 15 to 0 needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 20, it is 0"},
		"real-time":     {single(t, tuner, pid, fifo), syscall.EPERM, "real-time policy FIFO:10 needs CAP_SYS_NICE (or a RLIMIT_RTPRIO of at least 10, it is 0"},
		"real-time I/O": {single(t, tuner, pid, attr.SetIOPrio(kernel.IOPrio{Class: kernel.IORealTime})), syscall.EPERM, "I/O priority real-time:0 needs CAP_SYS_NICE"},
		"another's CPU": {single(t, tuner, others, attr.SetAffinity(cpuset.Of(mine.Last()))), syscall.EPERM, "belongs to root; changing others' processes needs CAP_SYS_NICE"},
		"another's":     {single(t, tuner, others, attr.SetNice(7)), syscall.EPERM, "belongs to root"},
	} {
		if mine.Len() < 2 && tt.change.Status == attr.Unchanged {
			continue // only one CPU to be on
		}
		assert.Equal(t, attr.Failed, tt.change.Status, name)
		assert.ErrorIs(t, tt.change.Err, tt.errno, name)
		assert.ErrorIs(t, tt.change.Err, attr.ErrNotPermitted, name)
		assert.Contains(t, tt.change.Reason, tt.reason, name)
	}

	p := plan(t, tuner, changetest.One(policy(kernel.Idle), pid))
	assert.True(t, p.OneWay())
	assert.Contains(t, change.Texts(p.Warnings)[0], "cannot be undone: leaving SCHED_IDLE needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 5, it is 0")
	assert.Equal(t, attr.Done, single(t, tuner, pid, policy(kernel.Idle)).Status)
	left := single(t, tuner, pid, policy(kernel.Other))
	assert.Equal(t, attr.Failed, left.Status)
	assert.Contains(t, left.Reason, "leaving SCHED_IDLE needs CAP_SYS_NICE")
	assert.ErrorIs(t, tuner.Signal(change.Target{TID: others}, syscall.SIGTERM), attr.ErrNotPermitted)
}
