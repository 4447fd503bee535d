package guard

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// The part of a CPU that is a thread's above all others: 10 guards of 9 threads, 18 %
// each, fit into what DEADLINE tasks have of two CPUs: of each, sched_rt_runtime_us less
// the fair server's part (sched(7)), 90 or 95 % by default from Linux 6.1 to 7.3. While a
// thread is alone it takes more, with reclaim.
const (
	deadlineRuntime = 10 * time.Millisecond
	deadlinePeriod  = 100 * time.Millisecond
	// othersRuntime is the part that each other thread of the process gets.
	othersRuntime = time.Millisecond
	// highestPriority is FIFO's, where DEADLINE is not to be had.
	highestPriority = 99
	// heapMost is what the process may use before memory is collected; until then it is
	// not, so that nothing but its own work is done when its time comes.
	heapMost = 256 << 20
)

// deadline makes a thread of this process, 0 = the calling one, DEADLINE, so that it
// runs before every FIFO and RR task, and on every CPU: the kernel refuses a DEADLINE
// task with another affinity (EPERM). Such a task has no DEADLINE threads (sched(7)), so
// what it starts is ordinary.
func deadline(tid kernel.TID, part time.Duration) error {
	sched := kernel.System()
	if online, err := attr.ReadCPUs("/", "online"); err == nil {
		_ = sched.SetAffinity(tid, online)
	}
	return sched.SetAttr(tid, kernel.SchedAttr{Policy: kernel.Deadline, ResetOnFork: true, RuntimeNs: uint64(part),
		DeadlineNs: uint64(deadlinePeriod), PeriodNs: uint64(deadlinePeriod), Reclaim: true})
}

// Overtake makes the running process fit for a machine that real-time tasks have
// already taken: every thread is DEADLINE, the caller's first, and its memory is
// locked. RR 99 would be worse than ordinary behind spinners of FIFO 99: the kernel
// leaves ordinary tasks some time as a rule (procfs.Throttling), and an RR thread that
// holds one of the Go scheduler's processors would keep it for good. Where DEADLINE is
// refused the process becomes FIFO 99. The calling goroutine keeps its thread. It returns
// what could not be had.
func Overtake() (caveats []string) {
	if err := AboveAll(); err != nil {
		caveats = append(caveats, fmt.Sprintf(change.CaveatNotDeadline+", so real-time tasks of priority %d run first: %v", highestPriority, err))
		caveats = append(caveats, raise()...)
	} else {
		keepUp()
	}
	if err := kernel.LockMemory(); err != nil {
		caveats = append(caveats, fmt.Sprintf("memory not locked, so it may be read from a disk: %v", err))
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapMost)
	return caveats
}

// AboveAll makes the calling thread alone DEADLINE, and the goroutine keep it.
func AboveAll() error {
	runtime.LockOSThread()
	return deadline(0, deadlineRuntime)
}

// Subside makes every thread of a DEADLINE process ordinary again and waits for a period, for a
// process that is about to end: the kernel keeps a timer for that long for a DEADLINE task that
// has ended (inactive_task_timer, kernel/sched/deadline.c), and Linux 6.12 panicked in it beside
// a hotplug. The timer of a task that still lives goes where the task goes.
func Subside() {
	if a, err := kernel.System().Attr(0); err == nil && a.Policy == kernel.Deadline {
		_ = setThreads(kernel.Other, 0, false)
		time.Sleep(deadlinePeriod)
	}
}

// keepUp makes those threads of a DEADLINE process DEADLINE that are not yet, the ones
// that the Go runtime starts. Where no DEADLINE time is left (EBUSY) they stay ordinary.
func keepUp() {
	_ = eachThread(func(tid kernel.TID) error {
		if a, err := kernel.System().Attr(tid); err != nil || a.Policy == kernel.Other {
			_ = deadline(tid, othersRuntime)
		}
		return nil
	})
}

// raise makes every thread of the process FIFO 99, or as high as RLIMIT_RTPRIO allows.
func raise() (caveats []string) {
	err := setThreads(kernel.FIFO, highestPriority, false)
	if errors.Is(err, syscall.EPERM) {
		if limits, limitErr := kernel.ReadLimits(kernel.TID(os.Getpid())); limitErr == nil && limits.RTPrio > 0 {
			err = setThreads(kernel.FIFO, int(min(limits.RTPrio, highestPriority)), false)
			caveats = append(caveats, fmt.Sprintf(change.CaveatPriority+" %d (RLIMIT_RTPRIO)", limits.RTPrio))
		}
	}
	if err != nil {
		return []string{fmt.Sprintf(change.CaveatOrdinary+", so late on a starved machine: %v", err)}
	}
	return caveats
}

// setThreads sets the policy of every thread of the process.
func setThreads(policy kernel.Policy, rtprio int, reset bool) error {
	return eachThread(func(tid kernel.TID) error { return kernel.System().SetPolicy(tid, policy, rtprio, reset) })
}

// eachThread calls f with every thread of the process until two looks find no new one.
func eachThread(f func(kernel.TID) error) error {
	done := map[kernel.TID]bool{}
	for clean := 0; clean < 2; clean++ {
		tids, err := procfs.New("/").Threads(kernel.TID(os.Getpid()))
		if err != nil {
			return err
		}
		for _, tid := range tids {
			if done[tid] {
				continue
			}
			clean, done[tid] = -1, true
			if err := f(tid); err != nil && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, procfs.ErrGone) {
				return err
			}
		}
	}
	return nil
}

// Self is the running process as one that may be starved by others.
type Self struct{}

// SelfPriority is what a starved screen asks for: below the guards of whatever is
// at the top.
const SelfPriority = highestPriority - 1

// Delay returns how long the threads that the process has now have run so far, and
// waited for a CPU meanwhile (schedstat).
func (Self) Delay() (ran, waited time.Duration, err error) {
	err = eachThread(func(tid kernel.TID) error {
		st, err := procfs.New("/").Schedstat(kernel.TID(os.Getpid()), tid)
		ran += time.Duration(st.RunNs)
		waited += time.Duration(st.RunDelayNs)
		return err
	})
	return ran, waited, err
}

// Raise makes every thread of the process RR at SelfPriority. Threads and children
// that it starts later are ordinary, so that what the user starts does not run before
// everything else; call it again from time to time.
func (Self) Raise() error { return setThreads(kernel.RR, SelfPriority, true) }

// Drop makes every thread ordinary again.
func (Self) Drop() error { return setThreads(kernel.Other, 0, false) }
