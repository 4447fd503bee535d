package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
)

// TestVMProfile makes a machine as a profile says, interrupts, queues, isolation
// and sysctls included, finds it so, saves it, and takes everything back.
func TestVMProfile(t *testing.T) {
	s, nic := needNIC(t)
	h, n := newHome(t), newNamesake(t)
	pid := n.start()
	last, before, affinity := s.cpus-1, masks(t), affinityOf(t, pid)
	swappiness, err := os.ReadFile("/proc/sys/vm/swappiness")
	require.NoError(t, err)
	lines := irqTableOf(t)
	action := lines.QueueIRQ(nic.Name, true, 1).Actions[0]
	file := profileFile(t, fmt.Sprintf(`[isolation]
cpus = '%d'
[[task]]
name = %q
cpus = '%[1]d'
policy = 'batch'
[[irq]]
action = %[3]q
cpus = '1'
[[queue]]
nic = %[4]q
queue = 'rx-*'
rps = '0-1'
rps_flows = 500
[sysctl]
'vm.swappiness' = 7
'net.core.rps_sock_flow_entries' = 3000
'kernel.nosuch' = 1
`, last, n.name, action, nic.Name))

	r := h.run("verify", file)
	require.Equal(t, exit.Drift, r.code, r.err)
	require.Regexp(t, `eth\d rx-1 .*rps-cpus +0-1 +- `, r.out)
	r = h.run("apply", file)
	require.Equal(t, exit.Failed, r.code, "an isolation wants --yes")
	require.Contains(t, r.err, "isolating")
	require.Empty(t, differences(before, masks(t)))

	r = h.run("apply", file, "--yes", "-o", "json")
	require.Equal(t, exit.Some, r.code, "one setting means nothing: %s", r.err)
	for _, c := range ofType(jsonLines(t, r.out), "change") {
		assert.NotContains(t, []any{"failed", "refused"}, c["status"], "%v", c)
	}
	assert.Equal(t, fmt.Sprint(last), affinityOf(t, pid))
	text, err := os.ReadFile("/proc/sys/vm/swappiness")
	require.NoError(t, err)
	assert.Equal(t, "7\n", string(text))
	text, err = os.ReadFile("/sys/class/net/" + nic.Name + "/queues/rx-0/rps_flow_cnt")
	require.NoError(t, err)
	assert.Equal(t, "512\n", string(text), "rounded up")

	without(t, file, "'kernel.nosuch' = 1\n")
	r = h.run("verify", file)
	require.Zero(t, r.code, r.out+r.err)
	r = h.run("apply", file)
	require.Zero(t, r.code, r.out+r.err)
	assert.Contains(t, r.out, "nothing to change")

	saved := filepath.Join(t.TempDir(), "saved.toml")
	r = h.run("save", saved)
	require.Zero(t, r.code, r.err)
	text, err = os.ReadFile(saved)
	require.NoError(t, err)
	for _, want := range []string{fmt.Sprintf("[isolation]\ncpus = \"%d\"\n", last), fmt.Sprintf("name = %q\n", n.name), fmt.Sprintf("action = %q\n", action),
		"\"vm.swappiness\" = 7\n", "\"net.core.rps_sock_flow_entries\" = 4096\n", "rps = \"0-1\"\nrps_flows = 512\n"} {
		assert.Contains(t, string(text), want)
	}
	r = h.run("verify", saved)
	require.Zero(t, r.code, r.out+r.err)

	r = h.run("undo", "--all")
	require.Zero(t, r.code, r.out+r.err)
	assert.Empty(t, differences(before, masks(t)))
	assert.Equal(t, affinity, affinityOf(t, pid))
	text, err = os.ReadFile("/proc/sys/vm/swappiness")
	require.NoError(t, err)
	assert.Equal(t, string(swappiness), string(text))
	r = h.run("verify", saved)
	assert.Equal(t, exit.Drift, r.code)
}

// without takes a line out of a file.
func without(t *testing.T, file, line string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), line, "", 1)), 0o644))
}

// TestVMIncludeOfAProfile: the CPUs that a profile has isolated are taken in again
// as those of piton isolate are, and what else it did stays.
func TestVMIncludeOfAProfile(t *testing.T) {
	s := needSmallVM(t)
	h, pid, pinned := newHome(t), sleeper(t), sleeper(t)
	last := fmt.Sprint(s.cpus - 1)
	file := profileFile(t, "[isolation]\ncpus = '"+last+"'\n[sysctl]\n'vm.swappiness' = 7\n")
	require.Zero(t, h.run("pin", fmt.Sprint(pinned), "--cpu", last).code)
	before, affinity := everyMask(t), affinityOf(t, pid)
	r := h.run("apply", file, "--yes")
	require.Zero(t, r.code, r.err)
	require.NotEqual(t, affinity, affinityOf(t, pid))
	r = h.run("include", last)
	require.Zero(t, r.code, r.err)
	assert.Equal(t, last, affinityOf(t, pinned))
	assert.Empty(t, unlike(before, everyMask(t)))
	text, err := os.ReadFile("/proc/sys/vm/swappiness")
	require.NoError(t, err)
	assert.Equal(t, "7\n", string(text), "that is no isolation")
	r = h.run("include", last)
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "not isolated")
	require.Zero(t, h.run("undo", "--all").code)
	text, err = os.ReadFile("/proc/sys/vm/swappiness")
	require.NoError(t, err)
	assert.NotEqual(t, "7\n", string(text))
}
