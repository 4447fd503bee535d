package kernel

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on an OS thread of its own, which ends with it: what f does to
// its thread (tid 0 of the calls of this package) touches nothing else.
func OnThread(f func() error) error {
	outcome := make(chan error)
	go func() {
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
