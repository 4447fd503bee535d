package kernel

import (
	"errors"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cpuclockSched is CPUCLOCK_SCHED of include/linux/posix-timers_types.h: the
// scheduler's own count, in nanoseconds.
const cpuclockSched = 2

// ProcessTime returns the time that all threads of a process spent on a CPU, in
// ns, those that ended included (clock_getcpuclockid(3)). Anybody may ask about
// any process of the caller's PID namespace. The error is a bare syscall.Errno,
// EINVAL when there is no such process.
func ProcessTime(pid TID) (uint64, error) {
	var ts unix.Timespec
	clock := ^int32(pid)<<3 | cpuclockSched // MAKE_PROCESS_CPUCLOCK
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		return 0, errno
	}
	return uint64(ts.Nano()), nil
}

// Monotonic returns the time of CLOCK_MONOTONIC, the clock that stamps what
// eBPF programs report.
func Monotonic() time.Duration {
	var ts unix.Timespec
	// It cannot fail for this clock and a valid pointer (clock_gettime(2)).
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// ThreadCPU returns the CPU time of the calling thread.
func ThreadCPU() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// Boottime returns the time of CLOCK_BOOTTIME: since boot, sleep included.
func Boottime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}

// SlackTimers lets timers of this process fire up to so much late, so that its threads wake
// less often (timerslack_ns of proc_pid_timerslack_ns(5), CAP_SYS_NICE). Threads that they
// start inherit it.
func SlackTimers(most time.Duration) error {
	tasks, err := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		err = errors.Join(err, os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", strconv.AppendInt(nil, most.Nanoseconds(), 10), 0))
	}
	return err
}
