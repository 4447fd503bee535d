package kernel

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec replaces the calling process by the program at path, after place has set
// up the calling thread: affinity, policy, nice and I/O priority pass through
// execve(2), and the thread's tid becomes the process's PID. It returns only
// on failure. argv[0] is the program's name.
func Exec(path string, argv, env []string, place func(TID) error) error {
	runtime.LockOSThread() // for good: it is either gone or of no more use
	if err := place(TID(unix.Gettid())); err != nil {
		return err
	}
	return fmt.Errorf("execute %s: %w", path, syscall.Exec(path, argv, env))
}

// Start starts cmd from a thread that place has set up, so that the command
// is placed before its first instruction: children inherit affinity, policy,
// nice and I/O priority (sched(7), "reset on fork" apart). The thread is thrown
// away afterwards, so cmd must not ask for a signal on its parent's death
// (SysProcAttr.Pdeathsig), which means the thread's.
func Start(cmd *exec.Cmd, place func(TID) error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the runtime ends the thread
		if err := place(TID(unix.Gettid())); err != nil {
			result <- err
			return
		}
		result <- cmd.Start()
	}()
	return <-result
}
