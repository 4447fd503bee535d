package kernel

import "runtime"

// OnThread runs f on an OS thread of its own, which ends with it: what f does to
// its thread (tid 0 of the calls of this package) touches nothing else.
func OnThread(f func() error) error {
	outcome := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		outcome <- f()
	}()
	return <-outcome
}
