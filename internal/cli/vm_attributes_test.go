package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/cli/exit"
	"piton/internal/cli/watchcmd"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// hoarder is a child with 8 MB of memory, started by piton run with the flags.
func hoarder(t *testing.T, h *home, flags ...string) kernel.TID {
	t.Helper()
	const fill = `x=$(head -c 8000000 /dev/zero | tr "\0" x); echo ready; read y; echo ${#x} > /dev/null`
	cmd := h.program(append(append([]string{"run"}, flags...), "--", "sh", "-c", fill)...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "it said %q", line)
	return kernel.TID(cmd.Process.Pid)
}

// nodesOf counts a process's pages by node.
func nodesOf(t *testing.T, pid kernel.TID) map[int]uint64 {
	t.Helper()
	maps, err := procfs.New("/").NumaMaps(pid)
	require.NoError(t, err)
	out := map[int]uint64{}
	for _, m := range maps {
		for _, p := range m.Pages {
			out[p.Node] += p.Pages
		}
	}
	return out
}

// TestVMMemoryFollows moves a process with its memory from node 0 to node 1, and
// back by an undo.
func TestVMMemoryFollows(t *testing.T) {
	s := needVM(t)
	h := newHome(t)
	pid := hoarder(t, h, "--pin", "node:0")
	before := nodesOf(t, pid)
	require.Greater(t, before[0], uint64(1900), "8 MB were touched on node 0: %v", before)
	r := h.run("pin", fmt.Sprint(pid), "--cpu", "node:1", "--mem", "-o", "json")
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	after := nodesOf(t, pid)
	assert.Greater(t, after[1], before[0]*9/10, "%v", after)
	told := map[float64][]any{}
	for _, l := range ofType(lines, "memory") {
		told[l["node"].(float64)] = []any{l["pages_before"], l["pages_after"]}
	}
	assert.EqualValues(t, before[0], told[0][0])
	assert.Greater(t, told[1][1], 1900.0)
	assert.Equal(t, block(s.perNode(), s.perNode()).String(), affinityOf(t, pid))

	r = h.run("undo")
	require.Zero(t, r.code, r.err)
	again := nodesOf(t, pid)
	// Pages of the program's file can be on a third node: each node's share comes in huge pages.
	assert.InDelta(t, float64(before[0]), float64(again[0]), float64(before[0])/20+float64(len(before))*hugePage, "%v became %v", before, again)
}

// hugePage is how many pages move together if they are one huge page.
const hugePage = 512

// TestVMMemoryIsDivided takes a process whose pages are on two nodes to one of
// them, and has as many on both again after the undo.
func TestVMMemoryIsDivided(t *testing.T) {
	needVM(t)
	h := newHome(t)
	pid := hoarder(t, h, "--pin", "node:0", "--interleave", "0-1")
	before := nodesOf(t, pid)
	require.Greater(t, before[0], uint64(500), "%v", before)
	require.Greater(t, before[1], uint64(500), "%v", before)
	r := h.run("pin", fmt.Sprint(pid), "--cpu", "node:1", "--mem")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "has a memory policy of its own (interleave 0-1)")
	require.Less(t, nodesOf(t, pid)[0], before[0]/10)
	r = h.run("undo")
	require.Zero(t, r.code, r.err)
	again := nodesOf(t, pid)
	assert.InDelta(t, float64(before[0]), float64(again[0]), float64(before[0])/20+hugePage, "%v became %v", before, again)
}

// TestVMMemBind starts commands with memory from given nodes.
func TestVMMemBind(t *testing.T) {
	s := needVM(t)
	h := newHome(t)
	pid := hoarder(t, h, "--pin", "node:0", "--membind", "1")
	assert.Greater(t, nodesOf(t, pid)[1], uint64(1900), "%v", nodesOf(t, pid))
	out, err := h.program("run", "--membind", fmt.Sprint(s.nodes), "--", "true").CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(out), fmt.Sprintf("there is no memory on node %d here (nodes with memory: 0-%d)", s.nodes, s.nodes-1))
}

// TestVMRunInACgroup runs a command in a cgroup, which is gone afterwards.
func TestVMRunInACgroup(t *testing.T) {
	needVM(t)
	h := newHome(t)
	const script = `g=$(cut -d: -f3 /proc/self/cgroup); cat /sys/fs/cgroup$g/cpuset.cpus.effective /sys/fs/cgroup$g/cpuset.mems.effective
taskset -p f $$ >/dev/null; grep Cpus_allowed_list /proc/$$/status; exit 7`
	cmd := h.program("run", "--cgroup", "--pin", "1-2", "--membind", "0", "--", "sh", "-c", script)
	out, err := cmd.Output()
	require.Error(t, err)
	assert.Equal(t, 7, cmd.ProcessState.ExitCode())
	assert.Equal(t, "1-2\n0\nCpus_allowed_list:\t1-2\n", string(out), "its own affinity does not get it out")
	eventually(t, "the group is removed", func() bool {
		left, _ := filepath.Glob("/sys/fs/cgroup/piton-run-*")
		return len(left) == 0
	})
	cmd = h.program("run", "--cgroup", "--pin", "1-2", "--", "/etc")
	require.Error(t, cmd.Run())
	assert.Equal(t, 126, cmd.ProcessState.ExitCode())
	eventually(t, "the group of what could not run is removed", func() bool {
		left, _ := filepath.Glob("/sys/fs/cgroup/piton-run-*")
		return len(left) == 0
	})
}

// TestVMCpusetLimits pins a process of a cgroup of version 2 within, partly
// outside, and outside of the group's CPUs.
func TestVMCpusetLimits(t *testing.T) {
	needVM(t)
	h, pid := newHome(t), sleeper(t)
	group, err := change.Local().NewGroup(cpuset.Of(1, 2), cpuset.Set{})
	require.NoError(t, err)
	procs := filepath.Join(group.Dir, "cgroup.procs")
	require.NoError(t, os.WriteFile(procs, fmt.Append(nil, pid), 0o644))
	defer func() {
		assert.NoError(t, os.WriteFile("/sys/fs/cgroup/cgroup.procs", fmt.Append(nil, pid), 0o644))
		assert.NoError(t, group.Remove())
	}()
	name := "/" + filepath.Base(group.Dir)
	r := h.run("pin", fmt.Sprint(pid), "--cpu", "2")
	require.Zero(t, r.code, r.err)
	r = h.run("pin", fmt.Sprint(pid), "--cpu", "0-1")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "CPU 1 is in force: cgroup "+name+" allows only CPUs 1-2")
	assert.Contains(t, r.err, "cgroup "+name+" allows "+fmt.Sprint(pid)+" only CPUs 1-2: the kernel will cut 0-1 to 1")
	r = h.run("pin", fmt.Sprint(pid), "--cpu", "0")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "its cgroup "+name+" allows only CPUs 1-2, and 0 is outside; choose among those, or widen the group's cpuset.cpus")
}

// TestVMDeadlineRefusals takes more DEADLINE bandwidth than the machine has.
func TestVMDeadlineRefusals(t *testing.T) {
	s := needVM(t)
	if s.cpus > 16 {
		t.Skip("it takes a process a CPU")
	}
	h := newHome(t)
	pid := sleeper(t)
	require.NoError(t, sched.SetAffinity(pid, cpuset.Of(1)))
	r := h.run("policy", fmt.Sprint(pid), "deadline:1ms/10ms/10ms")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "it is pinned to CPU 1, and a DEADLINE task must be free to run on every CPU of its root domain")
	refused := ""
	for range s.cpus + 1 {
		r := h.run("policy", fmt.Sprint(sleeper(t)), "deadline:9.4ms/10ms/10ms")
		if r.code != exit.Done {
			refused = r.err
			break
		}
	}
	assert.Contains(t, refused, "the CPUs have no DEADLINE bandwidth left for it")
}

// TestVMClamps sets clamps where the kernel has them.
func TestVMClamps(t *testing.T) {
	needVM(t)
	needFeature(t, "uclamp")
	h, pid := newHome(t), sleeper(t)
	r := h.run("uclamp", fmt.Sprint(pid), "10%,50%")
	require.Zero(t, r.code, r.err)
	clamp, err := sched.Clamp(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Clamp{Min: 102, Max: 512}, clamp)
	require.Zero(t, h.run("undo").code)
	clamp, err = sched.Clamp(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Clamp{Min: 0, Max: kernel.ClampMax}, clamp)
	out, err := h.program("run", "--uclamp", "0,300", "--", "sh", "-c", "grep uclamp.max /proc/$$/sched").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "300")
}

// TestVMExt gives a task to sched_ext where the kernel has it, without a scheduler.
func TestVMExt(t *testing.T) {
	needVM(t)
	h, pid := newHome(t), sleeper(t)
	r := h.run("policy", fmt.Sprint(pid), "ext")
	if watchcmd.Probe("policy-ext") != nil {
		assert.Equal(t, exit.NotPermitted, r.code)
		assert.Contains(t, r.err, "has no sched_ext")
		return
	}
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "no sched_ext scheduler is loaded")
	require.Zero(t, h.run("undo").code)
}

// TestVMOverwriters starts programs by the names of those that tune machines.
func TestVMOverwriters(t *testing.T) {
	needVM(t)
	h, pid := newHome(t), sleeper(t)
	warnings := func(args ...string) string {
		r := h.run(append(args, "-o", "json", "--dry-run")...)
		return fmt.Sprint(ofType(jsonLines(t, r.out), "summary")[0]["warnings"])
	}
	assert.NotContains(t, warnings("pin", fmt.Sprint(pid), "--cpu", "1"), "is running")
	for name, args := range map[string][]string{
		"tuned":       {"pin", fmt.Sprint(pid), "--cpu", "1"},
		"ananicy-cpp": {"nice", fmt.Sprint(pid), "5"},
		"numad":       {"pin", fmt.Sprint(pid), "--cpu", "1"},
		"irqbalance":  {"irq", "default", "1"},
	} {
		_, end := processNamed(t, name)
		if name != "irqbalance" {
			assert.Contains(t, warnings(args...), strings.TrimSuffix(name, "-cpp")+" is running")
		} else {
			assert.NotContains(t, warnings("pin", fmt.Sprint(pid), "--cpu", "1"), "irqbalance", "it leaves tasks alone")
		}
		end()
	}
}
