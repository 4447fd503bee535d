package kernel

import (
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
