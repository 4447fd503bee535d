package guard

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"piton/internal/kernel"
)

// The parts of a CPU that the threads may take. All together have to fit into one
// CPU's bandwidth for DEADLINE tasks, 95 % as a rule (sched(7)).
const (
	deadlinePeriod = 100 * time.Millisecond
	workerPart     = 40 * time.Millisecond // of the thread that does the work
	otherPart      = 5 * time.Millisecond
)

// spareThreads are started beforehand: those that the Go runtime starts later are
// ordinary ones, as a DEADLINE task has no DEADLINE children.
const spareThreads = 3

// aboveAll makes the threads of the process DEADLINE, so that they run before every
// FIFO and RR task, those of priority 99 included, which keep others of their own
// priority waiting for as long as they like. Once the bandwidth is used up, the
// remaining threads stay what they are.
func aboveAll() error {
	runtime.LockOSThread()
	startThreads(spareThreads)
	sched := kernel.System()
	part := func(tid kernel.TID, run time.Duration) error {
		return sched.SetAttr(tid, kernel.SchedAttr{Policy: kernel.Deadline, ResetOnFork: true, RuntimeNs: uint64(run),
			DeadlineNs: uint64(deadlinePeriod), PeriodNs: uint64(deadlinePeriod)})
	}
	if err := part(0, workerPart); err != nil { // 0 is the calling thread
		return err
	}
	err := eachThread(kernel.TID(os.Getpid()), func(tid kernel.TID) error {
		if attr, err := sched.Attr(tid); err != nil || attr.Policy == kernel.Deadline {
			return err
		}
		return part(tid, otherPart)
	})
	if errors.Is(err, syscall.EBUSY) {
		return nil
	}
	return err
}

// startThreads makes the runtime start n threads, and leaves them idle.
func startThreads(n int) {
	running, release := make(chan struct{}), make(chan struct{})
	for range n {
		go func() {
			runtime.LockOSThread()
			running <- struct{}{}
			<-release
			runtime.UnlockOSThread()
		}()
	}
	for range n {
		<-running
	}
	close(release)
}
