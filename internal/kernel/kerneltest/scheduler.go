package kerneltest

import (
	"fmt"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

var _ kernel.Scheduler = (*Fake)(nil)

// Affinity is part of kernel.Scheduler.
func (f *Fake) Affinity(tid kernel.TID) (cpuset.Set, error) {
	task, err := f.enter("Affinity", tid)
	defer f.mu.Unlock()
	if err != nil {
		return cpuset.Set{}, err
	}
	return task.Affinity, nil
}

// SetAffinity is part of kernel.Scheduler: a mask wholly outside the task's
// cpuset gives EINVAL, one partly outside is cut without a word.
func (f *Fake) SetAffinity(tid kernel.TID, cpus cpuset.Set) error {
	f.record("SetAffinity", tid, cpus)
	task, err := f.enter("SetAffinity", tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	if !task.Cpuset.Empty() {
		cpus = cpus.And(task.Cpuset)
	}
	if cpus.Empty() {
		return fmt.Errorf("SetAffinity(%d): %w", tid, syscall.EINVAL)
	}
	task.Affinity = cpus
	return nil
}

// Attr is part of kernel.Scheduler; as there, Nice is 0 for real-time tasks.
func (f *Fake) Attr(tid kernel.TID) (kernel.SchedAttr, error) {
	task, err := f.enter("Attr", tid)
	defer f.mu.Unlock()
	if err != nil {
		return kernel.SchedAttr{}, err
	}
	attr := task.Attr
	if attr.Policy.RealTime() {
		attr.Nice = 0
	}
	return attr, nil
}

// SetAttr is part of kernel.Scheduler.
func (f *Fake) SetAttr(tid kernel.TID, attr kernel.SchedAttr) error {
	f.record("SetAttr", tid, attr)
	task, err := f.enter("SetAttr", tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	task.Attr = attr
	return nil
}

// SetPolicy is part of kernel.Scheduler.
func (f *Fake) SetPolicy(tid kernel.TID, policy kernel.Policy, rtprio int, resetOnFork bool) error {
	f.record("SetPolicy", tid, fmt.Sprintf("%s, %d, %t", policy, rtprio, resetOnFork))
	task, err := f.enter("SetPolicy", tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	task.Attr.Policy, task.Attr.RTPrio, task.Attr.ResetOnFork = policy, rtprio, resetOnFork
	return nil
}

// Nice is part of kernel.Scheduler.
func (f *Fake) Nice(tid kernel.TID) (int, error) {
	task, err := f.enter("Nice", tid)
	defer f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return task.Attr.Nice, nil
}

// SetNice is part of kernel.Scheduler.
func (f *Fake) SetNice(tid kernel.TID, nice int) error {
	f.record("SetNice", tid, nice)
	task, err := f.enter("SetNice", tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	task.Attr.Nice = nice
	return nil
}

// IOPrio is part of kernel.Scheduler.
func (f *Fake) IOPrio(tid kernel.TID) (kernel.IOPrio, error) {
	task, err := f.enter("IOPrio", tid)
	defer f.mu.Unlock()
	if err != nil {
		return kernel.IOPrio{}, err
	}
	return task.IOPrio, nil
}

// SetIOPrio is part of kernel.Scheduler.
func (f *Fake) SetIOPrio(tid kernel.TID, prio kernel.IOPrio) error {
	f.record("SetIOPrio", tid, prio)
	task, err := f.enter("SetIOPrio", tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	task.IOPrio = prio
	return nil
}

// Hold is part of kernel.Scheduler.
func (f *Fake) Hold(tid kernel.TID) (kernel.Handle, error) {
	_, err := f.enter("Hold", tid)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	f.opened++
	return &handle{fake: f, tid: tid, born: f.born[tid]}, nil
}

type handle struct {
	fake   *Fake
	tid    kernel.TID
	born   int
	closed bool
}

func (h *handle) Alive() error {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	if h.fake.tasks[h.tid] == nil || h.fake.born[h.tid] != h.born {
		return fmt.Errorf("handle of tid %d: %w", h.tid, syscall.ESRCH)
	}
	return nil
}

func (h *handle) HasThread(tid kernel.TID) error {
	if err := h.Alive(); err != nil {
		return err
	}
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	if task := h.fake.tasks[tid]; task == nil || task.TGID != 0 && task.TGID != h.tid {
		return fmt.Errorf("tid %d in process %d: %w", tid, h.tid, syscall.ESRCH)
	}
	return nil
}

func (h *handle) Signal(sig syscall.Signal) error {
	if err := h.Alive(); err != nil {
		return err
	}
	h.fake.record("Signal", h.tid, sig)
	return nil
}

func (h *handle) Close() error {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	if h.closed {
		h.fake.t.Errorf("handle of tid %d closed twice", h.tid)
	}
	h.closed = true
	h.fake.opened--
	return nil
}
