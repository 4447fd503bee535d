package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ioprio_set(2): who, and how class and level share one number. Bits 3..12 hold
// hints for the device since Linux 6.5.
const (
	ioprioWhoProcess = 1
	ioprioClassShift = 13
	ioprioLevelMask  = 7
)

func (system) IOPrio(tid TID) (IOPrio, error) {
	raw, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, uintptr(tid), 0)
	if errno != 0 {
		return IOPrio{}, fmt.Errorf("ioprio_get of tid %d: %w", tid, errno)
	}
	return IOPrioOf(uint64(raw)), nil
}

// IOPrioOf reads the number that the kernel has for an I/O priority.
func IOPrioOf(raw uint64) IOPrio {
	prio := IOPrio{Class: IOClass(raw >> ioprioClassShift), Level: int8(raw & ioprioLevelMask)}
	if prio.Class == IONone || prio.Class == IOIdle {
		prio.Level = 0 // means nothing there; older kernels give 4
	}
	return prio
}

func setIOPrio(tid TID, prio IOPrio) error {
	raw := uintptr(prio.Class)<<ioprioClassShift | uintptr(prio.Level&ioprioLevelMask)
	err := privileged(func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(tid), raw)
		return errnoError(errno)
	}, CapSysNice)
	if err != nil {
		return fmt.Errorf("ioprio_set of tid %d to class %d level %d: %w", tid, prio.Class, prio.Level, err)
	}
	return nil
}
