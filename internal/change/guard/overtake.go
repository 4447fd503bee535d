package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// The part of a CPU that is a thread's above all others: 11 guards of 7 threads fit
// into the 95 % that DEADLINE tasks have of each of two CPUs as a rule (sched(7)).
// While a thread is alone it takes more, with reclaim.
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

// deadline makes a thread of this process DEADLINE, so that it runs before every FIFO
// and RR task. Such a task has no DEADLINE threads (sched(7)), so what it starts is
// ordinary.
func deadline(tid kernel.TID, part time.Duration) error {
	return kernel.System().SetAttr(tid, kernel.SchedAttr{Policy: kernel.Deadline, ResetOnFork: true, RuntimeNs: uint64(part),
		DeadlineNs: uint64(deadlinePeriod), PeriodNs: uint64(deadlinePeriod), Reclaim: true})
}

// Overtake makes the running process fit for a machine that real-time tasks have
// already taken: every thread is DEADLINE, the caller's first, and its memory is
// locked. RR 99 would be worse than ordinary behind spinners of FIFO 99: the kernel
// leaves ordinary tasks 5 % (sched_rt_runtime_us, since Linux 6.12 the fair server),
// and an RR thread that holds one of the Go scheduler's processors would keep it for
// good. Where DEADLINE is refused the process becomes FIFO 99. The calling goroutine
// keeps its thread. It returns what could not be had, in sentences.
func Overtake() (caveats []string) {
	runtime.LockOSThread()
	caller := kernel.TID(syscall.Gettid())
	toAllCPUs(caller)
	if err := deadline(caller, deadlineRuntime); err != nil {
		caveats = append(caveats, fmt.Sprintf("it is not DEADLINE, and waits behind real-time tasks of priority %d: %v", highestPriority, err))
		caveats = append(caveats, raise()...)
	} else {
		keepUp()
	}
	return append(caveats, holdMemory()...)
}

// AboveAll makes the calling thread alone DEADLINE, and the goroutine keep it.
func AboveAll() error {
	runtime.LockOSThread()
	toAllCPUs(0)
	return deadline(0, deadlineRuntime)
}

// toAllCPUs lets a thread run on every CPU: a DEADLINE task may, or is refused (EPERM).
func toAllCPUs(tid kernel.TID) {
	if online, err := cpusOnline(); err == nil {
		_ = kernel.System().SetAffinity(tid, online)
	}
}

// keepUp makes those threads of a DEADLINE process DEADLINE that are not yet, the ones
// that the Go runtime starts. Where no DEADLINE time is left (EBUSY) they stay ordinary.
func keepUp() {
	sched := kernel.System()
	_ = eachThread(kernel.TID(os.Getpid()), func(tid kernel.TID) error {
		if a, err := sched.Attr(tid); err != nil || a.Policy == kernel.Other {
			toAllCPUs(tid)
			_ = deadline(tid, othersRuntime)
		}
		return nil
	})
}

// raise makes every thread of the process FIFO 99, or as high as RLIMIT_RTPRIO allows.
func raise() (caveats []string) {
	err := fifo(highestPriority)
	if errors.Is(err, syscall.EPERM) && leaveBudget("/") {
		err = fifo(highestPriority)
	}
	if errors.Is(err, syscall.EPERM) {
		if limits, limitErr := kernel.ReadLimits(kernel.TID(os.Getpid())); limitErr == nil && limits.RTPrio > 0 {
			err = fifo(int(min(limits.RTPrio, highestPriority)))
			caveats = append(caveats, fmt.Sprintf("its real-time priority is %d (RLIMIT_RTPRIO)", limits.RTPrio))
		}
	}
	if err != nil {
		return []string{fmt.Sprintf("it has no real-time priority, and may come late on a starved machine: %v", err)}
	}
	return caveats
}

func fifo(rtprio int) error {
	sched := kernel.System()
	return eachThread(kernel.TID(os.Getpid()), func(tid kernel.TID) error { return sched.SetPolicy(tid, kernel.FIFO, rtprio, false) })
}

// holdMemory keeps the process's memory where it is, and mostly uncollected.
func holdMemory() (caveats []string) {
	if err := kernel.LockMemory(); err != nil {
		caveats = append(caveats, fmt.Sprintf("its memory is not locked, and may have to come from a disk: %v", err))
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapMost)
	return caveats
}

// leaveBudget moves the process to the root of the cpu cgroups, out of a group
// without a budget for real-time tasks (cpu.rt_runtime_us of version 1,
// sched-rt-group.rst), and reports whether it did.
func leaveBudget(root string) bool {
	for _, mount := range []string{"cpu", "cpu,cpuacct"} {
		dir := filepath.Join(root, "sys/fs/cgroup", mount)
		if _, err := os.Stat(filepath.Join(dir, "cpu.rt_runtime_us")); err != nil {
			continue
		}
		return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0) == nil
	}
	return false
}

func cpusOnline() (cpuset.Set, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(string(text))
}

// eachThread calls f with every thread of a process until there is none that is new.
func eachThread(pid kernel.TID, f func(kernel.TID) error) error {
	fs, done := procfs.New("/"), map[kernel.TID]bool{}
	for clean := 0; clean < 2; clean++ {
		tids, err := fs.Threads(pid)
		if err != nil {
			return err
		}
		for _, tid := range tids {
			if done[tid] {
				continue
			}
			clean = -1
			if err := f(tid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			done[tid] = true
		}
	}
	return nil
}
