package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Counter is one of the kernel's generalised performance counters
// (perf_event_open(2)).
type Counter struct {
	Name   string // "instructions"
	typ    uint32
	config uint64
}

// Hardware reports whether it takes a PMU.
func (c Counter) Hardware() bool { return c.typ == unix.PERF_TYPE_HARDWARE }

// The counters. Those of the hardware need a PMU, which most virtual machines
// lack; those of the software always count.
var (
	Cycles          = Counter{"cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES}
	Instructions    = Counter{"instructions", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS}
	Branches        = Counter{"branches", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS}
	BranchMisses    = Counter{"branch_misses", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES}
	CacheReferences = Counter{"cache_references", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_REFERENCES}
	CacheMisses     = Counter{"cache_misses", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES}
	TaskMigrations  = Counter{"migrations", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_MIGRATIONS}
	TaskSwitches    = Counter{"switches", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES}
)

// IsNoCounter reports whether the error of opening a counter says that the machine
// has none of the kind: without a PMU, or with one that does not count this.
func IsNoCounter(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP)
}

// OpenTaskCounter counts one thread, and the threads and processes that it makes
// from now on. leader is a counter of the same thread that it is always scheduled
// together with, so that ratios of the two are of the same time; -1 for none. It
// needs to be allowed to trace the task; EACCES says that perf_event_paranoid
// forbids it, an error that IsNoCounter that there is none of the kind here, and
// EINVAL that the PMU has no room for it beside the leader and its group.
func OpenTaskCounter(c Counter, tid TID, leader int) (int, error) {
	attr := unix.PerfEventAttr{
		Type: c.typ, Config: c.config,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        unix.PerfBitInherit | unix.PerfBitExcludeHv,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := perfEventOpen(&attr, int(tid), -1, leader)
	if errors.Is(err, unix.EACCES) && c.Hardware() { // switches and migrations are in the kernel: 0 would be counted of them
		attr.Bits |= unix.PerfBitExcludeKernel // perf_event_paranoid 2
		fd, err = perfEventOpen(&attr, int(tid), -1, leader)
	}
	if err != nil {
		return -1, fmt.Errorf("perf_event_open of %s of tid %d: %w", c.Name, tid, err)
	}
	return fd, nil
}

// ReadTaskCounter reads what OpenTaskCounter counted. Where more counters were
// wanted than the PMU has they take turns: it counted for running of the enabled
// nanoseconds.
func ReadTaskCounter(fd int) (value, enabledNs, runningNs uint64, err error) {
	var b [24]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return 0, 0, 0, err
	}
	if n < len(b) {
		return 0, 0, 0, io.EOF
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	return word(0), word(1), word(2), nil
}
