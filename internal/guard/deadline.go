package guard

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The part of a CPU that is a thread's above all others, so that three of them
// fit into the 95 % that DEADLINE tasks have of each CPU as a rule (sched(7)): the
// guards of two changes, and a rescue. While it is alone it takes more.
const (
	deadlineRuntime = 30 * time.Millisecond
	deadlinePeriod  = 100 * time.Millisecond
)

// othersRuntime is the part that each other thread of a rescue gets. With reclaim it
// takes what is unused.
const othersRuntime = time.Millisecond

// AboveAll makes the calling thread DEADLINE and the goroutine keep it, so that it
// runs before every FIFO and RR task. Those of priority 99 keep others of their
// own priority waiting for as long as they like, and so keep the other threads of
// this process: the goroutine waits by kernel.Sleep and by nothing that needs them.
func AboveAll() error {
	runtime.LockOSThread()
	return aboveAll(0, deadlineRuntime)
}

// aboveAll makes a thread DEADLINE. Such a task has no DEADLINE threads (sched(7)), so
// what it starts is ordinary.
func aboveAll(tid kernel.TID, part time.Duration) error {
	return kernel.System().SetAttr(tid, kernel.SchedAttr{Policy: kernel.Deadline, ResetOnFork: true, RuntimeNs: uint64(part),
		DeadlineNs: uint64(deadlinePeriod), PeriodNs: uint64(deadlinePeriod), Reclaim: true})
}

// Overtake makes the running process fit for a machine that real-time tasks have
// already taken: as Prepare, but every thread is DEADLINE, the caller's first. RR 99
// would be worse than ordinary behind spinners of FIFO 99: the kernel leaves ordinary
// tasks 5 % (sched_rt_runtime_us, since Linux 6.12 the fair server), and an RR
// thread that holds one of the Go scheduler's processors would keep it for good.
// The calling goroutine keeps its thread. It returns what could not be had, in sentences.
func Overtake() (caveats []string) {
	runtime.LockOSThread()
	sched, caller := kernel.System(), kernel.TID(syscall.Gettid())
	online, onlineErr := cpusOnline()
	overtake := func(tid kernel.TID, part time.Duration) error {
		if onlineErr == nil {
			_ = sched.SetAffinity(tid, online) // a DEADLINE task may run on all CPUs, or is refused (EPERM)
		}
		return aboveAll(tid, part)
	}
	if err := overtake(caller, deadlineRuntime); err != nil {
		caveats = append(caveats, fmt.Sprintf("it does not run before real-time tasks of priority %d: %v", highestPriority, err))
		return append(caveats, Prepare(highestPriority, cpuset.Set{})...)
	}
	_ = eachThread(kernel.TID(os.Getpid()), func(tid kernel.TID) error {
		if tid != caller {
			_ = overtake(tid, othersRuntime) // EBUSY, no DEADLINE time is left: it stays ordinary
		}
		return nil
	})
	return append(caveats, holdMemory()...)
}
