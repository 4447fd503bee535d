package kernel

import (
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"piton/internal/crash"
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
	err := asInherited(func() error { return syscall.Exec(path, argv, env) })
	return fmt.Errorf("execute %s: %w", path, err)
}

// CallingThread is the number of the calling thread.
func CallingThread() TID { return TID(unix.Gettid()) }

// OnThread runs f on an OS thread of its own, which ends with it: what f does to
// its thread (tid 0 of the calls of this package) touches nothing else.
func OnThread(f func() error) error {
	outcome := make(chan error)
	go func() {
		defer crash.Handle()
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// The main thread is parked instead. As long as it is held here, another
			// goroutine gets another thread.
			defer runtime.UnlockOSThread()
			outcome <- OnThread(f)
			return
		}
		outcome <- f()
	}()
	return <-outcome
}
