package kernel

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Fair is what ordinary tasks have beside nice: a slice, and utilisation clamps.
type Fair interface {
	// Slice returns the EEVDF slice in ns of an OTHER or BATCH task, the default
	// one too; 0 for other policies and for kernels without (Linux before 6.12).
	Slice(tid TID) (ns uint64, err error)
	// BaseSlice returns the default slice, 0 where the kernel has none.
	BaseSlice() (ns uint64, err error)
	// Clamp returns the utilisation clamps; EOPNOTSUPP without CONFIG_UCLAMP_TASK.
	Clamp(tid TID) (Clamp, error)
}

// Clamp are the utilisation clamps of a task, each 0 to ClampMax: between them
// the kernel takes its load to be when it chooses a frequency and a CPU
// (Documentation/scheduler/sched-util-clamp.rst).
type Clamp struct{ Min, Max int }

// ClampMax is a whole CPU: SCHED_CAPACITY_SCALE.
const ClampMax = 1024

// clampReset gives a clamp back to the kernel (sched_setattr(2), since Linux 5.11).
const clampReset = ^uint32(0)

func (s system) Slice(tid TID) (uint64, error) {
	attr, err := s.Attr(tid)
	if err != nil || attr.Policy != Other && attr.Policy != Batch {
		return 0, err
	}
	return attr.RuntimeNs, nil
}

// setSlice leaves the policy; the kernel keeps the slice within 0.1 and 100 ms
// (sched_setattr(2), sched_runtime).
func setSlice(tid TID, ns uint64) error {
	now, err := system{}.Attr(tid)
	if err != nil {
		return err
	}
	// KEEP_POLICY leaves policy and reset-on-fork; nice is set with the slice.
	a := unix.SchedAttr{Flags: unix.SCHED_FLAG_KEEP_POLICY, Nice: int32(now.Nice), Runtime: ns}
	if err := schedSetAttr(tid, &a); err != nil {
		return fmt.Errorf("sched_setattr of tid %d to a slice of %d ns: %w", tid, ns, err)
	}
	return nil
}

func (system) BaseSlice() (uint64, error) { return baseSlice() }

// baseSlice asks once: it takes a thread, and the default is the machine's.
var baseSlice = sync.OnceValues(func() (ns uint64, err error) {
	s := system{}
	err = OnThread(func() error {
		if err := setPolicy(0, Other, 0, false); err != nil {
			return err
		}
		if err := setSlice(0, 0); err != nil {
			return err
		}
		ns, err = s.Slice(0)
		return err
	})
	return ns, err
})

func (system) Clamp(tid TID) (Clamp, error) {
	a, err := unix.SchedGetAttr(int(tid), 0)
	if err != nil {
		return Clamp{}, fmt.Errorf("sched_getattr of tid %d: %w", tid, err)
	}
	c := Clamp{int(a.Util_min), int(a.Util_max)}
	if c == (Clamp{}) { // as a kernel without clamps has it
		if err := ProbeClamp(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// ProbeClamp sets a clamp of a thread of its own, which ends: EOPNOTSUPP or
// EINVAL without CONFIG_UCLAMP_TASK.
func ProbeClamp() error {
	return OnThread(func() error { return setClamp(0, Clamp{0, ClampMax}, false) })
}

func setClamp(tid TID, c Clamp, reset bool) error {
	a := unix.SchedAttr{
		Flags:    unix.SCHED_FLAG_KEEP_ALL | unix.SCHED_FLAG_UTIL_CLAMP,
		Util_min: uint32(c.Min), Util_max: uint32(c.Max),
	}
	if reset {
		a.Util_min, a.Util_max = clampReset, clampReset
	}
	err := schedSetAttr(tid, &a)
	if errors.Is(err, syscall.E2BIG) { // a kernel that does not know the fields
		err = syscall.EOPNOTSUPP
	}
	if err != nil {
		return fmt.Errorf("sched_setattr of tid %d to clamps %d,%d: %w", tid, c.Min, c.Max, err)
	}
	return nil
}
