package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// processName is what ps shows for a guard, at most 15 bytes (TASK_COMM_LEN).
// It has nothing of piton's name, so that killing all pitons by name spares it.
const processName = "dead-man-switch"

// settleIn makes the process hard to end by accident: named by what it is, spared
// by the OOM killer, and out of a session that systemd may end.
func settleIn(root string) (caveats []string) {
	self := kernel.TID(os.Getpid())
	_ = eachThread(self, func(tid kernel.TID) error { // a name only; those to come inherit it
		return os.WriteFile(filepath.Join(root, "proc/self/task", strconv.Itoa(int(tid)), "comm"), []byte(processName), 0)
	})
	// -1000 is OOM_SCORE_ADJ_MIN (proc_pid_oom_score_adj(5)); it takes CAP_SYS_RESOURCE.
	if err := os.WriteFile(filepath.Join(root, "proc/self/oom_score_adj"), []byte("-1000"), 0); err != nil {
		caveats = append(caveats, fmt.Sprintf("it is not protected from the OOM killer (needs CAP_SYS_RESOURCE): %v", err))
	}
	if err := leaveSession(root); err != nil {
		caveats = append(caveats, fmt.Sprintf("systemd ends it together with the session or service that started it "+
			"(KillUserProcesses=, KillMode=): %v", err))
	}
	return caveats
}

// initScope is the cgroup of systemd itself, the one that it never ends.
const initScope = "init.scope"

// leaveSession moves the process out of a cgroup that systemd may end, to the one
// that systemd is in. Without systemd there is nothing to leave.
func leaveSession(root string) error {
	if _, err := os.Stat(filepath.Join(root, "run/systemd/system")); err != nil {
		return nil // sd_booted(3)
	}
	groups, err := procfs.New(root).Cgroup(kernel.TID(os.Getpid()))
	if err != nil {
		return err
	}
	path, ok := groups.Controller("name=systemd")
	if !ok {
		path, _ = groups.Unified()
	}
	if path == "/" || strings.HasSuffix(path, initScope) {
		return nil
	}
	for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/systemd"} {
		err = os.WriteFile(filepath.Join(root, mount, initScope, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
		if err == nil {
			return nil
		}
	}
	return err
}
