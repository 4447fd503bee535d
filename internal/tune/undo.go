package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/kernel"
)

// UndoRequest says what to take back: entries by ID, else those made at Since or
// later, else the last Last entries that can be, else All of them.
type UndoRequest struct {
	IDs   []uint64
	Since time.Time
	Last  int
	All   bool
	Force bool // also what somebody else has changed since
}

// ErrNothingToUndo is the error for an empty choice.
var ErrNothingToUndo = errors.New("nothing to undo: no change of this boot is recorded that has not been undone already")

// ErrNoJournal is the error of an undo without a journal.
var ErrNoJournal = errors.New("there is no journal, so nothing is known that could be undone")

// undone is one entry to take back, with the changes that stand for it.
type undone struct {
	id   uint64
	keys []changeKey
}

// Undo takes entries of the journal back. Doing so twice does nothing the
// second time, and says so in Warnings.
func (t *Tuner) Undo(ctx context.Context, q UndoRequest) (Result, error) {
	plan, err := t.PlanUndo(ctx, q)
	if err != nil {
		return Result{}, err
	}
	result, err := t.Apply(ctx, plan)
	result.Warnings = append(plan.Warnings, result.Warnings...)
	return result, err
}

// PlanUndo returns the Plan that Undo would apply. A task that has ended has
// nothing to undo and is Unchanged; a value that is not the one that piton left
// is Refused, unless forced.
func (t *Tuner) PlanUndo(ctx context.Context, q UndoRequest) (Plan, error) {
	if t.o.Journal == nil {
		return Plan{}, ErrNoJournal
	}
	entries, damage, err := t.o.Journal.Entries()
	if err != nil {
		return Plan{}, err
	}
	u := t.undoer(q, entries)
	for _, d := range damage {
		u.plan.Warnings = append(u.plan.Warnings, d.Error())
	}
	chosen, err := u.choose()
	if err != nil {
		return Plan{}, err
	}
	for _, e := range chosen {
		u.entry(e)
		if err := u.born(e); err != nil {
			return Plan{}, err
		}
	}
	for i := range u.goals {
		if err := ctx.Err(); err != nil {
			return Plan{}, err
		}
		u.plan.Changes = append(u.plan.Changes, u.change(u.goals[i]))
	}
	if slices.ContainsFunc(chosen, func(e Entry) bool { return e.Sweep > 0 }) {
		u.plan.Sweep = &Sweep{Again: func(context.Context) ([]Request, error) { return u.bornMeanwhile(chosen) }}
	}
	return u.plan, nil
}

// undoer builds the Plan of one undo.
type undoer struct {
	t       *Tuner
	q       UndoRequest
	entries []Entry
	plan    Plan
	goals   []goal // in the order in which they are to be made
	index   map[changeKey]int
	bounds
}

func (t *Tuner) undoer(q UndoRequest, entries []Entry) *undoer {
	return &undoer{t: t, q: q, entries: entries, index: map[changeKey]int{}, bounds: t.bounds()}
}

// goal is one attribute of one task: what piton left, and what was there before.
type goal struct {
	Change        // of the newest chosen entry
	oldest uint64 // chosen entry that changed it
	before string // of that one
}

// choose returns the entries to take back, newest first.
func (u *undoer) choose() ([]Entry, error) {
	var able []Entry
	for _, e := range slices.Backward(u.entries) {
		if len(e.Undoes) == 0 && !e.Undone && !e.PastBoot && !e.ChangedNothing() && !e.Time.Before(u.q.Since) {
			able = append(able, e)
		}
	}
	switch {
	case len(u.q.IDs) > 0:
		return u.byID()
	case u.q.Last < 0 || u.q.Last == 0 && !u.q.All && u.q.Since.IsZero():
		return nil, usagef("say what to undo: entries by number, how many of the last, since when, or all")
	case len(able) == 0:
		return nil, ErrNothingToUndo
	case !u.q.All && u.q.Since.IsZero() && u.q.Last < len(able):
		return able[:u.q.Last], nil
	}
	return able, nil
}

func (u *undoer) byID() ([]Entry, error) {
	var out []Entry
	ids := slices.Clone(u.q.IDs)
	slices.Sort(ids)
	for _, id := range slices.Backward(slices.Compact(ids)) {
		i := slices.IndexFunc(u.entries, func(e Entry) bool { return e.ID == id })
		switch {
		case i < 0:
			return nil, usagef("there is no entry %d in the journal", id)
		case len(u.entries[i].Undoes) > 0:
			return nil, usagef("entry %d is itself an undo; make the change again instead", id)
		case u.entries[i].PastBoot:
			return nil, usagef("entry %d is from before this boot: its tasks are gone, and so are its changes", id)
		case u.entries[i].Undone:
			u.plan.Warnings = append(u.plan.Warnings, fmt.Sprintf("entry %d was already undone", id))
		default:
			out = append(out, u.entries[i])
		}
	}
	return out, nil
}

// entry adds the goals of one entry, its last change first. Entries come newest
// first, so that a task's goal ends up as what was before the oldest.
func (u *undoer) entry(e Entry) {
	u.plan.Undoes = append(u.plan.Undoes, e.ID)
	item := undone{id: e.ID}
	own := map[changeKey]bool{}
	models := map[modelKey]Change{}
	for _, c := range slices.Backward(e.Changes) {
		if !c.took() && c.Status != Planned { // Planned: piton ended before it could say
			continue
		}
		key := c.key()
		own[key] = true
		item.keys = append(item.keys, key)
		if m := (modelKey{c.PID, c.Attribute}); !c.file() && (c.TID == c.PID || models[m].TID == 0) {
			models[m] = c
		}
		if i, ok := u.index[key]; ok {
			u.goals[i].before, u.goals[i].oldest = c.Before, e.ID
			continue
		}
		u.index[key] = len(u.goals)
		u.goals = append(u.goals, goal{Change: c, oldest: e.ID, before: c.Before})
	}
	u.plan.undo = append(u.plan.undo, item)
	u.inherit(e, own, models)
	u.follow(e)
}

type modelKey struct {
	pid       kernel.TID
	attribute Attribute
}

// inherit is for threads born after the entry was made, which newer entries
// know and this one does not: what they had then, they had from their process.
// Those that were there already had a value of their own, which needed no change.
func (u *undoer) inherit(e Entry, own map[changeKey]bool, models map[modelKey]Change) {
	for i := range u.goals {
		g := &u.goals[i]
		if own[g.key()] || g.file() || g.StartTicks <= e.Ticks {
			continue
		}
		if m, ok := models[modelKey{g.PID, g.Attribute}]; ok && m.After == g.before {
			g.before = m.Before
		}
	}
}

func (u *undoer) follow(e Entry) {
	var names []Attribute
	for _, c := range e.Changes {
		if !c.file() && !attributes[c.Attribute].process && !slices.Contains(names, c.Attribute) {
			names = append(names, c.Attribute)
		}
	}
	for _, target := range e.Targets {
		u.plan.follow = append(u.plan.follow, follow{target: target, attributes: names, inherited: true})
	}
}

// change looks at what became of the task since.
func (u *undoer) change(g goal) Change {
	c := g.Change
	c.After, c.Reason, c.Err, c.Status = g.before, "", nil, Planned
	err := u.t.alive(c)
	if err == nil {
		c.Before, err = u.t.read(c)
		err = u.t.markOf(c, err)
	}
	switch {
	case errors.Is(err, ErrGone):
		c.Status, c.Err = Unchanged, err
		c.Reason = fmt.Sprintf("%d has ended, so there is nothing to undo", c.TID)
		if c.file() {
			c.Reason = c.Object() + " is gone, so there is nothing to undo"
		}
	case err != nil:
		refuse(&c, "%s", u.t.explain(c, err))
		c.Err = err
	case c.Attribute.alike(c.Before, c.After):
		c.Status = Unchanged
	case !u.q.Force && !u.veiled(c):
		if why := u.drifted(g, c.Before); why != "" {
			refuse(&c, "%s", why)
		}
	}
	c.unbound = c.Status == Planned && u.unbound(c)
	return c
}

// undone returns the entries of which nothing is left in force.
func (r *run) undone() []uint64 {
	status := map[changeKey]Status{}
	for _, c := range r.result.Changes {
		status[c.key()] = c.Status
		if c.gone() {
			status[c.key()] = Unchanged
		}
	}
	var out []uint64
	for _, u := range r.plan.undo {
		if !slices.ContainsFunc(u.keys, func(k changeKey) bool { return status[k] != Done && status[k] != Unchanged }) {
			out = append(out, u.id)
		}
	}
	return out
}
