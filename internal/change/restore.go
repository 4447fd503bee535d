package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/change/defect"
	"piton/internal/change/history"
	"piton/internal/cpuset"
)

// undoer builds the Plan of one undo: it goes back through the entries, the newest
// first, from the values that are there now.
type undoer struct {
	t        *Tuner
	q        UndoRequest
	entries  []Entry
	plan     Plan
	goals    []*goal // in the order in which they are to be made
	index    map[attr.Key]*goal
	kept     map[attr.Key][]kept
	restored map[attr.Key][]restored
	reverted map[attr.Key]bool // left out
	cut      map[uint64]bool   // entries of which an undo, or a guard, may have been killed in the middle
	view     *attr.View
	family   family
}

func (t *Tuner) undoer(q UndoRequest, entries []Entry) *undoer {
	plan := Plan{lapsed: map[attr.Key]cpuset.Set{}}
	return &undoer{t: t, q: q, entries: entries, plan: plan, index: map[attr.Key]*goal{}, kept: map[attr.Key][]kept{}, restored: map[attr.Key][]restored{}, view: t.NewView(), family: t.family()}
}

// goal is one attribute of one object on the way back.
type goal struct {
	Change            // Before is what there is now
	value  attr.Value // what it will have, as far as the steps go
	found  attr.Value // what the oldest step so far found, by the journal
	last   uint64     // the entry of that step
	stop   *stop      // not nil: it goes no further
}

// stop is why an entry's step cannot be followed.
type stop struct {
	entry uint64
	drift bool // an older step may tell otherwise
	why   string
}

// step is what one entry did.
type step struct {
	entry         uint64
	before, after attr.Value
	sure          bool // piton lived to say that it came about, as it was meant
}

// after reports whether what the goal's oldest step found was found when the entry had been undone.
func (g *goal) after(e *Entry) bool { return e.Undone && g.last > e.UndoneBy }

// stay is what an entry did that is not undone.
type kept struct {
	step
	tried bool // there was an undo of it, which left something alone
}

// restored is what an entry had found that was undone after a newer one was made.
type restored struct {
	entry, by     uint64 // by: the undo
	before, after attr.Value
}

// undone is one entry to undo, with the changes that stand for it.
type undone struct {
	id   uint64
	keys []attr.Key
	kept bool // some of it, whatever becomes of those
}

// all plans to undo the chosen entries.
func (u *undoer) all(ctx context.Context, chosen map[uint64]bool) error {
	var guards []history.GuardState
	if u.plan.unconfirmed == nil && u.t.o.Guards != nil {
		guards, _ = u.t.o.Guards.List() // without it, what a guard has recorded tells
	}
	operations := history.Operations(u.entries, guards)
	u.cut = map[uint64]bool{}
	for _, o := range operations {
		u.cut[o.ID] = o.Unconfirmed() || slices.ContainsFunc(o.Undos, func(e Entry) bool { return !e.Finished })
	}
	u.later(operations, chosen)
	u.guarded(operations, chosen)
	for i := range slices.Backward(u.entries) {
		e := &u.entries[i]
		if defect.On(17) {
			e = &u.entries[len(u.entries)-1-i]
		}
		if !chosen[e.ID] && !u.plan.unconfirmed[e.ID] {
			continue
		}
		if err := errors.Join(ctx.Err(), u.undo(e, true)); err != nil {
			return err
		}
	}
	return u.finish(ctx)
}

// undo follows what one entry did, its last change first, and with inherited what tasks have of
// it that were born since. An unconfirmed entry is followed only where newer ones found what it,
// and none since that stays, left.
func (u *undoer) undo(e *Entry, inherited bool) error {
	if !e.Undone {
		u.plan.Undoes = append(u.plan.Undoes, e.ID)
		u.plan.undo = append(u.plan.undo, undone{id: e.ID})
	}
	var set []Change
	passed := false
	for _, c := range slices.Backward(e.Changes) {
		if !c.Took() && c.Status != attr.Planned { // Planned: piton ended before it could say
			continue
		}
		g := u.index[c.Key()]
		if c.After = u.tried(e, c, g); !u.plan.unconfirmed[e.ID] || g != nil && u.foundOf(g, e, c) {
			c.After = u.step(e, c, c.Before, c.After)
		} else {
			passed = true
		}
		set = append(set, c)
	}
	var err error
	if inherited {
		err = u.bornSince(e, set, u.plan.unconfirmed[e.ID] && (passed || e.Undone))
	}
	u.passed(e, passed)
	return err
}

// guarded finds the entries that are not to be undone, and may still be reverted by a guard, or
// would have been if their values had been there when it looked.
func (u *undoer) guarded(operations []history.Operation, chosen map[uint64]bool) {
	if u.plan.unconfirmed != nil {
		return // as they were when the undo began, which may have ended guards by now
	}
	u.plan.unconfirmed = map[uint64]bool{}
	for _, o := range operations {
		here := o.Entry
		here.Undone = false // by a guard, which does not know of newer entries
		u.plan.unconfirmed[o.ID] = o.Unconfirmed() && !chosen[o.ID] && here.Undoable()
		if o.Guard != nil {
			u.plan.guarded = append(u.plan.guarded, o.ID)
		}
	}
}

// passed ends what undo began for an unconfirmed entry. some: some of it was not gone back over.
func (u *undoer) passed(e *Entry, some bool) {
	if !u.plan.unconfirmed[e.ID] || e.Undone {
		return
	}
	last := len(u.plan.undo) - 1
	if len(u.plan.undo[last].keys) == 0 {
		u.plan.undo, u.plan.Undoes = u.plan.undo[:last], u.plan.Undoes[:len(u.plan.Undoes)-1]
		return
	}
	u.plan.undo[last].kept = some
	u.plan.Warnings = append(u.plan.Warnings, Note(fmt.Sprintf("entry %d was made under a guard and not confirmed: what was there before it is restored", e.ID)))
}

// tried picks, of what a trial may have left, the value that is there.
func (u *undoer) tried(e *Entry, c Change, g *goal) attr.Value {
	if len(c.Tried) == 0 {
		return c.After
	}
	var now attr.Value
	switch {
	case g == nil:
		now, _ = u.t.Read(c.Attribute, c.Object)
	case u.plan.unconfirmed[e.ID]:
		now = g.found
	default:
		now = g.value
	}
	for _, v := range c.Tried {
		if now != nil && u.same(c, v, now) {
			return v
		}
	}
	return c.After
}

// same reports whether a value is what was set, or what a cpuset leaves of that.
func (u *undoer) same(c Change, after, now attr.Value) bool {
	return c.Attribute.Alike(after, now) || u.view.CutTo(c, after, now)
}

// step goes back over what the entry did. The step is in force if what it left is there,
// and not, or no longer, if what it found is. With neither somebody else has changed the
// value, or an undo that was killed has restored what an older entry found. It returns
// what the entry left, which may be what the kernel made of after.
func (u *undoer) step(e *Entry, c Change, before, after attr.Value) (left attr.Value) {
	key := c.Key()
	g := u.index[key]
	if u.reverted[key] {
		return after
	}
	if g == nil {
		g = u.begin(c)
	}
	if !e.Undone {
		last := &u.plan.undo[len(u.plan.undo)-1]
		last.keys = append(last.keys, key)
	}
	if u.older(g, e) {
		if g.found == nil {
			g.found = g.value
		}
		return after
	}
	s := step{e.ID, before, after, e.Finished && !c.Taken}
	g.found, g.last, g.Had = before, e.ID, c.Had
	switch {
	case g.Status != attr.Planned, g.stop != nil && (!g.stop.drift || defect.On(2)):
	case u.overlain(g, s):
	case u.left(g, s):
		left = g.value
		g.value, g.stop = before, nil
		return left
	case u.lapsed(g, s):
		g.value, g.stop = before, nil
	case (g.Attribute.Alike(g.value, before) || !c.Had.Empty() && g.Attribute.Alike(g.value, c.Had)) && !defect.On(2):
		g.stop = nil
	case g.stop == nil:
		g.stop = &stop{e.ID, true, fmt.Sprintf("%s: piton left %s, it is %s now; left alone without --force", u.changed(g, s), attr.Text(after), attr.Text(g.value))}
	}
	return after
}

// older reports whether what there is was restored when an entry older than e was undone: what that
// one had found was there then, and not what e did, or may have done.
func (u *undoer) older(g *goal, e *Entry) bool {
	return slices.ContainsFunc(u.restored[g.Key()], func(r restored) bool {
		return r.entry < e.ID && e.ID < r.by && (g.last == 0 || r.by < g.last) && g.Attribute.Alike(g.value, r.before)
	})
}

// below returns what a task that was born above an entry gets: what its model had before the entry,
// or what was restored below that since.
func (u *undoer) below(e *Entry, model Change) attr.Value {
	before := model.Before
	for _, r := range slices.Backward(u.restored[model.Key()]) {
		if r.entry < e.ID && e.ID < r.by && model.Attribute.Alike(r.after, before) {
			before = r.before
		}
	}
	return before
}

// lapsed notes that the kernel has undone a step as CPUs went offline. It reports whether
// that is sure, or there was no other value before, so that nobody else's is lost.
func (u *undoer) lapsed(g *goal, s step) bool {
	gone, lapsed := u.view.Lapsed(g.Change, s.after, g.value)
	if !lapsed || !s.sure || gone.Empty() && !g.Attribute.Alike(g.value, s.before) {
		return false
	}
	u.plan.lapsed[g.Key()] = gone
	return true
}

// changed says who has changed what a step left.
func (u *undoer) changed(g *goal, s step) string {
	if _, lapsed := u.view.Lapsed(g.Change, s.after, g.value); lapsed {
		return "changed since by someone else, or by the kernel when a CPU went offline"
	}
	return "changed by someone else since"
}

// begin adds the goal of a change, and looks at what became of the object.
func (u *undoer) begin(c Change) *goal {
	g := &goal{Change: c}
	u.index[c.Key()] = g
	u.goals = append(u.goals, g)
	g.Reason, g.Err, g.Taken, g.Status = "", nil, false, attr.Planned
	err := u.t.alive(c)
	if err == nil {
		g.Before, err = u.t.Read(c.Attribute, c.Object)
		err = u.t.Mark(c, err)
	}
	g.value = g.Before
	switch {
	case errors.Is(err, attr.ErrGone):
		g.Status, g.Err = attr.Unchanged, err
		g.Reason = fmt.Sprintf("%d has ended, so there is nothing to undo", c.TID)
		if c.IsFile() {
			g.Reason = c.Object.Object() + " is gone, so there is nothing to undo"
		}
	case err != nil:
		g.Refuse("%s", u.t.Explain(c, err))
		g.Err = err
	}
	return g
}

// later notes what entries did that stay, and what was restored below them.
func (u *undoer) later(operations []history.Operation, chosen map[uint64]bool) {
	for i, e := range u.entries {
		if e.Undone && i+1 < len(u.entries) && e.UndoneBy > u.entries[i+1].ID {
			for _, c := range e.Changes {
				if c.Took() {
					u.restored[c.Key()] = append(u.restored[c.Key()], restored{e.ID, e.UndoneBy, c.Before, c.After})
				}
			}
		}
	}
	for _, o := range slices.Backward(operations) {
		if !o.Undoable() || chosen[o.ID] {
			continue
		}
		for _, c := range o.Changes {
			if c.Took() || c.Status == attr.Planned {
				u.kept[c.Key()] = append(u.kept[c.Key()], kept{step{o.ID, c.Before, c.After, true}, len(o.Undos) > 0})
			}
		}
	}
}

// foundOf reports whether what a goal's oldest step found is what an unconfirmed entry left: none
// between that stays left that, and it was not undone before.
func (u *undoer) foundOf(g *goal, e *Entry, c Change) bool {
	between := func(l kept) bool { return l.entry > e.ID && g.Attribute.Alike(g.found, l.after) }
	return u.same(c, c.After, g.found) && !g.after(e) && !slices.ContainsFunc(u.kept[g.Key()], between)
}

// overlain stops a goal whose value is from a later entry, which stays.
func (u *undoer) overlain(g *goal, s step) bool {
	for _, l := range u.kept[g.Key()] {
		gone, _ := u.view.Lapsed(g.Change, l.after, g.value)
		if l.entry > s.entry && (g.Attribute.Alike(g.value, l.after) || !gone.Empty()) && !(l.tried && g.Attribute.Alike(l.after, s.after)) {
			g.stop = &stop{s.entry, false, fmt.Sprintf("entry %d has changed it from %s to %s since; undo that one first, or force this", l.entry, attr.Text(l.before), attr.Text(l.after))}
			return true
		}
	}
	return false
}

// left reports whether the value is what a step left, or what the kernel made of that.
func (u *undoer) left(g *goal, s step) bool {
	if attr.FollowsIRQ(g.Change, s.after, g.value) || u.same(g.Change, s.after, g.value) {
		return true
	}
	if (!s.sure || u.cut[s.entry]) && g.Attribute.Halfway(s.before, s.after, g.value) {
		return true
	}
	made := g.Change
	made.Before, made.After = g.value, s.after // so that only a known cause counts
	return !s.sure && !g.Attribute.Alike(g.value, s.before) && u.t.Adjusted(&made, g.value)
}

// finish makes the plan's changes of the goals.
func (u *undoer) finish(ctx context.Context) error {
	for _, g := range u.goals {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := g.Change
		c.After, c.Had = g.found, cpuset.Set{}
		if c.Status == attr.Planned {
			switch {
			case u.q.Force || u.veiled(c):
			case g.stop != nil:
				u.refuse(g)
				if c.After = g.value; c.Same() {
					continue
				}
			default:
				c.After = g.value
			}
			if !g.Had.Empty() && c.Attribute.Alike(c.After, g.found) {
				c.After = g.Had
			}
			if c.Same() {
				c.Status = attr.Unchanged
				if gone, lapsed := u.plan.lapsed[c.Key()]; lapsed {
					c.Reason = history.NoLongerInForce + ": " + attr.LapsedWhy(gone)
				}
			} else if err := u.t.Barred(c); errors.Is(err, attr.ErrOneWay) { // else the kernel has the last word
				c.RefuseAs(fmt.Errorf("cannot be undone: %w", err))
			}
		}
		c.Widen = c.Status == attr.Planned && u.view.Unbound(c)
		u.plan.Changes = append(u.plan.Changes, c)
	}
	return nil
}

// refuse adds what is left alone. What newer entries did to the same is undone, so it can
// be in the plan twice.
func (u *undoer) refuse(g *goal) {
	c := g.Change
	c.Before, c.After = g.value, g.found
	c.Refuse("%s", g.stop.why)
	u.plan.Changes = append(u.plan.Changes, c)
	if i := slices.IndexFunc(u.plan.undo, func(x undone) bool { return x.id == g.stop.entry }); i >= 0 { // else a guard has undone it
		u.plan.undo[i].kept = true
	}
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
		if !u.kept && !slices.ContainsFunc(u.keys, func(k attr.Key) bool { return status[k] != attr.Done && status[k] != attr.Unchanged || over[k] }) {
			out = append(out, u.id)
			continue
		}
		for _, k := range u.keys {
			over[k] = true
		}
	}
	return out
}
