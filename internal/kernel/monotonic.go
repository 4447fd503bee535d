package kernel

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns the time of CLOCK_MONOTONIC, the clock that stamps what
// eBPF programs report.
func Monotonic() time.Duration {
	var ts unix.Timespec
	// It cannot fail for this clock and a valid pointer (clock_gettime(2)).
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}
