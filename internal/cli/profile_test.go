package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// namesake makes programs of a name that no other process has: a profile finds
// tasks by name, and must find nobody else's.
type namesake struct {
	t          *testing.T
	name, path string
}

func newNamesake(t *testing.T) namesake {
	t.Helper()
	name := fmt.Sprintf("pt%d", os.Getpid())
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nread wait\n"), 0o755))
	return namesake{t, name, path}
}

// start starts one, which ends with the test.
func (n namesake) start(args ...string) kernel.TID {
	n.t.Helper()
	cmd := exec.Command(n.path, args...)
	in, err := cmd.StdinPipe() // it waits for a line that never comes
	require.NoError(n.t, err)
	require.NoError(n.t, cmd.Start())
	n.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(n.t, "it became the script", func() bool {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		return err == nil && strings.TrimSpace(string(comm)) == n.name
	})
	return kernel.TID(cmd.Process.Pid)
}

// profileFile writes a profile.
func profileFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.toml")
	require.NoError(t, os.WriteFile(path, []byte("version = 1\n"+text), 0o644))
	return path
}

// tuneChild gives a child one of everything.
func tuneChild(t *testing.T, pid kernel.TID) {
	t.Helper()
	require.NoError(t, sched.SetAffinity(pid, cpuset.Of(oneCPU(t))))
	require.NoError(t, sched.SetNice(pid, 5))
	require.NoError(t, sched.SetIOPrio(pid, kernel.IOPrio{Class: kernel.IOBestEffort, Level: 6}))
	require.NoError(t, sched.SetPolicy(pid, kernel.Batch, 0, true))
}

func stateOf(t *testing.T, pid kernel.TID) string {
	t.Helper()
	attr, err := sched.Attr(pid)
	require.NoError(t, err)
	nice, err := sched.Nice(pid)
	require.NoError(t, err)
	prio, err := sched.IOPrio(pid)
	require.NoError(t, err)
	return fmt.Sprint(affinityOf(t, pid), " ", nice, " ", attr.Policy, attr.RTPrio, attr.ResetOnFork, " ", prio)
}

// TestProfileOverARestart saves a tuned process, starts it anew, and makes the new
// one as the old one was.
func TestProfileOverARestart(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	old := n.start("a")
	tuneChild(t, old)
	want := stateOf(t, old)
	file := filepath.Join(t.TempDir(), "saved.toml")
	r := h.run("save", file, fmt.Sprint(old))
	require.Zero(t, r.code, r.err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), fmt.Sprintf("name = %q\n", n.name))
	assert.NotContains(t, strings.ReplaceAll(string(text), n.name, ""), fmt.Sprint(old), "no number is saved")
	r = h.run("verify", file)
	require.Zero(t, r.code, r.out+r.err)

	fresh := n.start("a")
	before := stateOf(t, fresh)
	require.NoError(t, endChild(old))
	r = h.run("verify", file, "-o", "json")
	require.Equal(t, ExitDrift, r.code, r.err)
	drift := ofType(jsonLines(t, r.out), "drift")
	require.Len(t, drift, 4, r.out)
	assert.Equal(t, "affinity", drift[0]["attribute"])
	assert.Equal(t, affinityOf(t, fresh), drift[0]["actual"])
	assert.Equal(t, fmt.Sprint(oneCPU(t)), drift[0]["expected"])
	assert.Equal(t, "not piton", drift[0]["set_by"])
	assert.EqualValues(t, fresh, drift[0]["pid"])

	r = h.run("apply", file, "--check")
	assert.Equal(t, ExitDrift, r.code, r.err)
	assert.Contains(t, r.out, "planned")
	assert.Equal(t, before, stateOf(t, fresh), "--check changes nothing")
	r = h.run("apply", file, "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.EqualValues(t, 4, ofType(jsonLines(t, r.out), "summary")[0]["done"])
	assert.Equal(t, want, stateOf(t, fresh))
	r = h.run("verify", file)
	require.Zero(t, r.code, r.out+r.err)
	r = h.run("apply", file)
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "nothing to change")
	assert.Len(t, ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry"), 1)

	require.NoError(t, sched.SetNice(fresh, 7))
	r = h.run("verify", file)
	assert.Equal(t, ExitDrift, r.code)
	assert.Regexp(t, `nice +5 +7 +somebody else, after entry 1`, r.out)
	r = h.run("apply", file, "--check")
	assert.Equal(t, ExitDrift, r.code)
	require.NoError(t, sched.SetNice(fresh, 5))
	r = h.run("undo")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, before, stateOf(t, fresh))
}

func endChild(pid kernel.TID) error {
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// TestProfileCPUsEach deals CPUs out to workers, whoever is which.
func TestProfileCPUsEach(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	mask, err := sched.Affinity(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	if mask.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	pids := []kernel.TID{n.start(), n.start(), n.start()}
	file := profileFile(t, fmt.Sprintf("[[task]]\nname = %q\ncpus_each = ['%d', '%d']\n", n.name, mask.First(), mask.Last()))
	require.Zero(t, h.run("apply", file).code)
	got := map[string]int{}
	for _, pid := range pids {
		got[affinityOf(t, pid)]++
	}
	assert.Equal(t, map[string]int{fmt.Sprint(mask.First()): 2, fmt.Sprint(mask.Last()): 1}, got)
	require.Zero(t, h.run("verify", file).code)
	r := h.run("save", "-", n.name)
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `cpus_each = \[("\d+"(, )?){3}\]`, r.out)
}

func TestProfileExitCodes(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	n.start()
	here := fmt.Sprintf("[[task]]\nname = %q\n", n.name)
	nowhere := "[[task]]\nname = 'pt-no-such-process'\nnice = 1\n"
	tests := []struct {
		name, text            string
		verify, check, really int
		says                  string
	}{
		{"corrupt", "[[task\n", 2, 2, 2, "p.toml: line 2, column 7: "},
		{"unknown setting", here + "niceness = 3\n", 2, 2, 2, "p.toml: line 4, column 1: there is no setting"},
		{"nothing means anything", nowhere, 5, 1, 1, `nothing of the profile is on this machine, such as [[task]] of line 2: nothing has name "pt-no-such-process"`},
		{"some do", here + "nice = 0\n" + nowhere, 5, 3, 3, `[[task]] of line 5: nothing has name`},
		{"optional", here + "nice = 0\n" + nowhere + "optional = true\n", 0, 0, 0, ""},
		{"drift", here + "nice = 3\n", 5, 5, 0, ""},
		{"drift and missing", here + "nice = 4\n" + nowhere, 5, 5, 3, ""},
		{"impossible", here + "cpus = '4000'\n", 5, 1, 1, "none of 4000 is online"},
		{"a program", "[sysctl]\n'kernel.core_pattern' = '|/bin/sh'\n", 5, 4, 4, "piton does not set it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := profileFile(t, tt.text)
			r := h.run("verify", file)
			assert.Equal(t, tt.verify, r.code, r.out+r.err)
			r = h.run("apply", file, "--check")
			assert.Equal(t, tt.check, r.code, r.out+r.err)
			r = h.run("apply", file)
			assert.Equal(t, tt.really, r.code, r.out+r.err)
			assert.Contains(t, r.out+r.err, tt.says)
		})
	}
	r := h.run("apply", filepath.Join(t.TempDir(), "none.toml"))
	assert.Equal(t, ExitFailed, r.code)
	assert.Equal(t, ExitUsage, h.run("apply").code)
	assert.Equal(t, ExitUsage, h.run("save").code)
	assert.Equal(t, ExitUsage, h.run("save", "-", "--all", "x").code)
	assert.Equal(t, ExitFailed, h.run("save", "-", "pt-no-such-process").code)
	assert.Equal(t, ExitUsage, h.run("export", "bash", "1").code)
}

// TestSaveLeavesEditsAlone writes over its own file only.
func TestSaveLeavesEditsAlone(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	pid := fmt.Sprint(n.start())
	file := filepath.Join(t.TempDir(), "p.toml")
	require.Zero(t, h.run("save", file, pid).code)
	require.Zero(t, h.run("save", file, pid).code)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("# by hand\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r := h.run("save", file, pid)
	assert.Equal(t, ExitFailed, r.code)
	assert.Contains(t, r.err, "has been edited since; --force writes it all the same")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(text), "# by hand\n"))
	require.Zero(t, h.run("save", file, pid, "--force").code)
}

// TestProfileOfAHost saves and verifies a recorded machine.
func TestProfileOfAHost(t *testing.T) {
	h, root := newHome(t), irqHost(t)
	r := h.run("--host-root", root, "save", "-")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "nic = \"eth0\"\nqueue = \"rx-3\"\nrps = \"online\"\nrps_flows = 4096\n")
	assert.Contains(t, r.out, "\"net.core.rps_sock_flow_entries\" = 32768\n")
	assert.NotContains(t, r.out, "nvme", "the driver spreads it")
	file := filepath.Join(t.TempDir(), "host.toml")
	require.NoError(t, os.WriteFile(file, []byte(r.out), 0o644))
	r = h.run("--host-root", root, "verify", file)
	require.Zero(t, r.code, r.out+r.err)

	require.NoError(t, os.WriteFile(filepath.Join(root, "sys/class/net/eth0/queues/rx-3/rps_cpus"), []byte("1\n"), 0o644))
	r = h.run("--host-root", root, "verify", file, "-o", "json")
	assert.Equal(t, ExitDrift, r.code)
	lines := jsonLines(t, r.out)
	assert.Equal(t, map[string]any{"type": "drift", "item": "[[queue]] of line 9", "pid": nil, "tid": nil, "name": "eth0 rx-3",
		"path": "/sys/class/net/eth0/queues/rx-3/rps_cpus", "attribute": "rps-cpus", "expected": "0-1", "actual": "0", "set_by": "not piton",
		"journal": nil, "reason": ""}, ofType(lines, "drift")[0])
	assert.EqualValues(t, ExitDrift, ofType(lines, "summary")[0]["exit_code"])
	assert.Equal(t, ExitNotPermitted, h.run("--host-root", root, "apply", file).code)
	r = h.run("--host-root", root, "sysctl", "net.core.*")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "NAME                            VALUE\nnet.core.rps_sock_flow_entries  32768\n", r.out)
}

// TestTunasFile reads what tuna itself saved of this machine's kernel threads.
func TestTunasFile(t *testing.T) {
	tuna, err := exec.LookPath("tuna")
	if err != nil {
		t.Skip("needs tuna: ", err)
	}
	file := filepath.Join(t.TempDir(), "rtctl")
	if out, err := exec.Command(tuna, "-s", file).CombinedOutput(); err != nil {
		t.Skipf("tuna cannot save here: %v: %s", err, out)
	}
	r := newHome(t).run("verify", file, "-o", "json")
	require.Zero(t, r.code, r.out+r.err)
	assert.Greater(t, ofType(jsonLines(t, r.out), "summary")[0]["checked"], 10.0)

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := regexp.MustCompile(`(?m)^kthreadd:o:0:`).ReplaceAllString(string(text), "kthreadd:b:0:")
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o644))
	r = newHome(t).run("verify", file)
	assert.Equal(t, ExitDrift, r.code)
	assert.Regexp(t, `kthreadd +1 +policy +BATCH +OTHER`, r.out)
}

func TestSysctlUsage(t *testing.T) {
	h := newHome(t)
	for _, args := range [][]string{{}, {"nosuch"}, {"a.b=1", "kernel.ostype"}, {"net.*=1"}, {"../../x/y"}} {
		r := h.run(append([]string{"sysctl"}, args...)...)
		assert.Equal(t, ExitUsage, r.code, "%v: %s", args, r.err)
	}
	r := h.run("sysctl", "kernel.ostype", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, map[string]any{"type": "sysctl", "name": "kernel.ostype", "path": "/proc/sys/kernel/ostype", "value": "Linux"}, jsonLines(t, r.out)[0])
	assert.Equal(t, ExitFailed, h.run("sysctl", "kernel.nosuch").code)
	assert.Equal(t, ExitNotPermitted, h.run("sysctl", "kernel.nosuch=1").code)
	now := strings.Fields(h.run("sysctl", "kernel.pid_max").out)[3]
	r = h.run("sysctl", "kernel.pid_max="+now, "--dry-run")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "unchanged")
}

// TestProfilesByName finds profiles in the user's folder.
func TestProfilesByName(t *testing.T) {
	h := newHome(t)
	dir := filepath.Join(strings.TrimPrefix(h.env[1], "XDG_CONFIG_HOME="), "piton", "profiles")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.toml"), []byte("version = 1\n[sysctl]\n'kernel.ostype' = 'Linux'\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.toml"), []byte("version = 9\n"), 0o644))
	r := h.run("verify", "mine")
	require.Zero(t, r.code, r.err)
	r = h.run("profiles", "-o", "json")
	require.Zero(t, r.code, r.err)
	lines := ofType(jsonLines(t, r.out), "profile")
	require.GreaterOrEqual(t, len(lines), 2)
	assert.Equal(t, "bad.toml", lines[0]["name"])
	assert.Contains(t, lines[0]["error"], "version = 9")
	assert.Equal(t, "1 kernel setting", lines[1]["has"])
	assert.Equal(t, ExitFailed, h.run("verify", "nosuch").code)
}

// TestCPUsFlag shows only what may come to CPUs.
func TestCPUsFlag(t *testing.T) {
	h, root := newHome(t), irqHost(t)
	r := h.run("--host-root", root, "irq", "list", "-d", "100ms", "--cpus", "1", "-o", "csv")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "eth0-TxRx-3")
	assert.NotContains(t, r.out, "nvme0q1", "it goes to CPU 0 alone")
	assert.NotContains(t, r.out, "RES")
	r = h.run("--host-root", root, "--headless", "-n", "1", "-d", "100ms", "--cpus", "0", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, ofType(jsonLines(t, r.out), "task"), "the one task is for CPU 1")
	r = h.run("--host-root", root, "--headless", "-n", "1", "-d", "100ms", "--cpus", "1", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Len(t, ofType(jsonLines(t, r.out), "task"), 1)
	assert.Equal(t, ExitUsage, h.run("--headless", "--cpus", "node:77").code)
	assert.Equal(t, ExitUsage, h.run("irq", "list", "--cpus", "x", "-d", "100ms").code)
}

// TestProfileOfRarePolicies keeps what only some kernels and rights can.
func TestProfileOfRarePolicies(t *testing.T) {
	needRights(t)
	h, n := newHome(t), newNamesake(t)
	pid := n.start()
	r := h.run("policy", fmt.Sprint(pid), "deadline:5ms/10ms/10ms", "--yes")
	if r.code != 0 {
		t.Skip("no DEADLINE here: ", r.err)
	}
	file := filepath.Join(t.TempDir(), "p.toml")
	require.Zero(t, h.run("save", file, fmt.Sprint(pid)).code)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), `policy = "DEADLINE:5ms/10ms/10ms"`)
	require.Zero(t, h.run("verify", file).code)
	require.Zero(t, h.run("undo").code)
	r = h.run("verify", file)
	assert.Equal(t, ExitDrift, r.code)
	assert.Regexp(t, `policy +DEADLINE:5ms/10ms/10ms +OTHER`, r.out)

	if r = h.run("slice", fmt.Sprint(pid), "3ms"); r.code != 0 {
		t.Log("no slices here: ", r.err)
		return
	}
	require.Zero(t, h.run("save", file, fmt.Sprint(pid), "--force").code)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), `slice = "3ms"`)
	require.Zero(t, h.run("verify", file).code)
	require.Zero(t, h.run("undo").code)
	assert.Equal(t, ExitDrift, h.run("verify", file).code)
	require.Zero(t, h.run("apply", file).code)
	require.Zero(t, h.run("verify", file).code)
}
