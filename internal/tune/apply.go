package tune

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// ErrNeedsYes is Apply's error for a plan whose NeedsYes was not answered.
var ErrNeedsYes = errors.New("not done without --yes")

// run is one Apply.
type run struct {
	t      *Tuner
	plan   *Plan
	result Result
	holds  map[kernel.TID]hold
	known  map[kernel.TID]uint64 // threads that have been dealt with, and their starts in ticks
	alone  map[kernel.TID]bool   // threads that were asked for by themselves
	warned map[string]bool
	stuck  map[int]bool        // interrupt lines that could not be moved: their threads stay as well
	named  map[kernel.TID]bool // processes that a target names
	made   uint64              // when the planned changes had been made, USER_HZ since boot; 0 = not known
}

// Apply carries a plan out: it journals and syncs what it is about to change,
// makes the changes one by one, reads each back, and looks again for threads
// that appeared meanwhile. One failure does not stop the rest; each Change of
// the Result says what became of it. Apply fails as a whole, with nothing
// changed, when the journal cannot be written or the plan needs a yes, and
// half way when the context ends.
func (t *Tuner) Apply(ctx context.Context, plan Plan) (Result, error) {
	if plan.NeedsYes != "" && !plan.Yes {
		return Result{}, fmt.Errorf("%w: %s", ErrNeedsYes, plan.NeedsYes)
	}
	r := &run{
		t: t, plan: &plan, holds: map[kernel.TID]hold{},
		known: map[kernel.TID]uint64{}, alone: map[kernel.TID]bool{}, warned: map[string]bool{}, stuck: map[int]bool{}, named: map[kernel.TID]bool{},
	}
	defer r.release()
	r.result.Changes = append([]Change(nil), plan.Changes...)
	for _, q := range plan.Requests {
		for _, target := range q.Targets {
			r.named[target.TID] = true
			if target.Scope == ScopeThread {
				r.alone[target.TID] = true
			}
		}
	}
	for _, c := range plan.Changes {
		r.known[c.TID] = c.StartTicks
		r.named[c.PID] = r.named[c.PID] || r.named[c.TID]
	}
	for i := range r.result.Changes {
		r.refresh(&r.result.Changes[i])
	}
	if err := r.begin(); err != nil {
		return Result{}, err
	}
	err := r.make(ctx, r.result.Changes)
	r.made = t.ticks()
	if err == nil {
		err = r.settle(ctx)
	}
	r.result.Undone = r.undone()
	return r.result, errors.Join(err, r.end())
}

func (r *run) knows(id taskID) bool {
	ticks, ok := r.known[id.tid]
	return ok && ticks == id.startTicks
}

// refresh reads the old value again: time has passed since the plan was made.
func (r *run) refresh(c *Change) {
	if c.Status != Planned && c.Status != Unchanged || c.gone() {
		return
	}
	h := r.guard(*c)
	defer r.drop(c.PID, h)
	if err := r.still(*c, h); err != nil {
		r.fail(c, err)
		return
	}
	now, err := r.t.read(*c)
	if err != nil {
		r.fail(c, err)
		return
	}
	is := c.Attribute.alike
	if len(r.plan.Undoes) > 0 && !is(now, c.Before) && !is(now, c.After) && !followsIRQ(c.Comm, c.Attribute, c.Before, now) {
		refuse(c, "it has changed from %s to %s since the undo was planned; look again", c.Before, now)
		return
	}
	c.Before, c.Status = now, Planned
	if is(now, c.After) {
		c.Status = Unchanged
	}
}

// gone tells a change that an undo need not make because its task has ended.
func (c Change) gone() bool { return errors.Is(c.Err, ErrGone) }

func (r *run) warn(text string) {
	if !r.warned[text] {
		r.warned[text] = true
		r.result.Warnings = append(r.result.Warnings, text)
	}
}

// make carries out the planned ones of changes in order.
func (r *run) make(ctx context.Context, changes []Change) error {
	for i := range changes {
		c := &changes[i]
		if c.Status != Planned {
			continue
		}
		if ctx.Err() != nil {
			refuse(c, "not done: piton was interrupted before its turn came")
			continue
		}
		if line, ok := irq.ThreadLine(c.Comm); ok && c.Attribute == Affinity && r.stuck[line] {
			refuse(c, "its interrupt %d could not be moved", line)
			continue
		}
		if r.one(c); c.Attribute == IRQAffinity && c.Status == Failed {
			r.stuck[lineOf(c.Path)] = true
		}
	}
	return ctx.Err()
}

// one makes one change: check, write, read back, check again.
func (r *run) one(c *Change) {
	h := r.guard(*c)
	defer r.drop(c.PID, h)
	if err := r.still(*c, h); err != nil {
		r.fail(c, err)
		return
	}
	if err := r.t.write(*c); err != nil {
		r.fail(c, err)
		return
	}
	now, err := r.t.read(*c)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		err = errors.Join(err, r.still(*c, h))
	}
	if err != nil {
		r.fail(c, err)
		c.Taken = !c.gone() // it was written, and nobody knows what it is now
		r.confess(c)
		return
	}
	c.Status = Done
	if !c.Attribute.alike(now, c.After) {
		r.differs(c, now)
	}
	c.After = now
}

// guard holds the process that the change is about, if it is about one.
func (r *run) guard(c Change) hold {
	if c.PID == 0 {
		return hold{}
	}
	return r.hold(c.PID)
}

// still makes sure that the change's number, or its path, means what it meant.
func (r *run) still(c Change, h hold) error {
	if c.file() {
		if err := r.t.same(c); err != nil || c.PID == 0 {
			return err
		}
	}
	return r.means(c, h)
}

func (r *run) fail(c *Change, err error) {
	c.Status, c.Err = Failed, r.t.markOf(*c, err)
	c.Reason = r.t.explain(*c, err)
	if c.gone() && r.passing(*c) {
		c.Status = Unchanged
		c.Reason = "it ended meanwhile"
	}
}

// passing reports whether a task that ended was one thread of a process that
// lives on, or one process of a tree: they come and go, and nobody asked for that
// one. No target names what an undo takes back.
func (r *run) passing(c Change) bool {
	if r.plan.Sweep != nil || !c.file() && !r.alone[c.TID] && !r.named[c.PID] {
		return true
	}
	if c.TID == c.PID || r.alone[c.TID] {
		return false
	}
	leader, err := r.t.look(c.PID, c.PID)
	return err == nil && r.knows(leader.id()) // and no later process with the number
}

// differs handles a value that reads back other than it was set.
func (r *run) differs(c *Change, now string) {
	want := c.After
	c.After = now
	if c.file() && r.adjusted(c, want, now) || c.Attribute == Affinity && r.cut(c, want, now) ||
		c.Attribute == Memory && r.partly(c, want, now) {
		return
	}
	c.Status, c.Taken = Failed, !c.Attribute.alike(now, c.Before)
	c.Err = fmt.Errorf("%s of %s reads back as %s", describe(c.Attribute, want), c.Object(), now)
	c.Reason = fmt.Sprintf("it did not stick: %s was set and %s is in force; something else sets it too", want, now)
	if c.file() {
		c.Reason = fmt.Sprintf("it did not stick: %s was set and %s is in force; the kernel made that of it, or something else sets it too", want, now)
	}
}

// cut recognises the kernel's silent intersection with the cpuset and the
// online CPUs: success, with fewer CPUs than were asked for.
func (r *run) cut(c *Change, want, now string) bool {
	asked, err := cpuset.Parse(want)
	if err != nil {
		return false
	}
	got, err := cpuset.Parse(now)
	if err != nil || !got.SubsetOf(asked) {
		return false
	}
	missing, force := asked.AndNot(got), got.InWords()+" "+isAre(got.Len())
	if online, err := r.t.online(); err == nil && missing.And(online).Empty() {
		c.Reason = fmt.Sprintf("%s in force: %s", force, absent(missing, online))
		return true
	}
	if limit, cgroup, err := r.t.Cpuset(c.PID); err == nil && missing.And(limit).Empty() {
		c.Reason = fmt.Sprintf("%s in force: cgroup %s allows only %s", force, cgroup, limit.InWords())
		return true
	}
	c.Reason = fmt.Sprintf("%s in force: the kernel left out %s", force, missing)
	return true
}

// adjusted recognises what the kernel makes of a value on its own account: it
// keeps the CPUs that can be used, and rounds counts up to a power of two.
func (r *run) adjusted(c *Change, want, now string) bool {
	f := fileAttributes[c.Attribute]
	if f.rounds {
		asked, _ := strconv.ParseUint(want, 10, 64)
		got, err := strconv.ParseUint(now, 10, 64)
		c.Reason = fmt.Sprintf("the kernel rounded %s up to a power of two", want)
		return err == nil && got > asked && got < 2*asked
	}
	asked, _ := cpuset.Parse(want)
	got, err := cpuset.Parse(now)
	if !f.cpus || err != nil || got.Empty() || !got.SubsetOf(asked) {
		return false
	}
	missing := asked.AndNot(got)
	c.Reason = fmt.Sprintf("%s %s in force: the kernel left out %s", got.InWords(), isAre(got.Len()), missing)
	if online, err := r.t.online(); err == nil && missing.And(online).Empty() {
		c.Reason = fmt.Sprintf("%s %s in force: %s", got.InWords(), isAre(got.Len()), absent(missing, online))
	}
	return true
}
