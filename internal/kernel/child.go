package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

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

// AdoptOrphans makes the calling process the parent of those of its descendants whose own
// parent ends (PR_SET_CHILD_SUBREAPER(2const)). It has to wait for them.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", err)
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

// childInfo is the beginning of siginfo_t as it tells of a child (sigaction(2)).
type childInfo struct {
	_      [2]int32   // signal, errno
	code   int32      // CLD_EXITED and so on
	_      [0]uintptr // what differs by signal begins where a pointer may
	_      [2]int32   // PID, UID
	status int32      // of its exit, or the signal that killed or stopped it
}

// cldStopped is CLD_STOPPED of siginfo.h, which x/sys does not have.
const cldStopped = 5

// AwaitExit waits until a child of the caller has ended, says whether with status
// 0, and leaves it to be waited for: until then its number is nobody else's
// (waitid(2), WNOWAIT).
func AwaitExit(pid TID) (ok bool, err error) {
	info, err := waitid(pid, unix.WEXITED|unix.WNOWAIT)
	return err == nil && info.status == 0, err
}

// AwaitStop is AwaitExit that ends, with true, when the child is stopped, too.
func AwaitStop(pid TID) (stopped bool, err error) {
	info, err := waitid(pid, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT)
	if err != nil || info.code != cldStopped {
		return false, err
	}
	_, err = waitid(pid, unix.WSTOPPED|unix.WNOHANG) // so that the next call waits for another stop
	return true, err
}

func waitid(pid TID, options int) (*childInfo, error) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, int(pid), &info, options, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("waitid of %d: %w", pid, err)
		}
		return (*childInfo)(unsafe.Pointer(&info)), nil
	}
}
