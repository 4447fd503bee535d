package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/kernel"
)

// Try tries settings of the same tasks in turn on the live machine. It is called when what may
// be set is recorded and the guard stands, and what was there is restored after it in any case.
// What it found out, in words, is for the journal.
type Try func(ctx context.Context, set SetCandidate) (found string, err error)

// SetCandidate puts a candidate in force for each thread, 0 is what was there before. Its error Is
// ErrOvertaken when somebody else has set one of the values meanwhile, ErrTooLate when
// the guard reverts, ErrUndone when the entry was undone, and attr.ErrGone when the target has ended.
type SetCandidate func(of func(kernel.TID) (candidate int)) error

// All is one candidate for all threads.
func All(candidate int) func(kernel.TID) int { return func(kernel.TID) int { return candidate } }

// ErrOvertaken is the error of a trial whose values somebody else sets.
var ErrOvertaken = errors.New("changed by someone else meanwhile")

// PlanTrial plans a trial of candidates, each of them requests, for the same targets mostly.
// Carried out, it is one entry of the journal under one guard, and leaves everything as it
// was; what is to stay is another plan. Without Confirmation.RevertAfter it would leave what it
// tries if it were killed, so that is an error of Try.
func (t *Tuner) PlanTrial(ctx context.Context, candidates [][]Request) (Plan, error) {
	all := Plan{candidates: []Plan{}}
	index := map[attr.Key]int{}
	for _, requests := range candidates {
		p, err := t.Plan(ctx, requests)
		if err != nil {
			return Plan{}, err
		}
		all.candidates = append(all.candidates, p)
		all.Requests = append(all.Requests, requests...)
		if len(p.follow) > len(all.follow) { // a candidate may be of more targets than others
			all.follow = p.follow
		}
		for _, w := range p.Warnings {
			if !slices.Contains(all.Warnings, w) {
				all.Warnings = append(all.Warnings, w)
			}
		}
		for _, n := range p.Needs {
			if !slices.Contains(all.Needs, n) {
				all.Need(n.Danger, "%s", n.Text)
			}
		}
		for _, c := range p.Changes {
			i, known := index[c.Key()]
			if !known {
				i = len(all.Changes)
				index[c.Key()] = i
				all.Changes = append(all.Changes, c)
			}
			if c.Status == attr.Planned {
				both := &all.Changes[i]
				both.Tried = append(both.Tried, c.After)
				both.Status, both.After, both.Reason, both.Err = c.Status, c.After, "", nil
			}
		}
	}
	view := t.NewView()
	for i := range all.Changes {
		if c := &all.Changes[i]; c.Status == attr.Planned {
			t.refuseOneWay(c)
			for _, v := range slices.Clone(c.Tried) { // a guard does not ask for the cpuset
				if cut, ok := view.Cut(*c, v); ok && !c.Attribute.Alike(cut, v) {
					c.Tried = append(c.Tried, cut)
				}
			}
		}
	}
	return all, nil
}

// Try is Apply for a plan of PlanTrial.
func (t *Tuner) Try(ctx context.Context, plan Plan, confirmation Confirmation, try Try) (Outcome, error) {
	return t.apply(ctx, plan, confirmation, try)
}

// backTries is how often what could not be restored is tried again.
const backTries = 5

// trial is one under way.
type trial struct {
	*run
	entry   Entry // as it would be restored
	changes []tried
	known   map[attr.ID]bool
}

// tried is a change of a trial.
type tried struct {
	Change
	values []attr.Value // by candidate; nil = Before
	given  []attr.Value // that it was given, as read back, Before aside
	last   attr.Value   // that it was given
	other  attr.Value   // not nil: somebody else has set this meanwhile
	gone   bool
}

// try carries the trial out, and restores what was there; what cannot be is in the result.
func (r *run) try(ctx context.Context, try Try) (err error) {
	rec := r.record(attr.Only(r.result.Changes, attr.Planned))
	tr := &trial{run: r, known: map[attr.ID]bool{}, entry: Entry{ID: r.result.Entry, Ticks: rec.Ticks, Targets: rec.Targets, Changes: rec.Changes}}
	for _, c := range rec.Changes {
		its := tried{Change: c, values: make([]attr.Value, len(r.plan.candidates)+1), last: c.Before}
		for i, p := range r.plan.candidates {
			k := slices.IndexFunc(p.Changes, func(o Change) bool { return o.Key() == c.Key() && o.Status == attr.Planned })
			if k >= 0 {
				its.values[i+1] = p.Changes[k].After
			}
		}
		tr.changes = append(tr.changes, its)
		tr.known[attr.ID{TID: c.TID, StartTicks: c.StartTicks}] = true
	}
	r.free()
	r.trying = true
	r.tried, err = try(ctx, tr.put)
	if late := r.relock(); late != nil {
		r.warn(fmt.Sprintf("what was there is restored while another piton may be changing it: %v", late))
	}
	return errors.Join(err, tr.restore(context.WithoutCancel(ctx)))
}

// put is SetCandidate. Other pitons change what they like between two calls.
func (tr *trial) put(of func(kernel.TID) int) error {
	if err := tr.relock(); err != nil {
		return err
	}
	defer tr.free()
	if err := tr.result.Guard.Stands(); err != nil {
		return err
	}
	if err := tr.newThread(); err != nil {
		return err
	}
	alive := false
	for i := range tr.changes {
		c := &tr.changes[i]
		if c.gone {
			continue
		}
		candidate := of(c.TID)
		if candidate < 0 || candidate > len(tr.plan.candidates) {
			return fmt.Errorf("candidate %d: there is none", candidate)
		}
		err := tr.give(c, candidate)
		switch {
		case err == nil:
			alive = true
		case errors.Is(tr.t.Mark(c.Change, err), attr.ErrGone):
			c.gone = true
		default:
			return err
		}
	}
	if !alive {
		return fmt.Errorf("what is tried: %w", attr.ErrGone)
	}
	return nil
}

// give sets the value of one change, as every other change is made.
func (tr *trial) give(c *tried, candidate int) error {
	w := c.Change
	w.Before, w.After, w.Tried, w.Status = c.last, c.values[candidate], nil, attr.Planned
	if w.After == nil {
		w.After = c.Before
	}
	meant := w.After
	tr.one(&w)
	switch {
	case w.Gone():
		return w.Err
	case w.Status == attr.Unchanged:
		return nil
	case w.Status == attr.Done:
		c.took(w.After) // what the kernel made of it
		return nil
	case w.Status == attr.Refused:
		c.other = w.Before
	case w.Taken:
		if c.took(meant); !c.Attribute.Alike(w.After, meant) { // it did not stick
			c.other, w.Err = w.After, ErrOvertaken
		}
	}
	return tryError{w.Reason, w.Err}
}

// tryError is why a candidate could not be put in force.
type tryError struct {
	text string
	error
}

func (e tryError) Error() string { return e.text }
func (e tryError) Unwrap() error { return e.error }

// overtaken compares what is being tried with the value that is there: somebody else has set that,
// unless it is what a cpuset has left of what was tried.
func (r *run) overtaken(c *Change, now attr.Value) {
	if r.t.NewView().CutTo(*c, c.Before, now) { // it could not be read back, or the cpuset is another
		return
	}
	own := r.t.SetsItself([]Change{*c})
	c.RefuseAs(fmt.Errorf("%s of %s is %s, and was set to %s: %w", c.Attribute, c.Object.Object(), now, c.Before, ErrOvertaken))
	c.Before, c.Reason = now, cmp.Or(own, c.Reason)
}

// took notes a value that it has been given.
func (c *tried) took(v attr.Value) {
	c.last = v
	if !c.Attribute.Alike(v, c.Before) && !slices.ContainsFunc(c.given, func(o attr.Value) bool { return c.Attribute.Alike(o, v) }) {
		c.given = append(c.given, v)
	}
}

// How a mask that does not stay is told from one that somebody has set once: by reading it
// so often, and by the changes from which on it is the task's own doing. Nothing else sets
// one hundreds of times a second.
const (
	selfReads = 30
	selfQuiet = 10 // reads without a change after which it is taken to stay
	selfStep  = time.Millisecond
	selfLeast = 3
	selfMost  = 16 // threads
)

// SetsItself watches the affinity of the tasks of some changes for a moment, and says that
// their process sets its own; "" where it stays.
func (t *Tuner) SetsItself(changes []Change) string {
	watched := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Attribute != attr.Affinity || c.TID == 0 })
	watched = watched[:min(len(watched), selfMost)]
	last, times, began := make([]attr.Value, len(watched)), 0, t.o.Clock.Now()
	for n := 0; n < selfReads && len(watched) > 0 && (n < selfQuiet || times > 0); n++ {
		for i, c := range watched {
			now, err := t.Read(c.Attribute, c.Object)
			if err != nil {
				continue
			}
			if last[i] != nil && !c.Attribute.Alike(now, last[i]) {
				times++
			}
			last[i] = now
		}
		t.o.Clock.Sleep(selfStep)
	}
	if times < selfLeast {
		return ""
	}
	took := max(t.o.Clock.Now().Sub(began), selfReads*selfStep)
	return fmt.Sprintf("%s sets its own affinity, at least %.0f times a second", cmp.Or(attr.Printable(watched[0].Comm), watched[0].Object.Object()),
		float64(times)/took.Seconds())
}

// newThread takes threads that were born since the last call and have what was set; one
// with a value of its own keeps it. One that is older than the entry is recorded: it would
// not be taken for one that has inherited what the entry set.
func (tr *trial) newThread() error {
	var unknown []Change
	look := resolver{Tuner: tr.t, skip: func(_, tid kernel.TID) bool { return tr.run.known[tid] }}
	for _, f := range tr.plan.follow {
		tasks, _, err := look.resolve(f.target)
		if err != nil {
			continue // its changes will tell
		}
		for _, k := range tasks {
			if k.Ended() || tr.known[k.ID()] {
				continue
			}
			for _, c := range tr.adoptThread(k) {
				if k.StartTicks < tr.entry.Ticks {
					unknown = append(unknown, c)
				}
			}
		}
	}
	tr.entry.Changes = append(tr.entry.Changes, unknown...)
	tr.result.Changes = append(tr.result.Changes, unknown...)
	return tr.more(unknown)
}

func (tr *trial) adoptThread(k attr.Task) (taken []Change) {
	leader, err := tr.t.Look(k.PID, k.PID) // and not of a process that had its number before
	models := slices.DeleteFunc(slices.Clone(tr.changes), func(c tried) bool {
		return err != nil || c.PID != k.PID || c.TID != c.PID || c.StartTicks != leader.StartTicks
	})
	for _, m := range models {
		c := m
		c.Object, c.gone, c.given = k.Object(), false, slices.Clone(m.given)
		now, err := tr.t.Read(c.Attribute, c.Object)
		if err == nil && c.Attribute.Alike(now, m.last) {
			c.last = now
			tr.changes = append(tr.changes, c)
			tr.known[k.ID()] = true
			taken = append(taken, c.Change)
		}
	}
	return taken
}

// restore gives everything back what it had, and then what inherited something that was
// tried.
func (tr *trial) restore(ctx context.Context) error {
	if errors.Is(tr.result.Guard.Stands(), ErrUndone) {
		// What there was before may have been undone as well. Without an end, the entry
		// stays undone.
		for i := range tr.result.Changes {
			if c := &tr.result.Changes[i]; c.Status == attr.Planned {
				c.After, c.Status, c.Tried = c.Before, attr.Unchanged, nil
			}
		}
		return ErrUndone
	}
	became, reverted := map[attr.Key]Change{}, map[attr.Key]bool{}
	for i := range tr.changes {
		c := &tr.changes[i]
		became[c.Key()], reverted[c.Key()] = tr.back(c), true
		given := slices.DeleteFunc(c.given, func(v attr.Value) bool { return c.other != nil && c.Attribute.Alike(v, c.other) })
		for k := range tr.entry.Changes {
			switch its := &tr.entry.Changes[k]; {
			case its.Key() == c.Key():
				its.After, its.Tried = c.Before, given
			case its.PID == c.PID && its.TID == c.PID && its.Attribute == c.Attribute && c.StartTicks >= tr.entry.Ticks: // a newborn like it
				its.Tried = append(slices.Clip(its.Tried), given...)
			}
		}
	}
	for i := range tr.result.Changes {
		c := &tr.result.Changes[i]
		if is, ok := became[c.Key()]; ok {
			*c = is
		}
		c.Tried = nil
	}
	o := tr.t.o
	o.Journal, o.Lock, o.Guards = nil, nil, nil
	_, out, err := New(o).Revert(ctx, tr.entry, reverted, func() bool { return false })
	tr.result.Unsettled = out.Unsettled
	return err
}

// back restores one change, and returns what became of it.
func (tr *trial) back(c *tried) Change {
	out := c.Change
	out.After, out.Status, out.Tried = c.Before, attr.Unchanged, nil
	err := tr.give(c, 0)
	for try := 0; try < backTries && err != nil && !errors.Is(err, ErrOvertaken) && !errors.Is(tr.t.Mark(out, err), attr.ErrGone); try++ {
		tr.t.o.Clock.Sleep(passTime)
		err = tr.give(c, 0)
	}
	if err == nil {
		return out
	}
	// What somebody else has set since is left alone. They may have found what was tried, so
	// that it is there again if they undo theirs.
	out.After, out.Taken = c.last, !c.Attribute.Alike(c.last, c.Before)
	tr.fail(&out, err)
	out.Taken = out.Taken && !out.Gone()
	return out
}

// refuseDuringTrial refuses changes of what a trial of another piton sets at the moment, and of
// processes that such a one's have started since: they would find a value that is there for a
// while only. A trial finds one as well where a guard may still revert a change, and what it
// tries could be what the guard then restores.
func (r *run) refuseDuringTrial(changes []Change) error {
	if r.t.o.Guards == nil || r.t.o.Journal == nil || r.plan.blind {
		return nil
	}
	guards, err := r.t.o.Guards.List()
	// No trial waits for a confirmation, and the journal need not be read for those that do.
	concerns := func(g history.GuardState) bool { return !g.Waiting || r.plan.candidates != nil }
	if err != nil || !slices.ContainsFunc(guards, concerns) {
		return err
	}
	entries, _, err := r.t.o.Journal.Entries()
	if err != nil {
		return err
	}
	type part struct {
		pid       kernel.TID
		path      string
		attribute attr.Attribute
	}
	why, family := map[part]string{}, r.t.family()
	for _, e := range entries {
		i := slices.IndexFunc(guards, func(g history.GuardState) bool { return g.Entry == e.ID })
		if i < 0 || e.Undone && guards[i].Lost { // it was killed when it had said that nothing is left
			continue
		}
		for _, c := range e.Changes {
			words := r.temporary(guards[i], c)
			if words == "" {
				continue
			}
			if c.IsFile() || len(c.Tried) == 0 {
				why[part{c.PID, c.Path, c.Attribute}] = words
				continue
			}
			if family.children == nil {
				if err := family.readChildren(); err != nil {
					return err
				}
			}
			if start, there := family.starts[c.PID]; there && start > c.StartTicks {
				continue // a later process has the number
			}
			why[part{c.PID, "", c.Attribute}] = words
			for _, pid := range family.bornSince(c.PID, e.Ticks) { // with what is being tried
				why[part{pid, "", c.Attribute}] = words
			}
		}
	}
	for i := range changes {
		c := &changes[i]
		if words := why[part{c.PID, c.Path, c.Attribute}]; words != "" && (c.Status == attr.Planned || c.Status == attr.Unchanged) && !c.Gone() {
			c.Refuse("%s", words)
		}
	}
	return nil
}

// temporary says why what is under a guard will not stay as it is, "" if it may, or if that is
// to be undone.
func (r *run) temporary(g history.GuardState, c Change) string {
	switch trial := len(c.Tried) > 0; {
	case trial && (g.Making || g.Stopped):
		return fmt.Sprintf("entry %d, a search that is under way, sets it in turn; stop that first", g.Entry)
	case trial && slices.Contains(r.plan.Undoes, g.Entry):
	case trial && g.Lost:
		return fmt.Sprintf("entry %d is a search that has lost its guard; piton undo %d first", g.Entry, g.Entry)
	case trial:
		return fmt.Sprintf("entry %d, a search, is being reverted; run the command again", g.Entry)
	case r.plan.candidates != nil && !g.Lost && (c.Took() || c.Status == attr.Planned):
		return fmt.Sprintf("entry %d may still be reverted; piton keep %d keeps it, piton undo %d reverts it now", g.Entry, g.Entry, g.Entry)
	}
	return ""
}
