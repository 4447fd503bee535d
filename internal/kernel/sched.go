package kernel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"piton/internal/cpuset"
)

// System returns the read side of the running kernel, with what the calling
// process may do to its own threads.
func System() Own { return system{} }

type system struct{}

// maskCPUs is how many CPUs a mask read by sched_getaffinity(2) must have room
// for: the call fails with EINVAL when it is below the kernel's nr_cpu_ids.
var maskCPUs atomic.Int32

func init() { maskCPUs.Store(1024) }

func (system) Affinity(tid TID) (cpuset.Set, error) {
	for {
		size := maskCPUs.Load()
		mask := unix.NewCPUSet(int(size))
		err := unix.SchedGetaffinityDynamic(int(tid), mask)
		if errors.Is(err, unix.EINVAL) && size <= int32(cpuset.MaxCPU) {
			maskCPUs.CompareAndSwap(size, size*2)
			continue
		}
		if err != nil {
			return cpuset.Set{}, fmt.Errorf("sched_getaffinity of tid %d: %w", tid, err)
		}
		words := make([]uint64, len(mask))
		for i, w := range mask {
			words[i] = uint64(w)
		}
		return cpuset.FromWords(words), nil
	}
}

// SetAttrCall is the number of sched_setattr(2).
const SetAttrCall = unix.SYS_SCHED_SETATTR

func setAffinity(tid TID, cpus cpuset.Set) error {
	mask := unix.NewCPUSet(int(cpus.Last()) + 1)
	for cpu := range cpus.All() {
		mask.Set(int(cpu))
	}
	if err := privileged(func() error { return unix.SchedSetaffinityDynamic(int(tid), mask) }, CapSysNice); err != nil {
		return fmt.Errorf("sched_setaffinity of tid %d to %q: %w", tid, cpus, err)
	}
	return nil
}

func (system) Attr(tid TID) (SchedAttr, error) {
	a, err := unix.SchedGetAttr(int(tid), 0)
	if err != nil {
		return SchedAttr{}, fmt.Errorf("sched_getattr of tid %d: %w", tid, err)
	}
	return SchedAttr{
		Policy:      Policy(a.Policy),
		ResetOnFork: a.Flags&unix.SCHED_FLAG_RESET_ON_FORK != 0,
		Nice:        int(a.Nice),
		RTPrio:      int(a.Priority),
		RuntimeNs:   a.Runtime,
		DeadlineNs:  a.Deadline,
		PeriodNs:    a.Period,
		Reclaim:     a.Flags&unix.SCHED_FLAG_RECLAIM != 0,
	}, nil
}

func setAttr(tid TID, attr SchedAttr) error {
	a := unix.SchedAttr{
		Policy:   uint32(attr.Policy),
		Nice:     int32(attr.Nice),
		Priority: uint32(attr.RTPrio),
		Runtime:  attr.RuntimeNs,
		Deadline: attr.DeadlineNs,
		Period:   attr.PeriodNs,
	}
	if attr.ResetOnFork {
		a.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
	}
	if attr.Reclaim {
		a.Flags |= unix.SCHED_FLAG_RECLAIM
	}
	if err := schedSetAttr(tid, &a); err != nil {
		return fmt.Errorf("sched_setattr of tid %d to %s: %w", tid, attr.Policy, err)
	}
	return nil
}

// schedSetAttr is sched_setattr(2).
func schedSetAttr(tid TID, a *unix.SchedAttr) error {
	return privileged(func() error { return unix.SchedSetAttr(int(tid), a, 0) }, CapSysNice)
}

// resetOnFork is SCHED_RESET_ON_FORK of sched(7), or-ed to the policy number.
const resetOnFork = 0x40000000

func setPolicy(tid TID, policy Policy, rtprio int, reset bool) error {
	number := uintptr(policy)
	if reset {
		number |= resetOnFork
	}
	param := struct{ priority int32 }{int32(rtprio)} // struct sched_param
	err := privileged(func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), number, uintptr(unsafe.Pointer(&param)))
		return errnoError(errno)
	}, CapSysNice)
	if err != nil {
		return fmt.Errorf("sched_setscheduler of tid %d to %s: %w", tid, policy, err)
	}
	return nil
}

func (system) Nice(tid TID) (int, error) {
	// The raw call returns 20-nice, so that no value looks like an error.
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, int(tid))
	if err != nil {
		return 0, fmt.Errorf("getpriority of tid %d: %w", tid, err)
	}
	return 20 - raw, nil
}

func setNice(tid TID, nice int) error {
	if err := privileged(func() error { return unix.Setpriority(unix.PRIO_PROCESS, int(tid), nice) }, CapSysNice); err != nil {
		return fmt.Errorf("setpriority of tid %d to %d: %w", tid, nice, err)
	}
	return nil
}

// own refuses the number of a thread that is not of the calling process.
func own(tid TID) error {
	if tid == 0 {
		return nil
	}
	if err := unix.Tgkill(unix.Getpid(), int(tid), 0); err != nil {
		return fmt.Errorf("%d is no thread of this process: %w", tid, err)
	}
	return nil
}

func (system) SetAffinity(tid TID, cpus cpuset.Set) error {
	if err := own(tid); err != nil {
		return err
	}
	return setAffinity(tid, cpus)
}

func (system) SetAttr(tid TID, attr SchedAttr) error {
	if err := own(tid); err != nil {
		return err
	}
	return setAttr(tid, attr)
}

func (system) SetPolicy(tid TID, policy Policy, rtprio int, reset bool) error {
	if err := own(tid); err != nil {
		return err
	}
	return setPolicy(tid, policy, rtprio, reset)
}

func (system) SetSlice(tid TID, ns uint64) error {
	if err := own(tid); err != nil {
		return err
	}
	return setSlice(tid, ns)
}
