package kerneltest

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// baseSlice is the default slice of the fake kernel.
const baseSlice = 2_800_000

// Slice is part of kernel.Scheduler: a fair task without one of its own has the default.
func (f *Fake) Slice(tid kernel.TID) (uint64, error) {
	task, err := f.enter("Slice", tid)
	defer f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if p := task.Attr.Policy; p != kernel.Other && p != kernel.Batch {
		return 0, nil
	}
	if task.Attr.RuntimeNs == 0 {
		return baseSlice, nil
	}
	return task.Attr.RuntimeNs, nil
}

// SetSlice is part of kernel.Scheduler.
func (f *Fake) SetSlice(tid kernel.TID, ns uint64) error {
	f.record("SetSlice", tid, ns)
	task, err := f.enter("SetSlice", tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	task.Attr.RuntimeNs = ns
	return nil
}

// BaseSlice is part of kernel.Scheduler.
func (f *Fake) BaseSlice() (uint64, error) { return baseSlice, nil }

// Clamp is part of kernel.Scheduler.
func (f *Fake) Clamp(tid kernel.TID) (kernel.Clamp, error) {
	task, err := f.enter("Clamp", tid)
	defer f.mu.Unlock()
	if err != nil {
		return kernel.Clamp{}, err
	}
	if task.Clamp == (kernel.Clamp{}) {
		return defaultClamp(task), nil
	}
	return task.Clamp, nil
}

func defaultClamp(task *Task) kernel.Clamp {
	c := kernel.Clamp{Min: 0, Max: kernel.ClampMax}
	if task.Attr.Policy.RealTime() {
		c.Min = kernel.ClampMax
	}
	return c
}

// SetClamp is part of kernel.Scheduler.
func (f *Fake) SetClamp(tid kernel.TID, c kernel.Clamp, reset bool) error {
	f.record("SetClamp", tid, fmt.Sprintf("%d,%d,%t", c.Min, c.Max, reset))
	task, err := f.enter("SetClamp", tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	if task.Clamp = c; reset {
		task.Clamp = kernel.Clamp{}
	}
	return nil
}

// Cookie is part of kernel.Scheduler.
func (f *Fake) Cookie(tid kernel.TID) (uint64, error) {
	task, err := f.enter("Cookie", tid)
	defer f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return task.Cookie, nil
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

// ShareCookie is part of kernel.Scheduler.
func (f *Fake) ShareCookie(from, to kernel.TID) error {
	f.record("ShareCookie", from, to)
	source, err := f.enter("ShareCookie", from)
	cookie := uint64(0)
	if err == nil {
		cookie = source.Cookie
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	task, err := f.enter("ShareCookie", to)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	task.Cookie = cookie
	return nil
}

// MigratePages is part of kernel.Scheduler; it records the call, and what became
// of the pages is for the test's own page table to say.
func (f *Fake) MigratePages(pid kernel.TID, from, to cpuset.Set) (int, error) {
	f.record("MigratePages", pid, from.String()+" to "+to.String())
	_, err := f.enter("MigratePages", pid)
	defer f.mu.Unlock()
	return 0, err
}

// MovePages is part of kernel.Scheduler; every page ends where it is told to.
func (f *Fake) MovePages(pid kernel.TID, addrs []uint64, nodes []int32) ([]int32, error) {
	if nodes != nil {
		f.record("MovePages", pid, fmt.Sprintf("%x to %d", addrs, nodes))
	}
	_, err := f.enter("MovePages", pid)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if nodes == nil {
		return make([]int32, len(addrs)), nil
	}
	return append([]int32(nil), nodes...), nil
}
