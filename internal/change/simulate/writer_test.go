package simulate

import (
	"fmt"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Hold is part of kernel.Writer; it and its tasks do what internal/kernel does, call
// by call.
func (v view) Hold(pid kernel.TID, startTicks uint64) (kernel.Process, error) {
	t, err := v.call("pidfd_open", pid, syscall.EMFILE)
	if err != nil {
		return nil, err
	}
	if t != t.leader {
		return nil, fmt.Errorf("%d is no process: %w", pid, syscall.ESRCH)
	}
	p := &process{view: v, pid: pid, start: startTicks, held: t}
	if v.seccomp {
		p.held = nil
	}
	if startTicks != 0 {
		if _, err := p.started(pid, startTicks); err != nil {
			return nil, err
		}
	}
	return p, nil
}

type process struct {
	view
	pid   kernel.TID
	start uint64
	held  *task // nil: there are no pidfds
}

func (p *process) Thread(tid kernel.TID, startTicks uint64) kernel.Task {
	return thread{p, tid, startTicks}
}

func (p *process) Weak() error {
	if p.held == nil {
		return syscall.ENOSYS
	}
	return nil
}

func (p *process) Close() error                { return nil }
func (p *process) Signal(syscall.Signal) error { return syscall.ENOSYS }

func (p *process) Alive() error {
	switch {
	case p.held == nil && p.start == 0:
		return nil
	case p.held == nil:
		_, err := p.started(p.pid, p.start)
		return err
	case !p.step():
		return syscall.EINTR
	case p.held.gone:
		return fmt.Errorf("process %d: %w", p.pid, syscall.ESRCH)
	}
	return nil
}

// started returns the thread if it started then.
func (p *process) started(tid kernel.TID, ticks uint64) (*task, error) {
	t, err := p.call("stat", tid)
	if err == nil && (p.number(t.leader) != p.pid || t.start+p.shift != ticks) {
		err = fmt.Errorf("%d now means another task: %w", tid, syscall.ESRCH)
	}
	return t, err
}

type thread struct {
	*process
	tid   kernel.TID
	start uint64
}

// Still is part of kernel.Task.
func (t thread) Still() error {
	_, err := t.still()
	return err
}

// still returns the task that was found.
func (t thread) still() (found *task, err error) {
	switch {
	case t.start != 0:
		found, err = t.started(t.tid, t.start)
		if err == nil && found.zombie {
			err = fmt.Errorf("%d is a zombie: %w", t.tid, syscall.ESRCH)
		}
	case t.held == nil && t.process.start == 0:
		err = fmt.Errorf("%d: nothing tells whom the number means: %w", t.tid, syscall.ESRCH)
	default:
		found, err = t.call("tgkill", t.tid)
		if err == nil && t.number(found.leader) != t.pid {
			err = fmt.Errorf("tgkill of %d in %d: %w", t.tid, t.pid, syscall.ESRCH)
		}
	}
	if err == nil {
		err = t.Alive()
	}
	return found, err
}

// change is one write with the checks around it.
func (t thread) change(name string, a attr.Attribute, v attr.Value) error {
	meant, err := t.still()
	if err != nil {
		return err
	}
	found, err := t.call(name, t.tid, syscall.EPERM, syscall.EINVAL, syscall.EBUSY, syscall.ENOMEM)
	if err != nil {
		return err
	}
	c := found.cell(a)
	if err := t.allowed(c, v); err != nil {
		if t.guard != nil && err != syscall.EINVAL {
			t.violate("%s stands for a change of %s that it has no right to revert", t.actor.name, c)
		}
		t.disturbed = "it has no rights"
		return fmt.Errorf("%s of %d: %w", name, t.tid, err)
	}
	if found == meant {
		t.write(c, v)
	} else { // nobody can keep that from happening; Still sees it
		t.set(c, v, nil)
		c.ours = true // as far as anybody can see
		c.excuse("its number was reused between the check and the write")
	}
	if err := t.Still(); err != nil {
		return &kernel.LostError{Err: err}
	}
	return nil
}

// allowed is what the kernel asks of a caller without rights.
func (t thread) allowed(c *cell, v attr.Value) error {
	switch now := c.value.(type) {
	case cpuset.Set:
		if c.task.leader.limited && attr.CPUs(v).And(limited).Empty() {
			return syscall.EINVAL
		}
	case attr.NiceValue:
		if t.weak && v.(attr.NiceValue) < now {
			return syscall.EACCES
		}
	case attr.PolicyValue:
		want := attr.PolicyOf(v)
		raised := want.RTPrio > now.RTPrio || want.Policy.RealTime() && want.Policy != now.Policy
		if t.weak && (raised || now.ResetOnFork && !want.ResetOnFork || now.Policy == kernel.Idle && want.Policy != kernel.Idle) {
			return syscall.EPERM
		}
	}
	return nil
}

func (t thread) SetAffinity(cpus cpuset.Set) error {
	return t.change("sched_setaffinity", attr.Affinity, cpus.And(allCPUs))
}

func (t thread) SetPolicy(policy kernel.Policy, rtprio int, reset bool) error {
	return t.change("sched_setscheduler", attr.Policy, attr.PolicyValue{Policy: policy, RTPrio: rtprio, ResetOnFork: reset})
}

func (t thread) SetNice(n int) error {
	return t.change("setpriority", attr.Nice, attr.NiceValue(n))
}

func (t thread) SetIOPrio(p kernel.IOPrio) error {
	return t.change("ioprio_set", attr.IOPrio, attr.IOPrioValue(p))
}

// SetAttr is part of kernel.Task, as what follows; nothing here has them.
func (t thread) SetAttr(kernel.SchedAttr) error               { return syscall.ENOSYS }
func (t thread) SetSlice(uint64) error                        { return syscall.ENOSYS }
func (t thread) SetClamp(kernel.Clamp, bool) error            { return syscall.ENOSYS }
func (t thread) ShareCookie(kernel.TID) error                 { return syscall.ENOSYS }
func (t thread) MigratePages(_, _ cpuset.Set) (int, error)    { return 0, syscall.ENOSYS }
func (t thread) MovePages([]uint64, []int32) ([]int32, error) { return nil, syscall.ENOSYS }
func (t thread) WriteFile(string, string) error               { return syscall.ENOSYS }
