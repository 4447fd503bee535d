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

	"piton/internal/kernel/standstill"
)

// TestVMGuardLeavesItsSession starts piton in a session's cgroup, as systemd makes
// them, and ends all of that, as it does when a user logs out (KillUserProcesses= of
// logind.conf(5)): the guard does its work.
func TestVMGuardLeavesItsSession(t *testing.T) {
	needGuardVM(t)
	const groups = "/sys/fs/cgroup"
	session := filepath.Join(groups, "user.slice/session-1.scope")
	for _, dir := range []string{"/run/systemd/system", filepath.Join(groups, "init.scope"), session} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	t.Cleanup(func() { _ = os.RemoveAll("/run/systemd") })
	h, pid := newHome(t), sleeper(t)
	watched := standstill.Watch()
	self, err := os.Executable()
	require.NoError(t, err)
	piton := exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && "$@" && exec sleep 60`,
		session, self, "nice", fmt.Sprint(pid), "5", "--revert-after", "15s")
	piton.Env = append(h.env, asProgram+"=1")
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	require.NoError(t, err)
	defer said.Close()
	piton.Stderr = said
	require.NoError(t, piton.Start())
	refused := func() bool {
		text, err := os.ReadFile(said.Name())
		return err == nil && strings.Contains(string(text), guardSilent)
	}
	eventually(t, "it is set, or refused", func() bool { return niceOf(t, pid) == 5 || refused() })
	if refused() {
		assert.Error(t, piton.Wait())
		t.Logf(standstill.Notice+"the guard did not answer; the guest stood still for %d ms in all", watched().Sum.Milliseconds())
		return
	}
	guard := h.guardOf()
	file := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", guard, name))
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, "0::/init.scope\n", file("cgroup"))
	assert.Equal(t, "-1000\n", file("oom_score_adj"), "never chosen by the OOM killer")
	eventually(t, "piton is done", func() bool { // one that is killed before is undone at once
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", piton.Process.Pid))
		return err == nil && string(comm) == "sleep\n"
	})
	require.NoError(t, os.WriteFile(filepath.Join(session, "cgroup.kill"), []byte("1"), 0)) // Linux 5.14
	assert.Error(t, piton.Wait(), "all of the session has ended")
	if stood := watched(); niceOf(t, pid) == 0 && stood.Judged(t) {
		assert.Fail(t, "it is reverted before the trial is over")
	}
	eventually(t, "it is reverted", func() bool { return niceOf(t, pid) == 0 })
}
