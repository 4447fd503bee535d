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

	"piton/internal/cli/exit"
)

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
	assert.Equal(t, exit.Drift, r.code)
	lines := jsonLines(t, r.out)
	assert.Equal(t, map[string]any{"type": "drift", "v": 1.0, "item": "[[queue]] of line 9", "pid": nil, "tid": nil, "name": "eth0 rx-3",
		"path": "/sys/class/net/eth0/queues/rx-3/rps_cpus", "attribute": "rps-cpus", "expected": "0-1", "actual": "0", "set_by": "not piton",
		"journal": nil, "reason": ""}, ofType(lines, "drift")[0])
	assert.EqualValues(t, exit.Drift, ofType(lines, "summary")[0]["exit_code"])
	assert.Equal(t, exit.NotPermitted, h.run("--host-root", root, "apply", file).code)
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
	if before, err := exec.Command(tuna, "-s", file).CombinedOutput(); err != nil {
		if out, err := exec.Command(tuna, "save", file).CombinedOutput(); err != nil { // since 0.18
			t.Skipf("tuna cannot save here: %v: %s%s", err, before, out)
		}
	}
	r := newHome(t).run("verify", file, "-o", "json")
	require.Zero(t, r.code, r.out+r.err)
	assert.Greater(t, ofType(jsonLines(t, r.out), "summary")[0]["checked"], 10.0)

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := regexp.MustCompile(`(?m)^kthreadd:o:0:`).ReplaceAllString(string(text), "kthreadd:b:0:")
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o644))
	r = newHome(t).run("verify", file)
	assert.Equal(t, exit.Drift, r.code)
	assert.Regexp(t, `kthreadd +1 +policy +BATCH +OTHER`, r.out)
}

func TestSysctlUsage(t *testing.T) {
	h := newHome(t)
	for _, args := range [][]string{{}, {"nosuch"}, {"a.b=1", "kernel.ostype"}, {"net.*=1"}, {"../../x/y"}} {
		r := h.run(append([]string{"sysctl"}, args...)...)
		assert.Equal(t, exit.Usage, r.code, "%v: %s", args, r.err)
	}
	r := h.run("sysctl", "kernel.ostype", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, map[string]any{"type": "sysctl", "v": 1.0, "name": "kernel.ostype", "path": "/proc/sys/kernel/ostype", "value": "Linux"}, jsonLines(t, r.out)[0])
	assert.Equal(t, exit.Failed, h.run("sysctl", "kernel.nosuch").code)
	assert.Equal(t, exit.Failed, h.run("sysctl", "kernel.nosuch=1").code)
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
	assert.Equal(t, exit.Failed, h.run("verify", "nosuch").code)
}

// TestCPUsFlag shows only what may come to CPUs.
func TestCPUsFlag(t *testing.T) {
	h, root := newHome(t), irqHost(t)
	r := h.run("--host-root", root, "irq", "list", "-d", "100ms", "--cpu", "1", "-o", "csv")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "eth0-TxRx-3")
	assert.NotContains(t, r.out, "nvme0q1", "it goes to CPU 0 alone")
	assert.NotContains(t, r.out, "RES")
	r = h.run("--host-root", root, "--headless", "-n", "1", "-d", "100ms", "--cpu", "0", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, ofType(jsonLines(t, r.out), "task"), "the one task is for CPU 1")
	r = h.run("--host-root", root, "--headless", "-n", "1", "-d", "100ms", "--cpu", "1", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Len(t, ofType(jsonLines(t, r.out), "task"), 1)
	for _, args := range []string{"irq list --now", "--headless -n 1", "save -"} {
		r = h.run(append([]string{"--host-root", root, "--cpu", "0-7"}, strings.Fields(args)...)...)
		assert.Equal(t, exit.Failed, r.code, args)
		assert.Contains(t, r.err, "this machine has no CPU", "%s: it is the recorded one's CPUs that count", args)
	}
	assert.Equal(t, exit.Failed, h.run("--headless", "--cpu", "node:77").code)
	assert.Equal(t, exit.Usage, h.run("irq", "list", "--cpu", "x", "-d", "100ms").code)
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
	assert.Equal(t, exit.Drift, r.code)
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
	assert.Equal(t, exit.Drift, h.run("verify", file).code)
	require.Zero(t, h.run("apply", file).code)
	require.Zero(t, h.run("verify", file).code)
}
