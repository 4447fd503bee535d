package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"

	"piton/internal/cpuset"
)

// OpenMigrationCounter opens perf's software counter of the tasks that arrive
// on one CPU from another (PERF_COUNT_SW_CPU_MIGRATIONS, perf_event_open(2)).
// It counts at the task's next turn there, so several moves made while it was
// queued are one. It needs CAP_PERFMON (EACCES), or perf_event_paranoid ≤ 0; an
// offline CPU is ENODEV, a kernel without perf events ENOSYS or ENOENT.
func OpenMigrationCounter(cpu cpuset.CPU) (int, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: unix.PERF_COUNT_SW_CPU_MIGRATIONS,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := perfEventOpen(&attr, -1, int(cpu), -1)
	if err != nil {
		return -1, fmt.Errorf("perf_event_open of CPU migrations on cpu %d: %w", cpu, err)
	}
	return fd, nil
}

// perfEventOpen opens a counter that is closed by execve(2) (perf_event_open(2)).
func perfEventOpen(attr *unix.PerfEventAttr, pid, cpu, leader int) (fd int, err error) {
	err = privileged(func() error {
		fd, err = unix.PerfEventOpen(attr, pid, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
		return err
	}, CapPerfmon)
	return fd, err
}

// OpenCycleCounter opens perf's hardware counter of the cycles that the calling
// thread spends outside the kernel (PERF_COUNT_HW_CPU_CYCLES). It needs
// perf_event_paranoid ≤ 2 or CAP_PERFMON (EACCES); without a PMU, as in most
// virtual machines, it is ENOENT, ENODEV or EOPNOTSUPP.
func OpenCycleCounter() (int, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_HARDWARE,
		Config: unix.PERF_COUNT_HW_CPU_CYCLES,
		Bits:   unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := perfEventOpen(&attr, 0, -1, -1)
	if err != nil {
		return -1, fmt.Errorf("perf_event_open of cycles: %w", err)
	}
	return fd, nil
}

// ReadCounter reads a perf counter. Reading one whose CPU went offline since it
// was opened gives its last value, or io.EOF when the kernel took it apart.
func ReadCounter(fd int) (uint64, error) {
	var b [8]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return 0, err
	}
	if n < len(b) {
		return 0, io.EOF
	}
	return binary.NativeEndian.Uint64(b[:]), nil
}

// OpenMissCounter opens perf's hardware counter of the last-level cache misses of
// the calling thread (PERF_COUNT_HW_CACHE_MISSES), in the kernel too where it may
// look there. Errors are those of OpenCycleCounter.
func OpenMissCounter() (int, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_HARDWARE,
		Config: unix.PERF_COUNT_HW_CACHE_MISSES,
		Bits:   unix.PerfBitExcludeHv,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := perfEventOpen(&attr, 0, -1, -1)
	if errors.Is(err, unix.EACCES) {
		attr.Bits |= unix.PerfBitExcludeKernel
		fd, err = perfEventOpen(&attr, 0, -1, -1)
	}
	if err != nil {
		return -1, fmt.Errorf("perf_event_open of cache misses: %w", err)
	}
	return fd, nil
}
