package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cli/watchcmd"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// needFeature skips a test of what this kernel has not.
func needFeature(t *testing.T, id string) {
	t.Helper()
	if err := watchcmd.Probe(id); err != nil {
		require.ErrorIs(t, err, feature.ErrNotSupported)
		t.Skip(err)
	}
}

// oneChange runs piton and returns the only change that it reports.
func oneChange(t *testing.T, h *home, args ...string) map[string]any {
	t.Helper()
	r := h.run(append(args, "-o", "json")...)
	changes := ofType(jsonLines(t, r.out), "change")
	require.Len(t, changes, 1, "%s %s", r.out, r.err)
	return changes[0]
}

// withRoom runs try again while it says that the kernel had no DEADLINE time for it: each guard of
// another test takes 18 % of a CPU of it (change/guard), and ten are all that two CPUs have.
func withRoom(t *testing.T, try func() (said string)) {
	t.Helper()
	require.Eventually(t, func() bool { return !strings.Contains(try(), "no DEADLINE bandwidth left") }, patience(), 50*time.Millisecond)
}

func TestSliceVerb(t *testing.T) {
	needFeature(t, "slice")
	h, pid := newHome(t), sleeper(t)
	base, err := sched.Slice(pid)
	require.NoError(t, err)
	c := oneChange(t, h, "slice", fmt.Sprint(pid), "3ms")
	assert.Equal(t, []any{"slice", "default", "3ms", "done"}, []any{c["attribute"], c["before"], c["after"], c["status"]})
	require.Zero(t, h.run("undo").code)
	got, err := sched.Slice(pid)
	require.NoError(t, err)
	assert.Equal(t, base, got)

	require.NoError(t, sched.SetPolicy(pid, kernel.Idle, 0, false))
	r := h.run("slice", fmt.Sprint(pid), "3ms")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "its policy is IDLE, and only OTHER and BATCH tasks have a slice")
	r = h.run("--headless", "--pid", fmt.Sprint(pid), "--slice", "1ms", "--policy", "batch", "--dry-run")
	assert.Contains(t, r.out, "BATCH")
}

func TestClampAndCookieVerbs(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	for _, tt := range []struct {
		feature string
		args    []string
		after   string
		reason  string
	}{
		{"uclamp", []string{"uclamp", fmt.Sprint(pid), "0,50%"}, "0,512", "this kernel has no uclamp (CONFIG_UCLAMP_TASK)"},
		{"core-sched", []string{"cookie", "create", fmt.Sprint(pid)}, "0x", "core scheduling"},
	} {
		err := watchcmd.Probe(tt.feature)
		c := oneChange(t, h, tt.args...)
		if err == nil {
			assert.Equal(t, "done", c["status"])
			assert.Contains(t, c["after"], tt.after)
			continue
		}
		assert.Equal(t, "refused", c["status"])
		assert.Contains(t, c["reason"], tt.reason)
		assert.Equal(t, exit.NotPermitted, h.run(tt.args...).code, "not supported here")
	}
}

func TestPolicyOfEveryKind(t *testing.T) {
	needRights(t)
	everyCPU(t)
	h, pid := newHome(t), sleeper(t)
	set := func(policy string) map[string]any { return oneChange(t, h, "policy", fmt.Sprint(pid), policy) }
	assert.Equal(t, "its policy is OTHER, which has no real-time priority: say fifo:20 or rr:20", set("20")["reason"])
	for _, policy := range []string{"batch", "idle", "other,reset-on-fork", "other"} {
		assert.Equal(t, "done", set(policy)["status"], policy)
	}
	var c map[string]any
	withRoom(t, func() string { c = set("deadline:1ms/20ms/20ms,reset-on-fork"); return fmt.Sprint(c["reason"]) })
	require.Equal(t, "done", c["status"], c["reason"])
	assert.Equal(t, "DEADLINE:1ms/20ms/20ms,reset-on-fork", c["after"])
	r := h.run("pin", fmt.Sprint(pid), "--cpu", fmt.Sprint(oneCPU(t)))
	if r.code != exit.Done { // on a machine with one CPU it is there already
		assert.Contains(t, r.err, "it is a DEADLINE task, and those cannot be moved; give it another policy first")
	}
	r = h.run("policy", fmt.Sprint(pid), "other")
	require.Zero(t, r.code, r.err)
	withRoom(t, func() string { r = h.run("undo"); return r.out + r.err })
	require.Zero(t, r.code, r.err)
	attr, err := sched.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Deadline, attr.Policy, "as it was")
	if watchcmd.Probe("policy-ext") != nil {
		c := set("ext")
		assert.Equal(t, "this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)", c["reason"])
	}
}

// TestThreadsByName names a thread whose name only this test has given.
func TestThreadsByName(t *testing.T) {
	h := newHome(t)
	name := fmt.Sprintf("pt%d", os.Getpid())
	pid, end := processNamed(t, name)
	defer end()
	other := sleeper(t)
	before := levelOf(t, other)
	c := oneChange(t, h, "ionice", "thread:/^"+name+"$/", "best-effort:6")
	assert.EqualValues(t, pid, c["tid"])
	assert.Equal(t, before, levelOf(t, other))
	r := h.run("nice", "thread:/^no-such-"+name+"$/", "6")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "no thread matches")
	r = h.run("nice", "--tree", "thread:/^"+name+"$/", "6")
	assert.Equal(t, exit.Usage, r.code)
}

// processNamed starts a process of that name; it waits until end is called.
func processNamed(t *testing.T, name string) (pid kernel.TID, end func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "printf "+name+" > /proc/$$/comm; read x")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	eventually(t, "the name", func() bool {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		return err == nil && strings.TrimSpace(string(comm)) == name
	})
	return kernel.TID(cmd.Process.Pid), func() { _ = stdin.Close(); _ = cmd.Wait() }
}

func TestNiceOfASession(t *testing.T) {
	needRights(t)
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := fmt.Sprint(cmd.Process.Pid)
	read := func() string {
		data, err := os.ReadFile("/proc/" + pid + "/autogroup")
		if errors.Is(err, os.ErrNotExist) || len(data) == 0 {
			t.Skip("without autogroups here")
		}
		_, nice, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
		return nice
	}
	require.Equal(t, "nice 0", read())
	h := newHome(t)
	r := h.run("nice", "--autogroup", pid, "7")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "nice 7", read())
	r = h.run("undo")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "nice 0", read())
	r = h.run("nice", "--autogroup", "2147483647", "7")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "there is no process or thread 2147483647")
}

func TestRunWithEveryAttribute(t *testing.T) {
	everyCPU(t)
	h, nice := newHome(t), max(2, niceOf(t, kernel.TID(os.Getpid())))
	type one struct {
		args string
		code int
		out  string
		err  string
	}
	tests := []one{
		{fmt.Sprintf("run --nice %d -- sh -c|cut -d' ' -f19 /proc/$$/stat", nice), 0, fmt.Sprintln(nice), ""},
		{"run --membind 900 -- true", exit.Failed, "", "--membind 900: there is no memory on node 900 here"},
		{"run --membind 0 --interleave 0 -- true", exit.Usage, "", "exclude each other"},
		{"run --membind x -- true", exit.Usage, "", "numbers of NUMA nodes"},
		{"run --preferred 0-1 -- true", exit.Usage, "", "takes one node"},
		{"run --cgroup -- true", exit.Usage, "", "--cgroup needs --pin"},
		{"run --policy deadline:1ms/20ms/20ms,reset-on-fork -- sh -c|exit 3", 3, "", ""},
	}
	if os.Geteuid() != 0 || !kerneltest.Initial() {
		tests = tests[:len(tests)-1]
	}
	if watchcmd.Probe("slice") == nil {
		tests = append(tests, one{"run --slice 5ms -- true", 0, "", ""})
	}
	if watchcmd.Probe("numa") == nil {
		const policy = `|head -1 /proc/self/numa_maps | cut -d" " -f2`
		tests = append(tests,
			one{"run --membind 0 -- sh -c" + policy, 0, "bind:0\n", ""},
			one{"run --preferred 0 -- sh -c" + policy, 0, "prefer:0\n", ""},
			one{"run --interleave 0 -- sh -c" + policy, 0, "interleave:0\n", ""})
	}
	if _, err := os.Stat("/sys/fs/cgroup/cpuset/tasks"); err == nil {
		tests = append(tests, one{"run --cgroup --pin 0 -- true", exit.NotPermitted, "", "hierarchy of version 1"})
	}
	for _, tt := range tests {
		words, last, more := strings.Cut(tt.args, "|")
		args := strings.Fields(words)
		if more {
			args = append(args, last)
		}
		var code int
		var out, errs string
		withRoom(t, func() string {
			cmd := h.program(args...)
			var said strings.Builder
			cmd.Stderr = &said
			printed, _ := cmd.Output()
			code, out, errs = cmd.ProcessState.ExitCode(), string(printed), said.String()
			return errs
		})
		assert.Equal(t, tt.code, code, "%s: %s", tt.args, errs)
		assert.Equal(t, tt.out, out, tt.args)
		assert.Contains(t, errs, tt.err, tt.args)
	}
}
