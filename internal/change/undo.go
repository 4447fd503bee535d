package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/journal"
)

// UndoRequest says what to undo: entries by ID, else those made at Since or
// later, else the last Last entries that can be, else All of them.
type UndoRequest struct {
	IDs   []uint64  `json:"ids,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Last  int       `json:"last,omitempty"`
	All   bool      `json:"all,omitempty"`
	Force bool      `json:"force,omitempty"` // also what somebody else has changed since
	// Reason is why, for the journal.
	Reason string `json:"reason,omitempty"`

	unrecorded map[uint64]bool // entries that count as undone, though the journal does not say so
}

// ErrNothingToUndo is the error for an empty choice.
var ErrNothingToUndo = errors.New("nothing to undo: no change made here in this boot is recorded that has not been undone already")

// ErrNoJournal is the error of an undo without a journal.
var ErrNoJournal = errors.New("nothing to undo: there is no journal")

// Undo undoes entries of the journal. Doing so twice does nothing the second time,
// and says so in the Outcome's Warnings.
func (t *Tuner) Undo(ctx context.Context, q UndoRequest) (Outcome, error) {
	plan, err := t.PlanUndo(ctx, q)
	if err != nil {
		return Outcome{}, err
	}
	return t.Apply(ctx, plan, Confirmation{})
}

// PlanUndo returns the Plan that Undo would carry out. A task that has ended has
// nothing to undo and is Unchanged; a value that is not one that piton left is
// Refused, unless forced. Where the journal cannot be written the last entries are those of
// which something is in force, by what the kernel says.
func (t *Tuner) PlanUndo(ctx context.Context, q UndoRequest) (Plan, error) {
	plan, err := t.planUndo(ctx, q)
	if t.o.Writer == nil || len(q.IDs) > 0 || q.All || !q.Since.IsZero() || !plan.lapsedAll() {
		return plan, err
	}
	full := t.o.Journal.Room()
	if !journal.Unwritable(full) {
		return plan, err
	}
	q.unrecorded = map[uint64]bool{}
	for plan.lapsedAll() {
		for _, id := range plan.Undoes {
			q.unrecorded[id] = true
		}
		if plan, err = t.planUndo(ctx, q); err != nil {
			break
		}
	}
	why := fmt.Sprintf("%s: nothing is left in force, which cannot be recorded: %v", named(q.unrecorded), full)
	if errors.Is(err, ErrNothingToUndo) {
		return Plan{}, fmt.Errorf("%w; %s", ErrNothingToUndo, why)
	}
	plan.Warnings = append(plan.Warnings, Note(why))
	return plan, err
}

// lapsedAll reports whether nothing of what a plan is to undo is in force, as far as can be looked at.
func (p Plan) lapsedAll() bool {
	return len(p.Undoes) > 0 && !slices.ContainsFunc(p.Changes, func(c Change) bool {
		return c.Status == attr.Planned || c.Status == attr.Refused && c.Err != nil
	})
}

// named is "entry 3" or "entries 3, 4".
func named(entries map[uint64]bool) string {
	text := fmt.Sprint(slices.Sorted(maps.Keys(entries)))
	text = strings.ReplaceAll(strings.Trim(text, "[]"), " ", ", ")
	if len(entries) == 1 {
		return "entry " + text
	}
	return "entries " + text
}

func (t *Tuner) planUndo(ctx context.Context, q UndoRequest) (Plan, error) {
	if t.o.Journal == nil {
		return Plan{}, ErrNoJournal
	}
	entries, damage, err := t.o.Journal.Entries()
	if err != nil {
		return Plan{}, err
	}
	u := t.undoer(q, undoneAll(entries, q.unrecorded))
	u.plan.Reason = q.Reason
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
	if err := u.all(ctx, chosen); err != nil {
		return Plan{}, err
	}
	u.plan.Undo, u.plan.chosen, u.plan.entries = &u.q, chosen, u.entries
	return u.plan, nil
}

// inForce plans to restore what there is of the undone entries by now. An undo that has begun
// does not end half way where the journal cannot be read any more.
func (r *run) inForce(ctx context.Context) (Plan, error) {
	entries, _, err := r.t.o.Journal.Entries()
	if err != nil {
		entries = r.plan.entries
	}
	u := r.t.undoer(*r.plan.Undo, undoneAll(entries, r.plan.Undo.unrecorded))
	u.plan.unconfirmed = r.plan.unconfirmed
	err = u.all(ctx, r.plan.chosen)
	return u.plan, err
}

// undoneAll returns entries of which some are undone by now, after all others.
func undoneAll(entries []Entry, ids map[uint64]bool) []Entry {
	for i := range entries {
		if e := &entries[i]; ids[e.ID] && !e.Undone {
			e.Undone, e.UndoneBy = true, entries[len(entries)-1].ID+1
		}
	}
	return entries
}

// choose returns the entries to undo.
func (u *undoer) choose() (map[uint64]bool, error) {
	if len(u.q.IDs) > 0 {
		return u.byID()
	}
	var able, foreign []uint64 // the newest first
	for _, e := range slices.Backward(u.entries) {
		here := e
		here.Foreign = ""
		switch {
		case e.Time.Before(u.q.Since) || !here.Undoable():
		case e.Foreign == "":
			able = append(able, e.ID)
		case u.q.wide():
			foreign = append(foreign, e.ID)
		}
	}
	switch {
	case u.q.Last < 0 || u.q.Last == 0 && !u.q.wide():
		return nil, attr.Usagef("say what to undo: entries by number, how many of the last, since when, or all")
	case len(able)+len(foreign)+len(u.plan.damage) == 0:
		return nil, ErrNothingToUndo
	case !u.q.wide() && u.q.Last < len(able):
		able = able[:u.q.Last]
	}
	u.q.IDs = append(foreign, able...)
	return u.byID()
}

// wide reports whether entries are meant by what they have in common: those that can be
// undone elsewhere only are named, and do not fail it.
func (q UndoRequest) wide() bool { return q.All || !q.Since.IsZero() }

func (u *undoer) byID() (map[uint64]bool, error) {
	out, foreign := map[uint64]bool{}, map[string]map[uint64]bool{} // these by the kind of namespace
	for _, id := range slices.Sorted(slices.Values(u.q.IDs)) {
		i := slices.IndexFunc(u.entries, func(e Entry) bool { return e.ID == id })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no entry %d in the journal", id)
		case len(u.entries[i].Undoes) > 0:
			return nil, fmt.Errorf("entry %d is itself an undo; make the change again instead", id)
		case u.entries[i].PastBoot:
			return nil, fmt.Errorf("entry %d is from before this boot: its tasks are gone, and so are its changes", id)
		case u.entries[i].Foreign != "" && u.q.wide():
			kind := u.entries[i].Foreign
			if foreign[kind] == nil {
				foreign[kind] = map[uint64]bool{}
			}
			foreign[kind][id] = true
		case u.entries[i].Foreign != "":
			u.refuseForeign(u.entries[i])
		case u.entries[i].Undone:
			u.plan.Warnings = append(u.plan.Warnings, Note(fmt.Sprintf("entry %d was already undone", id)))
		default:
			out[id] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(foreign)) {
		u.plan.Warnings = append(u.plan.Warnings, Note(fmt.Sprintf("left alone: %s of another %s namespace; undo works only there", named(foreign[kind]), kind)))
	}
	return out, nil
}

// refuseForeign shows what another namespace's entry did, and leaves it alone: its numbers
// and start times mean something else here.
func (u *undoer) refuseForeign(e Entry) {
	for _, c := range e.Changes {
		if c.Took() || c.Status == attr.Planned {
			c.Before, c.After, c.Err = c.After, c.Before, nil
			c.Refuse("entry %d was made in another %s namespace: undo it there", e.ID, e.Foreign)
			u.plan.Changes = append(u.plan.Changes, c)
		}
	}
}
