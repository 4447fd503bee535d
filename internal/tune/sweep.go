package tune

import (
	"context"
	"errors"
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Sweep makes a plan one over whatever tasks there are, as when CPUs are
// isolated, instead of one over tasks that were named. That a task has ended
// meanwhile is then no failure, and new ones may be born at any time.
type Sweep struct {
	// AtTicks is when the plan's tasks were looked at, USER_HZ since boot. An undo
	// also looks for tasks born since that inherited what the plan set.
	AtTicks uint64
	// Again, when not nil, is asked once the changes were made, and until it has
	// nothing new twice in a row, what else should be changed. What it says of tasks
	// and files that the plan knows already is ignored.
	Again func(ctx context.Context) ([]Request, error)
}

// sweep asks the plan's Sweep once, and reports whether something new had to be
// changed.
func (r *run) sweep(ctx context.Context) (bool, error) {
	if r.plan.Sweep == nil || r.plan.Sweep.Again == nil {
		return false, nil
	}
	requests, err := r.plan.Sweep.Again(ctx)
	if err != nil || len(requests) == 0 {
		return false, err
	}
	plan, err := r.t.Plan(ctx, requests)
	if err != nil {
		return false, err
	}
	dealt := map[changeKey]bool{}
	for _, c := range r.result.Changes {
		dealt[c.key()] = true
	}
	var found []Change
	for _, c := range plan.Changes {
		if !dealt[c.key()] && c.Status == Planned && (c.file() || !r.knows(taskID{c.TID, c.StartTicks})) {
			found = append(found, c)
		}
	}
	for _, c := range found {
		if !c.file() {
			r.known[c.TID] = c.StartTicks
		}
	}
	changed, err := r.adopt(found)
	if err != nil || !changed {
		return false, err
	}
	return true, r.make(ctx, r.result.Changes[len(r.result.Changes)-len(found):])
}

// born adds goals for tasks that were born since a sweep with what it left of
// their parent's mask: but for the sweep they had the parent's whole one. It
// comes after the goals of the entry itself.
func (u *undoer) born(e Entry) error {
	if e.Sweep == 0 {
		return nil
	}
	f, err := u.t.family()
	if err != nil {
		return fmt.Errorf("look for tasks born since entry %d: %w", e.ID, err)
	}
	b := births{undoer: u, family: f, swept: map[kernel.TID]Change{}, earlier: map[kernel.TID]string{}}
	for _, c := range e.Changes {
		if c.TID == c.PID && c.Attribute == Affinity && (c.Status == Done || c.Status == Planned) {
			b.swept[c.PID] = c
		}
	}
	for _, g := range u.goals {
		if g.TID == g.PID && g.Attribute == Affinity {
			b.earlier[g.PID] = g.before
		}
	}
	for _, k := range f.tasks {
		if k.startTicks > e.Sweep && !ended(k.state) && k.flags&flagNoSetAffinity == 0 {
			b.task(e, k)
		}
	}
	return nil
}

// bornMeanwhile asks for what tasks have to get back that were born while sweeps
// were undone, from parents whose turn had not come.
func (u *undoer) bornMeanwhile(chosen []Entry) ([]Request, error) {
	now := u.t.undoer(u.q, u.entries)
	for _, e := range chosen {
		now.entry(e)
		if err := now.born(e); err != nil {
			return nil, err
		}
	}
	var out []Request
	for _, g := range now.goals {
		if _, known := u.index[g.key()]; known {
			continue
		}
		mask, err := cpuset.Parse(g.before)
		if err != nil {
			return nil, fmt.Errorf("affinity of %d: %w", g.TID, err)
		}
		out = append(out, Request{
			Targets: []Target{{TID: g.TID, StartTicks: g.StartTicks, Scope: ScopeThread}}, Settings: Settings{Affinity: &mask},
		})
	}
	return out, nil
}

// births looks for what the tasks that were born after one sweep have from it.
type births struct {
	*undoer
	family
	swept   map[kernel.TID]Change // what the sweep did to the first thread of each process
	earlier map[kernel.TID]string // the masks of first threads before the entries that are undone
}

func (b *births) task(e Entry, k task) {
	c := Change{PID: k.pid, TID: k.tid, StartTicks: k.startTicks, Comm: k.comm, Attribute: Affinity, Status: Done}
	i, known := b.index[c.key()]
	if known {
		if elder, ok := b.elder(k, b.goals[i].before); ok {
			b.goals[i].before = elder.Before
		}
		return
	}
	value, err := b.t.read(c)
	if err != nil {
		return // it has ended
	}
	if elder, ok := b.elder(k, value); ok {
		c.Before, c.After = elder.Before, value
		b.index[c.key()] = len(b.goals)
		b.goals = append(b.goals, goal{Change: c, oldest: e.ID, before: c.Before})
	}
}

// elder finds what the sweep did to the nearest elder that it left with the
// value. An elder that had it of its own accord ends the search: the task has it
// from there.
func (b *births) elder(k task, value string) (Change, bool) {
	pid := k.pid
	if k.tid == k.pid {
		pid = b.parent[k.pid]
	}
	for range len(b.parent) {
		c, swept := b.swept[pid]
		if swept && c.After == value && c.Before != value {
			return c, true
		}
		had, known := b.earlier[pid]
		if !known {
			had, _ = b.t.read(Change{TID: pid, Attribute: Affinity})
		}
		if pid <= 0 || !swept && had == value {
			break
		}
		pid = b.parent[pid]
	}
	return Change{}, false
}

// family is all tasks there are, with the parents of the processes.
type family struct {
	tasks  []task
	parent map[kernel.TID]kernel.TID
}

func (t *Tuner) family() (family, error) {
	f := family{parent: map[kernel.TID]kernel.TID{}}
	pids, err := t.o.Proc.Processes()
	if err != nil {
		return f, err
	}
	for _, pid := range pids {
		st, err := t.o.Proc.Stat(pid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return f, err
		}
		f.parent[pid] = st.PPID
		threads, err := t.threads(pid, nil)
		if err != nil && !errors.Is(err, ErrGone) {
			return f, err
		}
		f.tasks = append(f.tasks, threads...)
	}
	return f, nil
}
