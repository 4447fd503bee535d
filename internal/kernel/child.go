package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DieWithParent makes cmd's process get SIGKILL when the thread that starts it
// ends (PR_SET_PDEATHSIG(2const)), whatever policy it runs under. The caller
// stays locked to its OS thread (runtime.LockOSThread) from Start to Wait.
func DieWithParent(cmd *exec.Cmd) {
	attributes(cmd).Pdeathsig = syscall.SIGKILL
}

// FollowParent does to the calling process what DieWithParent does to a child: the
// kernel forgets that when it executes a program with file capabilities. With the
// calling thread it passes through Exec to a program without.
func FollowParent() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_PDEATHSIG: %w", err)
	}
	return nil
}

func attributes(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}

// Usage is what a process and its waited-for children used, getrusage(2).
type Usage struct {
	User, System           time.Duration
	MaxRSSBytes            uint64
	MinorFaults            uint64
	MajorFaults            uint64 // those that needed reading from a disk
	Voluntary, Involuntary uint64 // context switches: it blocked, it was preempted
}

// UsageOf returns what an ended process used, as wait4(2) reported it.
func UsageOf(state *os.ProcessState) Usage {
	u, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return Usage{}
	}
	return Usage{
		User: state.UserTime(), System: state.SystemTime(),
		MaxRSSBytes: uint64(u.Maxrss) * 1024, // ru_maxrss is in KiB
		MinorFaults: uint64(u.Minflt), MajorFaults: uint64(u.Majflt),
		Voluntary: uint64(u.Nvcsw), Involuntary: uint64(u.Nivcsw),
	}
}
