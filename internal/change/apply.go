package change

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/change/defect"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// maxHolds bounds the file descriptors of one Apply; processes beyond it are
// held for one change at a time.
const maxHolds = 256

// hold returns the task of a change as what can be written to, nil for a file. Call
// done when that is over. exact: its start is compared, whatever it is.
func (r *run) hold(c Change, exact bool) (task kernel.Task, done func(), err error) {
	if c.IsFile() {
		return nil, func() {}, nil
	}
	done = func() {}
	process := attr.ID{TID: c.PID, StartTicks: r.starts[c.PID]}
	_, planned := r.planned[c.Key()]
	switch later := r.later[c.PID]; {
	case c.TID == c.PID:
		process.StartTicks = c.StartTicks
	case !planned && later != 0:
		process.StartTicks = later
	case len(r.plan.Undoes) > 0: // of several processes, perhaps, that had the number one after the other
		process.StartTicks = 0
	}
	if defect.On(1) {
		process.StartTicks = 0
	}
	p, kept := r.holds[process]
	if !kept {
		if p, err = r.t.o.Writer.Hold(c.PID, process.StartTicks); err != nil {
			return nil, done, err
		}
		if weak := p.Weak(); weak != nil {
			r.warn(fmt.Sprintf("a reused process number is detected by start time alone: %v", weak))
		}
		if len(r.holds) < maxHolds {
			r.holds[process] = p
		} else {
			done = func() { _ = p.Close() }
		}
	}
	// A thread that was asked for by itself, and one whose change is undone, must be
	// that very thread, by its start, as must all that are recorded. Once that is done
	// any other need only be one of the process that was meant, which saves reading a
	// file of each: one that is born with the number meanwhile is to be given the same.
	start := c.StartTicks
	if defect.On(1) || !exact && process.StartTicks != 0 && !r.alone[c.TID] && len(r.plan.Undoes) == 0 {
		start = 0
	}
	return p.Thread(c.TID, start), done, nil
}

func (r *run) release() {
	for _, p := range r.holds {
		_ = p.Close()
	}
}

// still makes sure that the change's number, or its path, means what it meant.
func (r *run) still(c Change, task kernel.Task) error {
	if c.IsFile() {
		return r.t.SameFile(c)
	}
	return task.Still()
}

// refresh reads the old value again: time has passed since the plan was made.
func (r *run) refresh(c *Change) {
	if c.Status != attr.Planned && c.Status != attr.Unchanged || c.Gone() {
		return
	}
	task, done, err := r.hold(*c, true)
	defer done()
	var now attr.Value
	if err == nil {
		now, err = r.t.Read(c.Attribute, c.Object)
		if gone := r.still(*c, task); gone != nil { // perhaps it was that of the next one with its number
			err = gone
		}
	}
	if err != nil {
		r.fail(c, err)
		return
	}
	asked := c.Status == attr.Planned || len(r.plan.Undoes) > 0 || r.confirmation.Yes || r.confirmation.RevertAfter > 0 ||
		!attr.PolicyOf(c.After).Crowds() && (len(r.plan.Needs) == 0 || r.plan.WillChange())
	if r.found(c, now); c.Status == attr.Planned && !asked {
		c.Refuse("changed by someone else to %s since it was read: it may need to be confirmed now; run the command again", now)
	}
}

// found compares a change with the value that is there now.
func (r *run) found(c *Change, now attr.Value) {
	is := c.Attribute.Alike
	if r.trying {
		r.overtaken(c, now)
		return
	}
	if len(r.plan.Undoes) > 0 && !is(now, c.Before) && !is(now, c.After) && !attr.FollowsIRQ(*c, c.Before, now) {
		c.Refuse("changed by someone else from %s to %s meanwhile; left alone", c.Before, now)
		return
	}
	if !is(now, c.Before) {
		c.Had = cpuset.Set{}
	}
	again := c.Attribute.OfGroup() && !is(now, c.Before)
	if c.Before, c.Status = now, attr.Planned; again && !is(now, c.After) { // a quota is of the group's period
		if r.t.NewView().Prepare(attr.Task{}, c); c.Status == attr.Refused {
			return
		}
		c.Status = attr.Planned
	}
	_, planned := r.planned[c.Key()]
	if !planned {
		c.Before = r.inherited(*c, now)
	}
	switch {
	case !is(now, c.After), len(c.Tried) > 0:
		r.needsWayBack(c)
	case planned || c.Same():
		c.Status = attr.Unchanged
	default:
		c.Status, c.Reason = attr.Done, history.BornWith
	}
}

// needsWayBack refuses what a guard could not revert, where there is one.
func (r *run) needsWayBack(c *Change) {
	if r.confirmation.RevertAfter > 0 {
		r.t.refuseOneWay(c)
	}
}

func (t *Tuner) refuseOneWay(c *Change) {
	if err := t.NoWayBack(*c); err != nil {
		c.RefuseAs(fmt.Errorf("it could not be reverted: %w", err))
	}
}

// make carries out the planned ones of changes in order.
func (r *run) make(ctx context.Context, changes []Change) error {
	for i := range changes {
		c := &changes[i]
		if c.Status != attr.Planned {
			continue
		}
		if ctx.Err() != nil {
			c.Refuse("not done: piton was interrupted before it")
			continue
		}
		if line, ok := irq.ThreadLine(c.Comm); ok && c.Attribute == attr.Affinity && r.stuck[irq.AffinityFile(line)] {
			c.Refuse("its interrupt %d could not be moved", line)
			continue
		}
		if r.one(c); c.Attribute == attr.IRQAffinity && c.Status == attr.Failed {
			r.stuck[c.Path] = true
		}
	}
	return ctx.Err()
}

// one makes one change: check, write, read back, check again.
func (r *run) one(c *Change) {
	task, done, err := r.hold(*c, r.trying) // a newborn with its number has what was tried for another
	defer done()
	if err == nil && c.IsFile() {
		err = r.still(*c, nil)
	}
	// A guard waits for no lock, so the old value may be another by now.
	if err == nil && (r.trying || !r.veiled(*c)) {
		if err = r.compare(c); err == nil && c.Status != attr.Planned {
			return
		}
	}
	if err == nil {
		err = attr.Write{Machine: r.t.Machine, Task: task, Files: r.t.o.FileWriter, Change: *c}.Set()
	}
	var lost *kernel.LostError
	if err != nil && !errors.As(err, &lost) {
		r.fail(c, err)
		c.Taken = c.Attribute.OfGroup() && r.partly(*c)
		return
	}
	var now attr.Value
	if err == nil {
		now, err = r.t.Read(c.Attribute, c.Object)
		if err == nil || errors.Is(err, syscall.ESRCH) {
			err = errors.Join(err, r.still(*c, task))
		}
		if err == nil && !c.IsFile() && !c.Attribute.Alike(now, c.After) {
			if k, lookErr := r.t.Look(c.PID, c.TID); lookErr == nil && k.Ended() { // it has no I/O priority any more
				err = fmt.Errorf("%d is exiting: %w", c.TID, attr.ErrGone)
			}
		}
	}
	if err != nil {
		r.fail(c, err)
		c.Taken = !c.Gone() // it was written, and what it is now is not known
		r.successor(c)
		return
	}
	c.Status = attr.Done
	if !c.Attribute.Alike(now, c.After) {
		r.differs(c, now)
	}
	c.After = now
}

// partly reports whether a change that failed after one of its writes may have left another value.
func (r *run) partly(c Change) bool {
	now, err := r.t.Read(c.Attribute, c.Object)
	return !c.Gone() && (err != nil || !c.Attribute.Alike(now, c.Before) && c.Attribute.Halfway(c.Before, c.After, now))
}

// compare reads the value that a change is about to be made of. Where that is another than it was,
// what becomes of the change follows from it, and a value that is to be restored later is recorded.
func (r *run) compare(c *Change) error {
	now, err := r.t.Read(c.Attribute, c.Object)
	if err != nil && !r.trying {
		return nil // the write tells why
	}
	if err == nil && !c.Attribute.Alike(now, c.Before) {
		if err = r.itself(*c); err != nil {
			return err
		}
		recorded := attr.Text(c.Before)
		r.found(c, now)
		if c.Status == attr.Planned && attr.Text(c.Before) != recorded && len(r.plan.Undoes) == 0 {
			err = r.more([]Change{*c})
		}
	}
	if err == nil && c.Status == attr.Planned && c.Same() {
		c.Status = attr.Unchanged
	}
	return err
}

// itself makes sure that it was the change's own object that was just read: a newborn of the
// process with the number need not be what had it at the time.
func (r *run) itself(c Change) error {
	task, done, err := r.hold(c, true)
	defer done()
	if err != nil {
		return err
	}
	return r.still(c, task)
}

// veiled reports whether the value reads otherwise once changes before it are made, or
// is too costly to be read again.
func (r *run) veiled(c Change) bool {
	return c.Attribute == attr.Slice || c.Attribute == attr.Clamp || c.Attribute == attr.Memory || c.Attribute == attr.CoreCookie
}

func (r *run) fail(c *Change, err error) {
	c.Status, c.Err = attr.Failed, r.t.Mark(*c, err)
	c.Reason = r.t.Explain(*c, err)
	if c.Gone() && r.passing(*c) {
		c.Status = attr.Unchanged
		c.Reason = "it ended meanwhile"
		delete(r.handled, c.Key()) // a thread with its number may have been read for it
	}
}

// passing reports whether a task that ended was one thread of a process that
// lives on, or one process of a tree: they come and go, and that one was not
// asked for. No target names what an undo restores.
func (r *run) passing(c Change) bool {
	if r.plan.sweeps() || !c.IsFile() && !r.alone[c.TID] && !r.named[c.PID] {
		return true
	}
	if c.TID == c.PID || r.alone[c.TID] {
		return false
	}
	leader, err := r.t.Look(c.PID, c.PID)
	return err == nil && r.starts[c.PID] == leader.StartTicks // and no later process with the number
}

// successor adds to a change of a task that ended in the middle what may have
// happened to the next task with its number.
func (r *run) successor(c *Change) {
	if !errors.Is(c.Err, attr.ErrGone) {
		return
	}
	st, err := r.t.Proc.Status(c.TID)
	if err != nil {
		return // the number is free
	}
	if k, err := r.t.Look(st.TGID, c.TID); err != nil || k.Ended() || k.StartTicks == c.StartTicks {
		return
	}
	c.Status = attr.Failed
	c.Reason = fmt.Sprintf("%d ended while it was being changed, and its number now means %s, which may have been given %s instead: look at it",
		c.TID, attr.Printable(st.Comm), c.Attribute.Words(c.After))
}

// differs handles a value that reads back other than it was set.
func (r *run) differs(c *Change, now attr.Value) {
	if r.t.Adjusted(c, now) {
		return
	}
	c.Status, c.Taken = attr.Failed, !c.Attribute.Alike(now, c.Before)
	c.Err = fmt.Errorf("%s of %s reads back as %s", c.Attribute.Words(c.After), c.Object.Object(), now)
	why := "something else sets it too"
	if c.IsFile() {
		why = "the kernel made that of it, or something else sets it too"
	} else if own := r.t.SetsItself([]Change{*c}); own != "" {
		why = own
	}
	c.Reason = fmt.Sprintf("it did not stick: %s was set and %s is in force; %s", c.After, now, why)
}
