package change

import (
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// newborns adds goals for tasks of the entry's targets that were born since it was
// made, and have what it left.
func (u *undoer) newborns(e Entry, did left) error {
	var names []attr.Attribute
	for _, c := range e.Changes {
		if !c.IsFile() && !c.Attribute.OfProcess() && !slices.Contains(names, c.Attribute) {
			names = append(names, c.Attribute)
		}
	}
	look := resolver{Tuner: u.t}
	for _, target := range e.Targets {
		tasks, _, err := look.resolve(target)
		if err != nil && !errors.Is(err, attr.ErrGone) {
			return fmt.Errorf("look for tasks born since entry %d: %w", e.ID, err)
		}
		for _, k := range tasks {
			if k.StartTicks >= e.Ticks && !k.Ended() {
				u.newborn(e, did, k, names)
			}
		}
	}
	return nil
}

func (u *undoer) newborn(e Entry, did left, k attr.Task, attributes []attr.Attribute) {
	for _, a := range attributes {
		c := Change{Object: k.Object(), Attribute: a, Status: attr.Done}
		if u.index[c.Key()] != nil {
			continue // inherit knows of it
		}
		now, err := u.t.Read(a, c.Object)
		if err = u.t.Mark(c, err); errors.Is(err, attr.ErrGone) {
			continue
		}
		m, ok := u.model(e, k.PID, a, did, func(m Change) bool { return !m.Same() && (err != nil || u.same(c, m.After, now)) })
		if !ok {
			continue // it has a value of its own
		}
		if err != nil {
			now = m.After // it will be refused if it cannot be read
		}
		c.Before, c.After = m.Before, now
		u.step(c, step{e.ID, c.Before, c.After, true})
		u.also(c.Key())
	}
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
	b := births{undoer: u, family: f, swept: map[kernel.TID][]Change{}, earlier: map[kernel.TID]attr.Value{}}
	for _, c := range e.Changes {
		if c.Attribute == attr.Affinity && u.t.sameProcess(c, nil, f.starts[c.PID]) && (c.Took() || c.Status == attr.Planned) {
			b.swept[c.PID] = append(b.swept[c.PID], c)
		}
	}
	for _, g := range u.goals {
		if g.TID == g.PID && g.Attribute == attr.Affinity && g.StartTicks == f.starts[g.PID] {
			b.earlier[g.PID] = g.first()
		}
	}
	for _, k := range f.tasks {
		if k.StartTicks > e.Sweep && !k.Ended() && k.Movable() {
			if err := b.task(e, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// bornMeanwhile asks for what tasks have to get back that were born while entries
// were undone, from parents whose turn had not come.
func (u *undoer) bornMeanwhile(chosen []Entry) ([]Request, error) {
	now := u.t.undoer(u.q, u.entries)
	if err := now.all(chosen); err != nil {
		return nil, err
	}
	var out []Request
	for _, g := range now.goals {
		if u.index[g.Key()] == nil {
			out = append(out, Request{
				Targets: []Target{{TID: g.TID, StartTicks: g.StartTicks, Scope: ScopeThread}},
				Set:     []attr.Setting{{Attribute: g.Attribute, Value: g.first()}},
			})
		}
	}
	return out, nil
}

// births looks for what the tasks that were born after one sweep have from it.
type births struct {
	*undoer
	family
	swept   map[kernel.TID][]Change   // what the sweep did to each process
	earlier map[kernel.TID]attr.Value // the masks of first threads before the entries that are undone
}

func (b *births) task(e Entry, k attr.Task) error {
	c := Change{Object: k.Object(), Attribute: attr.Affinity, Status: attr.Done}
	if g := b.index[c.Key()]; g != nil {
		if elder, ok := b.elder(k, g.first()); ok {
			g.steps = append(g.steps, step{e.ID, elder.Before, elder.After, true})
			b.also(c.Key())
		}
		return nil
	}
	value, err := b.t.Read(c.Attribute, c.Object)
	if err = b.t.Mark(c, err); errors.Is(err, attr.ErrGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %d, which was born since entry %d: %w", k.TID, e.ID, err)
	}
	if elder, ok := b.elder(k, value); ok {
		c.Before, c.After = elder.Before, value
		b.step(c, step{e.ID, c.Before, c.After, true})
		b.also(c.Key())
	}
	return nil
}

// elder finds what the sweep did to the nearest elder that it left with the
// value. An elder that had it of its own accord ends the search: the task has it
// from there.
func (b *births) elder(k attr.Task, value attr.Value) (Change, bool) {
	pid := k.PID
	if k.TID == k.PID {
		pid = b.parent[k.PID]
	}
	for range len(b.parent) {
		swept := b.swept[pid]
		i := slices.IndexFunc(swept, func(c Change) bool {
			return attr.Affinity.Alike(c.After, value) && !c.Same() && b.t.speaks(c, value)
		})
		if i >= 0 {
			return swept[i], true
		}
		had, known := b.earlier[pid]
		if !known {
			had, _ = b.t.Value(attr.Affinity, pid)
		}
		if pid <= 0 || len(swept) == 0 && attr.Affinity.Alike(had, value) {
			return Change{}, false
		}
		pid = b.parent[pid]
	}
	return Change{}, false
}

// family is all tasks there are, with the parents of the processes.
type family struct {
	tasks  []attr.Task
	parent map[kernel.TID]kernel.TID
	starts map[kernel.TID]uint64 // of the processes, in ticks
}

func (t *Tuner) family() (family, error) {
	f := family{parent: map[kernel.TID]kernel.TID{}, starts: map[kernel.TID]uint64{}}
	pids, err := t.Proc.Processes()
	if err != nil {
		return f, err
	}
	for _, pid := range pids {
		st, err := t.Proc.Stat(pid)
		if errors.Is(err, attr.ErrGone) {
			continue
		}
		if err != nil {
			return f, err
		}
		f.parent[pid], f.starts[pid] = st.PPID, st.StartTicks
		threads, err := t.threads(pid, st.StartTicks, nil)
		if err != nil && !errors.Is(err, attr.ErrGone) {
			return f, err
		}
		f.tasks = append(f.tasks, threads...)
	}
	return f, nil
}
