package tune

import (
	"errors"
	"fmt"
	"syscall"

	"piton/internal/kernel"
)

// maxHolds bounds the file descriptors of one Apply; processes beyond it are
// held for one change at a time.
const maxHolds = 256

// hold is a process that is kept from being mistaken for a later one.
type hold struct {
	handle kernel.Handle // nil where there are no pidfds: start times must do
	err    error         // the process had ended
	meant  bool          // it is the process of the plan, by its first thread's start
}

func (h hold) close() {
	if h.handle != nil {
		_ = h.handle.Close()
	}
}

// hold opens a handle of a process, or returns the one that is open already.
func (r *run) hold(pid kernel.TID) hold {
	if h, ok := r.holds[pid]; ok {
		return h
	}
	handle, err := r.t.o.Sched.Hold(pid)
	h := hold{handle: handle}
	switch {
	case errors.Is(err, syscall.ESRCH):
		h.err = err
	case err != nil: // ENOSYS, EPERM: no pidfds here, so identity rests on start times
		r.warn(fmt.Sprintf("processes are told from later ones with their number by start time alone: %v", err))
	}
	if ticks, ok := r.known[pid]; ok && handle != nil {
		leader, err := r.t.look(pid, pid)
		h.meant = err == nil && leader.startTicks == ticks
	}
	if len(r.holds) < maxHolds {
		r.holds[pid] = h
	}
	return h
}

// drop closes a hold that is not kept for the whole run.
func (r *run) drop(pid kernel.TID, h hold) {
	if _, kept := r.holds[pid]; !kept {
		h.close()
	}
}

func (r *run) release() {
	for _, h := range r.holds {
		h.close()
	}
}

// check makes sure that the change's number still means its task. Its process
// is held meanwhile, and the thread is looked up below that process.
func (r *run) check(c Change, h hold) error {
	if h.err != nil {
		return h.err
	}
	k, err := r.t.look(c.PID, c.TID)
	switch {
	case err != nil:
		return err
	case k.startTicks != c.StartTicks:
		return fmt.Errorf("%d is now another task, %s: %w", c.TID, printable(k.comm), ErrGone)
	case ended(k.state):
		return fmt.Errorf("%d is a zombie: %w", c.TID, ErrGone)
	}
	return nil
}

// means makes sure that the number means the change's task. There is no call that
// changes a task by its pidfd, so it is asked before the change and again after it.
// For a thread that was asked for by itself, and one whose change is undone, it must
// be that very thread, by its start. Any other need only be a thread of the process
// that was meant, which saves reading a file of each: one that was born with the
// number meanwhile was to be given the same.
func (r *run) means(c Change, h hold) error {
	if h.meant && !r.alone[c.TID] && len(r.plan.Undoes) == 0 {
		return h.handle.HasThread(c.TID)
	}
	if err := r.check(c, h); err != nil {
		return err
	}
	if h.handle != nil {
		return h.handle.Alive() // if it is, the number has meant it all along
	}
	return nil
}

// confess adds to a change of a task that ended in the middle what may have
// happened to its successor.
func (r *run) confess(c *Change) {
	if !errors.Is(c.Err, ErrGone) {
		return
	}
	st, err := r.t.o.Proc.Status(c.TID)
	if err != nil {
		return // nobody has the number
	}
	if k, err := r.t.look(st.TGID, c.TID); err != nil || ended(k.state) {
		return
	}
	c.Status = Failed
	c.Reason = fmt.Sprintf("%d ended while it was being changed, and its number now means %s, which may have been given %s instead: look at it",
		c.TID, printable(st.Comm), describe(c.Attribute, c.After))
}
