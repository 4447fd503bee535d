package guard

import (
	"runtime"
	"time"

	"piton/internal/kernel"
)

// The part of a CPU that is a thread's above all others, so that three of them
// fit into the 95 % that DEADLINE tasks have of each CPU as a rule (sched(7)): the
// guards of two changes, and a rescue. While it is alone it takes more.
const (
	deadlineRuntime = 30 * time.Millisecond
	deadlinePeriod  = 100 * time.Millisecond
)

// AboveAll makes the calling thread DEADLINE and the goroutine keep it, so that it
// runs before every FIFO and RR task. Those of priority 99 keep others of their
// own priority waiting for as long as they like, and so keep the other threads of
// this process: the goroutine waits by kernel.Sleep and by nothing that needs them.
func AboveAll() error {
	runtime.LockOSThread()
	// A DEADLINE task has no DEADLINE threads, so what it starts is ordinary.
	return kernel.System().SetAttr(0, kernel.SchedAttr{Policy: kernel.Deadline, ResetOnFork: true, RuntimeNs: uint64(deadlineRuntime),
		DeadlineNs: uint64(deadlinePeriod), PeriodNs: uint64(deadlinePeriod), Reclaim: true})
}
