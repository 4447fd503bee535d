package kernel

import (
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// thp is what the processes that are started are not to inherit.
var thp struct {
	sync.Mutex
	disabled bool // by DisableHugePages
	starting int  // processes that are being started
}

// DisableHugePages keeps the kernel from giving this process further transparent huge pages
// (PR_SET_THP_DISABLE(2const)). It clears one of 2 MB at once, 4 ms on a slow CPU, and with
// preempt=none or voluntary no real-time task gets that CPU meanwhile. What is started by
// Start, Run and Exec has what this process was started with.
func DisableHugePages() {
	thp.Lock()
	defer thp.Unlock()
	if already, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0); err != nil || already != 0 {
		return // by whoever started piton: for the processes that it starts, too
	}
	thp.disabled = true
	disableTHP(thp.starting == 0)
}

// Start starts cmd, for which DisableHugePages is undone: it passes through fork and execve.
func Start(cmd *exec.Cmd) error { return asInherited(cmd.Start) }

// Run starts cmd as Start does, and waits for it.
func Run(cmd *exec.Cmd) error {
	if err := Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// asInherited calls start, which ends after execve. Another thread of this process may get a
// huge page meanwhile.
func asInherited(start func() error) error {
	count := func(n int) {
		thp.Lock()
		defer thp.Unlock()
		if thp.starting += n; thp.disabled {
			disableTHP(thp.starting == 0)
		}
	}
	count(1)
	defer count(-1)
	return start()
}

func disableTHP(is bool) {
	value := uintptr(0)
	if is {
		value = 1
	}
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, value, 0, 0, 0) // nothing depends on it
}
