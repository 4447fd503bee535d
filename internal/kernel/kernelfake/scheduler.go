package kernelfake

import (
	"fmt"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

var _ kernel.Own = (*Fake)(nil)

// Affinity is part of kernel.Scheduler.
func (f *Fake) Affinity(tid kernel.TID) (cpuset.Set, error) {
	return get(f, "Affinity", tid, func(task *Task) cpuset.Set { return task.Affinity.AndNot(f.offline) })
}

// Attr is part of kernel.Scheduler; as there, Nice is 0 for real-time tasks.
func (f *Fake) Attr(tid kernel.TID) (kernel.SchedAttr, error) {
	return get(f, "Attr", tid, func(task *Task) kernel.SchedAttr {
		attr := task.Attr
		if attr.Policy.RealTime() {
			attr.Nice = 0
		}
		return attr
	})
}

// Nice is part of kernel.Scheduler.
func (f *Fake) Nice(tid kernel.TID) (int, error) {
	return get(f, "Nice", tid, func(task *Task) int { return task.Attr.Nice })
}

// IOPrio is part of kernel.Scheduler.
func (f *Fake) IOPrio(tid kernel.TID) (kernel.IOPrio, error) {
	return get(f, "IOPrio", tid, func(task *Task) kernel.IOPrio { return task.IOPrio })
}

// baseSlice is the default slice of the fake kernel.
const baseSlice = 2_800_000

// BaseSlice is part of kernel.Scheduler.
func (f *Fake) BaseSlice() (uint64, error) { return baseSlice, nil }

// Slice is part of kernel.Scheduler: a fair task without one of its own has the default.
func (f *Fake) Slice(tid kernel.TID) (uint64, error) {
	return get(f, "Slice", tid, func(task *Task) uint64 {
		switch p := task.Attr.Policy; {
		case p != kernel.Other && p != kernel.Batch:
			return 0
		case task.Attr.RuntimeNs == 0:
			return baseSlice
		}
		return task.Attr.RuntimeNs
	})
}

// Clamp is part of kernel.Scheduler.
func (f *Fake) Clamp(tid kernel.TID) (kernel.Clamp, error) {
	return get(f, "Clamp", tid, func(task *Task) kernel.Clamp {
		c := task.Clamp
		if c == (kernel.Clamp{}) {
			c.Max = kernel.ClampMax
			if task.Attr.Policy.RealTime() {
				c.Min = kernel.ClampMax
			}
		}
		return c
	})
}

// Cookie is part of kernel.Scheduler.
func (f *Fake) Cookie(tid kernel.TID) (uint64, error) {
	return get(f, "Cookie", tid, func(task *Task) uint64 { return task.Cookie })
}

// HolderTID is the first thread that NewCookie makes.
const HolderTID kernel.TID = 1_000_001

// NewCookie is part of kernel.Scheduler: it creates the holder as a task.
func (f *Fake) NewCookie() (uint64, kernel.TID, error) {
	f.mu.Lock()
	f.cookies++
	cookie, holder := 0xc0de0000+uint64(f.cookies), HolderTID+kernel.TID(f.cookies)-1
	f.mu.Unlock()
	f.Create(holder, Task{Cookie: cookie})
	return cookie, holder, nil
}

// SetAffinity is part of kernel.Own: a mask wholly outside the task's cpuset gives
// EINVAL, one partly outside is cut without a word.
func (f *Fake) SetAffinity(tid kernel.TID, cpus cpuset.Set) error {
	return f.set("SetAffinity", tid, cpus, func(task *Task) error {
		if !task.Cpuset.Empty() {
			cpus = cpus.And(task.Cpuset)
		}
		if cpus.Empty() {
			return fmt.Errorf("SetAffinity(%d): %w", tid, syscall.EINVAL)
		}
		task.Affinity = cpus
		return nil
	})
}

// SetAttr is part of kernel.Own.
func (f *Fake) SetAttr(tid kernel.TID, attr kernel.SchedAttr) error {
	return f.set("SetAttr", tid, attr, func(task *Task) error {
		task.Attr = attr
		return nil
	})
}

// SetPolicy is part of kernel.Own.
func (f *Fake) SetPolicy(tid kernel.TID, policy kernel.Policy, rtprio int, resetOnFork bool) error {
	return f.set("SetPolicy", tid, fmt.Sprintf("%s, %d, %t", policy, rtprio, resetOnFork), func(task *Task) error {
		task.Attr.Policy, task.Attr.RTPrio, task.Attr.ResetOnFork = policy, rtprio, resetOnFork
		return nil
	})
}

// SetSlice is part of kernel.Own.
func (f *Fake) SetSlice(tid kernel.TID, ns uint64) error {
	return f.set("SetSlice", tid, ns, func(task *Task) error {
		task.Attr.RuntimeNs = ns
		return nil
	})
}
