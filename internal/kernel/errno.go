package kernel

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrnoName is the name of an error number, "EINVAL"; "" for one without.
func ErrnoName(e syscall.Errno) string { return unix.ErrnoName(e) }

// DeviceNumber is how the kernel itself writes the device number that stat(2) gives
// (include/linux/kdev_t.h).
func DeviceNumber(dev uint64) uint32 { return unix.Major(dev)<<20 | unix.Minor(dev) }
