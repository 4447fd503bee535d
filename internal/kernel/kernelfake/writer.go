package kernelfake

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

var _ kernel.Writer = (*Fake)(nil)

// Hold is part of kernel.Writer.
func (f *Fake) Hold(pid kernel.TID, startTicks uint64) (kernel.Process, error) {
	p := &process{fake: f, pid: pid, start: startTicks}
	_, err := f.find("Hold", pid)
	defer f.mu.Unlock()
	if errors.Is(err, syscall.ENOSYS) {
		p.weak, err = err, nil
	}
	if err == nil && startTicks != 0 {
		err = f.sameStart(pid, pid, startTicks)
	}
	if err != nil {
		return nil, err
	}
	p.born = f.born[pid]
	f.held++
	return p, nil
}

// sameStart is nil if the thread of the process started then; the lock is held.
func (f *Fake) sameStart(pid, tid kernel.TID, startTicks uint64) error {
	task := f.Tasks[tid]
	if task == nil || task.TGID != 0 && task.TGID != pid || task.Start != 0 && task.Start != startTicks {
		return fmt.Errorf("tid %d of process %d, started at %d: %w", tid, pid, startTicks, syscall.ESRCH)
	}
	return nil
}

type process struct {
	fake   *Fake
	pid    kernel.TID
	start  uint64
	born   int
	weak   error
	closed bool
}

func (p *process) Thread(tid kernel.TID, startTicks uint64) kernel.Task {
	return task{p, tid, startTicks}
}

func (p *process) Weak() error { return p.weak }

func (p *process) Alive() error {
	p.fake.mu.Lock()
	defer p.fake.mu.Unlock()
	return p.alive()
}

func (p *process) alive() error {
	switch {
	case p.weak != nil && p.start == 0:
		return nil
	case p.weak != nil:
		return p.fake.sameStart(p.pid, p.pid, p.start)
	case p.fake.Tasks[p.pid] == nil || p.fake.born[p.pid] != p.born:
		return fmt.Errorf("process %d: %w", p.pid, syscall.ESRCH)
	}
	return nil
}

func (p *process) Signal(sig syscall.Signal) error {
	if err := p.Alive(); err != nil {
		return err
	}
	p.fake.record("Signal", p.pid, sig)
	if p.fake.Signalled != nil {
		p.fake.Signalled(p.pid, sig)
	}
	return nil
}

func (p *process) Close() error {
	p.fake.mu.Lock()
	defer p.fake.mu.Unlock()
	if p.closed && p.fake.t != nil {
		p.fake.t.Errorf("process %d closed twice", p.pid)
	}
	p.closed = true
	p.fake.held--
	return nil
}

// task checks what it is as the real one does.
type task struct {
	*process
	tid   kernel.TID
	start uint64
}

func (t task) Still() error {
	t.fake.mu.Lock()
	defer t.fake.mu.Unlock()
	if t.weak != nil && t.start == 0 && t.process.start == 0 {
		return fmt.Errorf("%d: nothing tells whom the number means: %w", t.tid, syscall.ESRCH)
	}
	start := t.start
	if found := t.fake.Tasks[t.tid]; start == 0 && found != nil {
		start = found.Start // any thread with the number
	}
	return errors.Join(t.fake.sameStart(t.pid, t.tid, start), t.alive())
}

func (t task) write(f func() error) error {
	if err := t.Still(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if err := t.Still(); err != nil {
		return &kernel.LostError{Err: err}
	}
	return nil
}

func (t task) SetAffinity(cpus cpuset.Set) error {
	return t.write(func() error { return t.fake.SetAffinity(t.tid, cpus) })
}

func (t task) SetAttr(attr kernel.SchedAttr) error {
	return t.write(func() error { return t.fake.SetAttr(t.tid, attr) })
}

func (t task) SetPolicy(policy kernel.Policy, rtprio int, reset bool) error {
	return t.write(func() error { return t.fake.SetPolicy(t.tid, policy, rtprio, reset) })
}

func (t task) SetSlice(ns uint64) error {
	return t.write(func() error { return t.fake.SetSlice(t.tid, ns) })
}

func (t task) SetNice(nice int) error {
	return t.set("SetNice", nice, func(task *Task) { task.Attr.Nice = nice })
}

func (t task) SetIOPrio(prio kernel.IOPrio) error {
	return t.set("SetIOPrio", prio, func(task *Task) { task.IOPrio = prio })
}

func (t task) SetClamp(c kernel.Clamp, reset bool) error {
	return t.set("SetClamp", fmt.Sprintf("%d,%d,%t", c.Min, c.Max, reset), func(task *Task) {
		if task.Clamp = c; reset {
			task.Clamp = kernel.Clamp{}
		}
	})
}

func (t task) ShareCookie(from kernel.TID) error {
	cookie, err := t.fake.Cookie(from)
	if err != nil {
		return err
	}
	return t.set("ShareCookie", from, func(task *Task) { task.Cookie = cookie })
}

// MigratePages records the call; what became of the pages is for the test's own page
// table to say.
func (t task) MigratePages(from, to cpuset.Set) (left int, err error) {
	return 0, t.set("MigratePages", from.String()+" to "+to.String(), func(*Task) {})
}

// MovePages moves every page where it is told to.
func (t task) MovePages(addrs []uint64, nodes []int32) ([]int32, error) {
	if nodes == nil {
		return make([]int32, len(addrs)), t.Still()
	}
	return slices.Clone(nodes), t.set("MovePages", fmt.Sprintf("%x to %d", addrs, nodes), func(*Task) {})
}

func (t task) WriteFile(name, text string) error {
	return t.write(func() error {
		return t.fake.set("WriteFile", t.pid, name+" "+text, func(*Task) error {
			if t.fake.Store == nil {
				return nil
			}
			return t.fake.Store(t.pid, name, text)
		})
	})
}

func (t task) set(method string, value any, write func(*Task)) error {
	return t.write(func() error {
		return t.fake.set(method, t.tid, value, func(task *Task) error {
			write(task)
			return nil
		})
	})
}
