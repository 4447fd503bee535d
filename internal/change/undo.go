package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/defect"
	"piton/internal/kernel"
)

// UndoRequest says what to undo: entries by ID, else those made at Since or
// later, else the last Last entries that can be, else All of them.
type UndoRequest struct {
	IDs   []uint64  `json:"ids,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Last  int       `json:"last,omitempty"`
	All   bool      `json:"all,omitempty"`
	Force bool      `json:"force,omitempty"` // also what somebody else has changed since
}

// ErrNothingToUndo is the error for an empty choice.
var ErrNothingToUndo = errors.New("nothing to undo: no change of this boot is recorded that has not been undone already")

// ErrNoJournal is the error of an undo without a journal.
var ErrNoJournal = errors.New("there is no journal, so nothing is known that could be undone")

// undone is one entry to undo, with the changes that stand for it.
type undone struct {
	id   uint64
	keys []attr.Key
}

// Undo undoes entries of the journal. Doing so twice does nothing the second time,
// and says so in the Outcome's Warnings.
func (t *Tuner) Undo(ctx context.Context, q UndoRequest) (Outcome, error) {
	plan, err := t.PlanUndo(ctx, q)
	if err != nil {
		return Outcome{}, err
	}
	return t.Carry(ctx, plan, Consent{})
}

// PlanUndo returns the Plan that Undo would carry out. A task that has ended has
// nothing to undo and is Unchanged; a value that is not one that piton left is
// Refused, unless forced.
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
		u.plan.Warnings = append(u.plan.Warnings, Note(d.Error()))
	}
	if q.All {
		u.plan.damage = damage
	}
	chosen, err := u.choose()
	if errors.Is(err, ErrNothingToUndo) && len(damage) > 0 {
		err = fmt.Errorf("%w; %w", err, damage[0])
	}
	if err != nil {
		return Plan{}, err
	}
	if err := u.all(chosen); err != nil {
		return Plan{}, err
	}
	u.later(chosen)
	if err := u.changes(ctx); err != nil {
		return Plan{}, err
	}
	if slices.ContainsFunc(chosen, func(e Entry) bool { return e.Sweep > 0 || len(e.Targets) > 0 }) {
		u.plan.Sweep = &Sweep{Again: func(context.Context) ([]Request, error) { return u.bornMeanwhile(chosen) }}
	}
	u.plan.Again = func(ctx context.Context) (Plan, error) { return t.PlanUndo(ctx, q) }
	return u.plan, nil
}

// undoer builds the Plan of one undo.
type undoer struct {
	t       *Tuner
	q       UndoRequest
	entries []Entry
	plan    Plan
	goals   []*goal // in the order in which they are to be made
	index   map[attr.Key]*goal
	view    *attr.View
}

func (t *Tuner) undoer(q UndoRequest, entries []Entry) *undoer {
	return &undoer{t: t, q: q, entries: entries, index: map[attr.Key]*goal{}, view: t.NewView()}
}

func ids(entries []Entry) map[uint64]bool {
	out := make(map[uint64]bool, len(entries))
	for _, e := range entries {
		out[e.ID] = true
	}
	return out
}

// all adds what the chosen entries did, the newest first.
func (u *undoer) all(chosen []Entry) error {
	isChosen := ids(chosen)
	for _, e := range slices.Backward(u.entries) {
		if !isChosen[e.ID] {
			u.overlaid(e)
		} else if err := errors.Join(u.newborns(e, u.entry(e)), u.born(e)); err != nil {
			return err
		}
	}
	return nil
}

// goal is one attribute of one object, with what chosen entries did to it, the
// newest first.
type goal struct {
	Change // of the newest chosen entry
	steps  []step
	later  []stay
}

// stay is what an entry did that stays.
type stay struct {
	step
	tried bool // there was an undo of it, which left something alone
}

// step is what one entry did.
type step struct {
	entry         uint64
	before, after attr.Value
	sure          bool // piton lived to say that it came about
}

// first is what there was before the oldest step.
func (g *goal) first() attr.Value { return g.steps[len(g.steps)-1].before }

// choose returns the entries to undo, newest first.
func (u *undoer) choose() ([]Entry, error) {
	var able []Entry
	for _, e := range slices.Backward(u.entries) {
		if e.Time.Before(u.q.Since) {
			continue
		}
		if e.Undoable() {
			able = append(able, e)
		} else if u.q.All && e.Foreign != "" && !e.PastBoot && !e.Undone && len(e.Undoes) == 0 {
			u.foreign(e)
		}
	}
	switch {
	case len(u.q.IDs) > 0:
		return u.byID()
	case u.q.Last < 0 || u.q.Last == 0 && !u.q.All && u.q.Since.IsZero():
		return nil, attr.Usagef("say what to undo: entries by number, how many of the last, since when, or all")
	case len(able) == 0 && len(u.plan.Changes) == 0 && len(u.plan.damage) == 0:
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
			return nil, attr.Usagef("there is no entry %d in the journal", id)
		case len(u.entries[i].Undoes) > 0:
			return nil, attr.Usagef("entry %d is itself an undo; make the change again instead", id)
		case u.entries[i].PastBoot:
			return nil, attr.Usagef("entry %d is from before this boot: its tasks are gone, and so are its changes", id)
		case u.entries[i].Foreign != "":
			u.foreign(u.entries[i])
		case u.entries[i].Undone:
			u.plan.Warnings = append(u.plan.Warnings, Note(fmt.Sprintf("entry %d was already undone", id)))
		default:
			out = append(out, u.entries[i])
		}
	}
	return out, nil
}

// foreign shows what another namespace's entry did, and leaves it alone: its numbers
// and start times mean something else here.
func (u *undoer) foreign(e Entry) {
	for _, c := range e.Changes {
		if c.Took() || c.Status == attr.Planned {
			c.Before, c.After, c.Err = c.After, c.Before, nil
			c.Refuse("entry %d was made in another %s namespace: undo it there", e.ID, e.Foreign)
			u.plan.Changes = append(u.plan.Changes, c)
		}
	}
}

// left is what one entry did: to what, and for each process one change of each
// attribute, the first thread's if there is one.
type left struct {
	own    map[attr.Key]bool
	models map[modelKey][]Change
}

func newLeft() left { return left{map[attr.Key]bool{}, map[modelKey][]Change{}} }

// add adds a change, the entry's last one first, unless it did not come about.
func (l left) add(c Change) bool {
	if !c.Took() && c.Status != attr.Planned { // Planned: piton ended before it could say
		return false
	}
	l.own[c.Key()] = true
	if m := (modelKey{c.PID, c.Attribute}); !c.IsFile() {
		l.models[m] = append(l.models[m], c)
	}
	return true
}

// entry adds what one entry did, its last change first. Entries come newest first,
// so that a goal's last step is the oldest.
func (u *undoer) entry(e Entry) left {
	u.plan.Undoes = append(u.plan.Undoes, e.ID)
	item := undone{id: e.ID}
	did := newLeft()
	for _, c := range slices.Backward(e.Changes) {
		if did.add(c) {
			item.keys = append(item.keys, c.Key())
			u.step(c, step{e.ID, c.Before, c.After, e.Finished})
		}
	}
	u.plan.undo = append(u.plan.undo, item)
	u.inherit(e, did)
	return did
}

// overlaid adds what an entry did that was undone while a newer one, which is chosen,
// was in force: the value that the newer one found is nobody's.
func (u *undoer) overlaid(e Entry) {
	if !e.Undone || e.PastBoot || e.Foreign != "" || len(u.goals) == 0 {
		return
	}
	did := newLeft()
	for _, c := range slices.Backward(e.Changes) {
		if g := u.index[c.Key()]; did.add(c) && g != nil && u.found(g, e, c.After) {
			u.step(c, step{e.ID, c.Before, c.After, e.Finished})
		}
	}
	u.inherit(e, did)
}

// found reports whether the oldest step found what an older entry left.
func (u *undoer) found(g *goal, e Entry, after attr.Value) bool {
	return (!e.Undone || g.steps[len(g.steps)-1].entry < e.UndoneBy) && u.same(g.Change, after, g.first())
}

// same reports whether a value is what was set, or what a cpuset leaves of that.
func (u *undoer) same(c Change, after, now attr.Value) bool {
	return c.Attribute.Alike(after, now) || u.view.CutTo(c, after, now)
}

// step adds a step, and the goal if it is the first.
func (u *undoer) step(c Change, s step) {
	g := u.index[c.Key()]
	if g == nil {
		g = &goal{Change: c}
		u.index[c.Key()] = g
		u.goals = append(u.goals, g)
	}
	g.steps = append(g.steps, s)
}

type modelKey struct {
	pid       kernel.TID
	attribute attr.Attribute
}

// inherit is for tasks born after the entry was made, which newer entries know and
// this one does not: what they had then, they had from their process or its parents.
// Those that were there already had a value of their own, which needed no change.
func (u *undoer) inherit(e Entry, did left) {
	for _, g := range u.goals {
		if did.own[g.Key()] || g.IsFile() || g.StartTicks <= e.Ticks {
			continue
		}
		if m, ok := u.model(e, g.PID, g.Attribute, did, func(m Change) bool { return u.found(g, e, m.After) }); ok {
			g.steps = append(g.steps, step{e.ID, m.Before, m.After, e.Finished})
			if !e.Undone {
				u.also(g.Key())
			}
		}
	}
}

// also makes it a condition for the entry that was added last to be undone.
func (u *undoer) also(k attr.Key) {
	last := &u.plan.undo[len(u.plan.undo)-1]
	last.keys = append(last.keys, k)
}

// model returns what an entry did to a thread of the process, else of the nearest of its
// ancestors that was there already, from whom it has its values: what is wanted.
func (u *undoer) model(e Entry, pid kernel.TID, a attr.Attribute, did left, wanted func(Change) bool) (Change, bool) {
	for seen := map[kernel.TID]bool{}; pid > 0 && !seen[pid] && len(did.models) > 0; {
		seen[pid] = true
		st, err := u.t.Proc.Stat(pid)
		if err != nil {
			break
		}
		same := false
		for _, m := range did.models[modelKey{pid, a}] {
			if !same && !u.t.sameProcess(m, e.Targets, st.StartTicks) {
				continue
			}
			if same = true; wanted(m) && (st.StartTicks >= e.Ticks || u.t.speaks(m, m.After)) {
				return m, true
			}
		}
		if same || st.StartTicks < e.Ticks {
			break
		}
		pid = st.PPID
	}
	return Change{}, false
}

// sameProcess reports whether a process that started then is that of a change, and not
// a later one with its number.
func (t *Tuner) sameProcess(c Change, targets []Target, startTicks uint64) bool {
	if c.TID == c.PID {
		return c.StartTicks == startTicks
	}
	return slices.ContainsFunc(targets, func(t Target) bool { return t.TID == c.PID && t.StartTicks == startTicks }) || t.alive(c) == nil
}

// speaks reports whether a thread that was born later has a value from what the change
// did to its process: not if the first thread has it, too, and was not changed.
func (t *Tuner) speaks(m Change, value attr.Value) bool {
	if m.TID == m.PID {
		return true
	}
	now, err := t.Value(m.Attribute, m.PID)
	return err != nil || !m.Attribute.Alike(now, value)
}

// later gives goals what entries did that are newer than a chosen one and stay.
func (u *undoer) later(chosen []Entry) {
	tried := map[uint64]bool{}
	for _, e := range u.entries {
		for _, id := range e.Undoes {
			tried[id] = true
		}
	}
	isChosen := ids(chosen)
	for _, e := range slices.Backward(u.entries) {
		if !e.Undoable() || isChosen[e.ID] {
			continue
		}
		for _, c := range e.Changes {
			g := u.index[c.Key()]
			if g != nil && c.Took() && e.ID > g.steps[len(g.steps)-1].entry {
				g.later = append(g.later, stay{step{e.ID, c.Before, c.After, true}, tried[e.ID]})
			}
		}
	}
}

// changes makes the plan's changes of the goals.
func (u *undoer) changes(ctx context.Context) error {
	for _, g := range u.goals {
		if err := ctx.Err(); err != nil {
			return err
		}
		u.plan.Changes = append(u.plan.Changes, u.change(g))
	}
	return nil
}

// change looks at what became of the object since.
func (u *undoer) change(g *goal) Change {
	c := g.Change
	c.After, c.Reason, c.Err, c.Taken, c.Status = g.first(), "", nil, false, attr.Planned
	err := u.t.alive(c)
	if err == nil {
		c.Before, err = u.t.Read(c.Attribute, c.Object)
		err = u.t.Mark(c, err)
	}
	switch {
	case errors.Is(err, attr.ErrGone):
		c.Status, c.Err = attr.Unchanged, err
		c.Reason = fmt.Sprintf("%d has ended, so there is nothing to undo", c.TID)
		if c.IsFile() {
			c.Reason = c.Object.Object() + " is gone, so there is nothing to undo"
		}
	case err != nil:
		c.Refuse("%s", u.t.Explain(c, err))
		c.Err = err
	case !u.q.Force && !u.veiled(c):
		u.back(g, &c)
	}
	if c.Status == attr.Planned && c.Same() {
		c.Status = attr.Unchanged
	}
	c.Widen = c.Status == attr.Planned && u.view.Unbound(c)
	return c
}

// back follows the steps from the value that is there now. A step is in force if its
// value is there, and not, or no longer, if what it found is; with neither somebody
// else has changed it, or a later entry, which stays.
func (u *undoer) back(g *goal, c *Change) {
	now := c.Before
	for i, s := range g.steps {
		if i == len(g.steps)-1 || g.steps[i+1].entry != s.entry {
			for _, l := range g.later {
				if l.entry > s.entry && c.Attribute.Alike(now, l.after) && !(l.tried && c.Attribute.Alike(l.after, s.after)) {
					c.Refuse("entry %d has changed it from %s to %s since; undo that one first, or force this", l.entry, attr.Text(l.before), attr.Text(l.after))
					return
				}
			}
		}
		switch {
		case u.left(g, s, now):
			now = s.before
		case !defect.On(2) && (c.Attribute.Alike(now, s.before) || u.older(g, g.steps[i+1:], now)):
		default:
			c.Refuse("somebody else has changed it since: piton left %s and it is %s now; left alone unless forced", attr.Text(s.after), attr.Text(now))
			return
		}
	}
	c.After = now
}

// older reports whether one of the steps left a value, or found it: what newer ones did
// is not in force then.
func (u *undoer) older(g *goal, steps []step, now attr.Value) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return u.left(g, s, now) || g.Attribute.Alike(now, s.before) })
}

// left reports whether a value is what a step left, or what the kernel made of that.
func (u *undoer) left(g *goal, s step, now attr.Value) bool {
	if g.Attribute.Alike(now, s.after) || attr.FollowsIRQ(g.Change, s.after, now) || u.view.CutTo(g.Change, s.after, now) {
		return true
	}
	made := g.Change
	made.Before, made.After = s.before, s.after
	return !s.sure && !g.Attribute.Alike(now, s.before) && u.t.Adjusted(&made, now)
}

// veiled reports whether the value cannot be compared now, because it reads
// otherwise under a policy that the undo changes before it: real-time tasks have
// no slice, and other clamps by default.
func (u *undoer) veiled(c Change) bool {
	if c.Attribute != attr.Clamp && (c.Attribute != attr.Slice || c.Before != attr.NoSlice) {
		return false
	}
	return slices.ContainsFunc(u.plan.Changes, func(p Change) bool {
		return p.Attribute == attr.Policy && p.Status == attr.Planned && p.TID == c.TID && p.StartTicks == c.StartTicks
	})
}

// alive says, with an error that Is ErrGone, that what the change is about is not
// there any more.
func (t *Tuner) alive(c Change) error {
	if c.IsFile() {
		return t.SameFile(c)
	}
	k, err := t.Look(c.PID, c.TID)
	if err == nil && !defect.On(1) && (k.StartTicks != c.StartTicks || k.Ended()) {
		err = fmt.Errorf("%d: %w", c.TID, attr.ErrGone)
	}
	return err
}

// undone returns the entries of which nothing is left in force. One stays below a newer
// one that does: when that is undone, what this one left may be there again.
func (r *run) undone() []uint64 {
	status := map[attr.Key]attr.Status{}
	for _, c := range r.result.Changes {
		status[c.Key()] = c.Status
		if c.Gone() {
			status[c.Key()] = attr.Unchanged
		}
	}
	var out []uint64
	over := map[attr.Key]bool{} // what newer entries have left in force
	for _, u := range r.plan.undo {
		if !slices.ContainsFunc(u.keys, func(k attr.Key) bool { return status[k] != attr.Done && status[k] != attr.Unchanged || over[k] }) {
			out = append(out, u.id)
			continue
		}
		for _, k := range u.keys {
			over[k] = true
		}
	}
	return out
}
