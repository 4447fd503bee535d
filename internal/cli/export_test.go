package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/kernel/kerneltest"
)

// needTools skips a test of scripts where their tools are missing.
func needTools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs ", name, ": ", err)
		}
	}
}

// TestExportShell runs the script on another process, which then has the same.
func TestExportShell(t *testing.T) {
	needTools(t, "sh", "taskset", "chrt", "renice", "ionice")
	needRights(t)
	h := newHome(t)
	for _, policy := range []kernel.Policy{kernel.Other, kernel.Batch, kernel.Idle, kernel.FIFO, kernel.RR} {
		t.Run(policy.String(), func(t *testing.T) {
			one, other := sleeper(t), sleeper(t)
			tuneChild(t, one)
			prio := 0
			if policy.RealTime() {
				prio = 7
			}
			require.NoError(t, sched.SetPolicy(one, policy, prio, policy == kernel.RR))
			r := h.run("export", "shell", fmt.Sprint(one))
			require.Zero(t, r.code, r.err)
			script := filepath.Join(t.TempDir(), "like")
			require.NoError(t, os.WriteFile(script, []byte(r.out), 0o755))
			out, err := exec.Command("sh", "-n", script).CombinedOutput()
			require.NoError(t, err, string(out))
			out, err = exec.Command("sh", script, fmt.Sprint(other)).CombinedOutput()
			require.NoError(t, err, "%s\n%s", out, r.out)
			assert.Equal(t, stateOf(t, one), stateOf(t, other), r.out)
		})
	}
}

// serviceHost is a host tree with a service that has one of everything.
func serviceHost(t *testing.T, cgroup string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, kernelfake.WriteFiles(root, map[string]string{
		"proc/77/comm":    "nginx\n",
		"proc/77/cmdline": "nginx\x00-g\x00",
		"proc/77/cgroup":  "0::" + cgroup + "\n",
		"proc/77/stat": "77 (nginx) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 -11 0 1 0 5 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 0 " +
			"10 1 0 0 0\n", // real-time priority 10, policy FIFO
		"proc/77/status":                 "Name:\tnginx\nTgid:\t77\nUid:\t0\t0\t0\t0\nThreads:\t1\nCpus_allowed_list:\t2-3,6\n",
		"proc/77/numa_maps":              "7f00 bind:0 anon=1 N0=1\n7f01 bind:0 anon=1 N0=1\n7f02 default\n",
		"proc/cpuinfo":                   "",
		"sys/devices/system/cpu/online":  "0-7\n",
		"sys/devices/system/cpu/present": "0-7\n",
	}))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "proc/77/task/77"), 0o755))
	for _, name := range []string{"stat", "status", "comm"} {
		require.NoError(t, os.Symlink("../../"+name, filepath.Join(root, "proc/77/task/77", name)))
	}
	return root
}

func TestExportSystemd(t *testing.T) {
	h, root := newHome(t), serviceHost(t, "/system.slice/web@1.service")
	r := h.run("--host-root", root, "export", "systemd", "nginx")
	require.Zero(t, r.code, r.err)
	for _, line := range []string{"\n[Service]\n", "\nCPUAffinity=2-3,6\n", "\nCPUSchedulingPolicy=fifo\n", "\nCPUSchedulingPriority=10\n", "\nNUMAPolicy=bind\n", "\nNUMAMask=0\n"} {
		assert.Contains(t, r.out, line)
	}
	dir := t.TempDir()
	w := h.run("--host-root", root, "export", "systemd", "77", "--dir", dir)
	require.Zero(t, w.code, w.err)
	text, err := os.ReadFile(filepath.Join(dir, "web@1.service.d", "50-piton.conf"))
	require.NoError(t, err)
	assert.Equal(t, r.out, string(text))
	verifyUnit(t, dir, "web@1.service")

	for cgroup, says := range map[string]string{
		"/user.slice/user-0.slice/session-1.scope": "session-1.scope is a scope",
		"/":                                 "belongs to no service of systemd",
		"/system.slice/a\rNice=-20.service": "its cgroup is /system.slice/a?Nice=-20.service: it belongs to no service",
	} {
		r := h.run("--host-root", serviceHost(t, cgroup), "export", "systemd", "77")
		assert.Equal(t, exit.Failed, r.code)
		assert.Contains(t, r.err, says)
	}
}

// TestExportSystemdOfAUser keeps a user's service out of the system manager's folders.
func TestExportSystemdOfAUser(t *testing.T) {
	h, root := newHome(t), serviceHost(t, `/user.slice/user-7.slice/user@7.service/app.slice/my\x2dvpn.service`)
	r := h.run("--host-root", root, "export", "systemd", "nginx")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, `systemctl --user restart 'my\x2dvpn.service'`+"\n")
	dir := t.TempDir()
	require.Zero(t, h.run("--host-root", root, "export", "systemd", "nginx", "--dir", dir).code)
	assert.FileExists(t, filepath.Join(dir, `my\x2dvpn.service.d`, "50-piton.conf"))
	nowhere := "/usr/lib/systemd/system/" + strings.Repeat("x", 300) // too long a name to be made
	r = h.run("--host-root", root, "export", "systemd", "nginx", "--dir", nowhere)
	assert.Equal(t, exit.Usage, r.code)
	assert.Contains(t, r.err, "is the system manager's")
}

// TestExportSystemdLeavesEdits replaces piton's own drop-in only, and makes no directory
// through a link of others.
func TestExportSystemdLeavesEdits(t *testing.T) {
	h, dir := newHome(t), t.TempDir()
	file := filepath.Join(dir, "web.service.d", "50-piton.conf")
	root := serviceHost(t, "/system.slice/web.service")
	export := func(args ...string) result {
		return h.run(append([]string{"--host-root", root, "export", "systemd", "77", "--dir", dir}, args...)...)
	}
	text := func() string {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(b)
	}
	for range 2 {
		require.Zero(t, export().code)
	}
	first := text()
	status := filepath.Join(root, "proc/77/status")
	b, err := os.ReadFile(status)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(status, []byte(strings.Replace(string(b), "2-3,6", "4", 1)), 0o644))
	require.Zero(t, export().code)
	second := text()
	assert.NotEqual(t, first, second, "piton's own is replaced")

	for _, theirs := range []string{second + "Nice=5\n", "[Service]\nNice=5\n"} {
		require.NoError(t, os.WriteFile(file, []byte(theirs), 0o644))
		r := export()
		assert.Equal(t, exit.Failed, r.code)
		assert.Equal(t, "piton: "+file+": it was not written by piton, or has been edited since; --force overwrites it\n", r.err)
		assert.Equal(t, theirs, text())
		r = export("--force")
		require.Zero(t, r.code, r.err)
		assert.Equal(t, second, text())
	}
	_, unstamped, _ := strings.Cut(second, "\n")
	require.NoError(t, os.WriteFile(file, []byte(unstamped), 0o644))
	require.Zero(t, export().code, "it says the same")
	assert.Equal(t, second, text())

	if os.Geteuid() != 0 || !kerneltest.Initial() {
		return // nobody else is known here
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "own"), 0o755))
	require.NoError(t, os.Symlink("own", filepath.Join(dir, "link")))
	require.NoError(t, os.Lchown(filepath.Join(dir, "link"), 1234, -1))
	dir = filepath.Join(dir, "link")
	r := export()
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, dir+" is a link of user 1234, and root writes through none of others")
	left, err := os.ReadDir(filepath.Join(filepath.Dir(dir), "own"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// verifyUnit has systemd judge a unit with the drop-in.
func verifyUnit(t *testing.T, dir, unit string) {
	t.Helper()
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("not judged by systemd: ", err)
		return
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, unit), []byte("[Service]\nExecStart=/bin/true\n"), 0o644))
	cmd := exec.Command(tool, "verify", "--man=no", "--generators=no", filepath.Join(dir, unit))
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":/usr/lib/systemd/system:/lib/systemd/system")
	out, err := cmd.CombinedOutput()
	assert.NotContains(t, string(out), "50-piton.conf", "systemd has no complaint about it")
	t.Logf("systemd-analyze: %v %s", err, out)
	bad := filepath.Join(dir, unit+".d", "60-bad.conf")
	require.NoError(t, os.WriteFile(bad, []byte("[Service]\nCPUSchedulingPolicy=nonsense\n"), 0o644))
	cmd = exec.Command(tool, "verify", "--man=no", "--generators=no", filepath.Join(dir, unit))
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":/usr/lib/systemd/system:/lib/systemd/system")
	out, _ = cmd.CombinedOutput()
	assert.Contains(t, string(out), "60-bad.conf", "it reads drop-ins, and would complain")
}

// TestExportShellOfEndedThreads has the script go on where a thread has ended, and say where there
// is no process.
func TestExportShellOfEndedThreads(t *testing.T) {
	needTools(t, "sh")
	h, bin := newHome(t), t.TempDir()
	r := h.run("export", "shell", fmt.Sprint(sleeper(t)))
	require.Zero(t, r.code, r.err)
	for _, tool := range []string{"renice", "ionice", "chrt"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"), 0o755))
	}
	script := func(taskset, text string, pid any) (string, error) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, "taskset"), []byte("#!/bin/sh\n"+taskset+"\n"), 0o755))
		cmd := exec.Command("sh", "-s", fmt.Sprint(pid))
		cmd.Env = append(h.env, "PATH="+bin+":"+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	here := os.Getpid()
	out, err := script("exit 1", r.out, here)
	assert.Error(t, err, "the thread is there: %s", out)
	ended := strings.ReplaceAll(r.out, `[ ! -e "$task" ]`, `[ ! -e "$task/ended" ]`)
	out, err = script("exit 1", ended, here)
	assert.NoError(t, err, "the thread has ended: %s", out)
	out, err = script("exit 0", r.out, "999999999")
	assert.Error(t, err)
	assert.Contains(t, out, "there is no process 999999999")
}
