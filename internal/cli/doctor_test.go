package cli

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/cli/exit"
	"piton/internal/cli/watchcmd"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

// features runs doctor and checks what is true of every answer.
func features(t *testing.T, out string) map[string]map[string]any {
	t.Helper()
	lines := jsonLines(t, out)
	found := map[string]map[string]any{}
	states := map[string]float64{}
	for _, f := range ofType(lines, "feature") {
		id := f["id"].(string)
		assert.NotContains(t, found, id)
		found[id] = f
		state := f["state"].(string)
		states[state]++
		assert.Contains(t, []string{"best", "fallback", "missing", "unknown"}, state, id)
		if state == "best" {
			assert.Empty(t, f["reason"], id)
			assert.Empty(t, f["command"], id)
			assert.NotEmpty(t, f["source"], id)
		} else {
			assert.NotEmpty(t, f["reason"], id)
			assert.NotEqual(t, "setcap", f["command"], "%s: the command is written out", id)
		}
		if state == "fallback" {
			assert.NotEmpty(t, f["source"], id)
		}
	}
	summary := ofType(lines, "summary")[0]
	for _, state := range []string{"best", "fallback", "missing", "unknown"} {
		assert.Equal(t, states[state], summary[state], state)
	}
	return found
}

func TestDoctor(t *testing.T) {
	h := newHome(t)
	r := h.run("doctor", "-o", "json")
	require.Zero(t, r.code, r.err)
	found := features(t, r.out)
	for id, f := range map[string]string{
		"tasks": "ebpf-walk", "migrations": "ebpf-migrations", "moves": "ebpf-moves", "ledger": "ebpf-ledger", "wakes": "ebpf-wakes", "waits": "ebpf-waits", "changes": "ebpf-changes", "flows": "ebpf-flows",
		"counters": "counters", "tune-others": "tune-others", "read-others": "read-others",
	} {
		err := watchcmd.Probe(f)
		assert.Equal(t, err == nil, found[id]["state"] == "best", "%s: %v", id, err)
	}
	assert.Positive(t, found["tasks"]["sample_ns"])
	assert.Contains(t, found["journal"]["source"], h.env[0][len("XDG_STATE_HOME="):])
	limits, err := procfs.ReadThrottling(procfs.New("/"))
	require.NoError(t, err)
	mode, assumed := change.Local().GroupMode()
	assert.Equal(t, limits.Brief(), found["ordinary"]["source"])
	assert.Equal(t, mode.Rule(), found["groups"]["source"])
	for id, assumed := range map[string]bool{"ordinary": limits.Assumed, "groups": assumed} {
		assert.Equal(t, assumed, found[id]["state"] == "fallback", id)
	}
	text := h.run("doctor")
	require.Zero(t, text.code, text.err)
	for _, f := range found {
		assert.Contains(t, text.out, f["title"])
	}
}

// TestDoctorAsNobody is what someone without rights is told.
func TestDoctorAsNobody(t *testing.T) {
	kerneltest.NeedRoot(t, "to become somebody else")
	cmd := asNobody(t, "doctor", "-o", "json")
	out, err := cmd.Output()
	require.NoError(t, err)
	found := features(t, string(out))
	for _, id := range []string{"tasks", "migrations", "moves", "ledger", "wakes", "changes"} {
		assert.NotEqual(t, "best", found[id]["state"], id)
		assert.Contains(t, found[id]["reason"], "CAP_BPF", id)
		assert.Regexp(t, `^sudo chgrp \$\(id -gn\) (\S+/piton) && sudo chmod 0750 \S+ && sudo setcap cap_bpf,cap_perfmon,cap_sys_nice\+p \S+/piton$`, found[id]["command"], id)
	}
	assert.Equal(t, "missing", found["real-time"]["state"])
	assert.Contains(t, found["real-time"]["command"], "cap_sys_nice")
	assert.Equal(t, "sudo piton doctor", found["programs"]["command"])
	assert.Equal(t, "missing", found["journal"]["state"])
	assert.Equal(t, "fallback", found["guard"]["state"])
	assert.Contains(t, found["guard"]["reason"], "the OOM killer may choose it (needs CAP_SYS_RESOURCE)")
}

// asNobody prepares piton as a process of a user who may do nothing.
func asNobody(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	kerneltest.NeedOpenTemp(t)
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "piton-nobody") // t.TempDir's are not open to others
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.WriteFile(dir+"/piton", self, 0o755))
	require.NoError(t, os.Chmod(dir+"/piton", 0o755)) // whatever the umask
	cmd := exec.Command(dir+"/piton", args...)
	cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

func TestDoctorRefuses(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(dir+"/proc", 0o755))
	for _, args := range []string{"doctor", "watch 1"} {
		r := newHome(t).run(append([]string{"--host-root", dir}, strings.Fields(args)...)...)
		assert.Equal(t, exit.NotPermitted, r.code, r.err)
		assert.Contains(t, r.err, "this machine only")
	}
}
