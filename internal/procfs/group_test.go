package procfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func TestOrphaned(t *testing.T) {
	type process struct {
		pid, ppid, group, session int
		state                     string
	}
	terminal, shell := process{5, 1, 5, 5, "S"}, process{10, 5, 10, 10, "S"}
	for name, tc := range map[string]struct {
		others []process
		self   process
		want   bool
	}{
		"below a shell":                       {[]process{terminal, shell}, process{20, 10, 20, 10, "S"}, false},
		"leads the session":                   {[]process{terminal}, process{20, 5, 20, 20, "S"}, true},
		"below a shell without job control":   {[]process{terminal, shell}, process{20, 10, 10, 10, "S"}, true},
		"sudo between":                        {[]process{terminal, shell, {15, 10, 15, 10, "S"}}, process{20, 15, 15, 10, "S"}, false},
		"its parent ended":                    {[]process{{1, 0, 1, 1, "S"}}, process{20, 1, 20, 10, "S"}, true},
		"another member has the shell still":  {[]process{{1, 0, 1, 1, "S"}, terminal, shell, {21, 10, 20, 10, "S"}}, process{20, 1, 20, 10, "S"}, false},
		"one that has ended does not count":   {[]process{{1, 0, 1, 1, "S"}, terminal, shell, {21, 10, 20, 10, "Z"}}, process{20, 1, 20, 10, "S"}, true},
		"the first of a container":            {nil, process{1, 0, 1, 1, "S"}, true},
		"in the session of another namespace": {nil, process{1, 0, 0, 0, "S"}, false},
		"its parent is hidden":                {nil, process{20, 10, 20, 10, "S"}, false},
	} {
		root := t.TempDir()
		for _, p := range append(tc.others, tc.self) {
			dir := filepath.Join(root, "proc", fmt.Sprint(p.pid))
			require.NoError(t, os.MkdirAll(dir, 0o755))
			line := fmt.Sprintf("%d (x) %s %d %d %d 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 0 1 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
				p.pid, p.state, p.ppid, p.group, p.session)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(line), 0o644))
		}
		assert.Equal(t, tc.want, New(root).orphaned(kernel.TID(tc.self.pid)), name)
	}
}

func TestOrphanedSessionLeader(t *testing.T) {
	fs := New("/")
	if !fs.OwnNumbers() {
		t.Skip("/proc is of another PID namespace")
	}
	for _, leads := range []bool{false, true} {
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: leads, Setpgid: !leads}
		require.NoError(t, cmd.Start())
		assert.Equal(t, leads, fs.orphaned(kernel.TID(cmd.Process.Pid)))
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
}
