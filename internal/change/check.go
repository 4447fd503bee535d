package change

import (
	"context"
	"errors"
	"fmt"

	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/cpuset"
)

// Checker finds out what undoing would do, and so what is still in force; Tuner is
// the real one.
type Checker interface {
	PlanUndo(ctx context.Context, q UndoRequest) (Plan, error)
}

// maxChecked bounds how many operations are looked at: each means reading the journal once
// more.
const maxChecked = 64

// Check looks at the newest operations that may still be in force, and returns by entry what
// it found.
func Check(ctx context.Context, c Checker, operations []history.Operation) map[uint64]*history.Found {
	out, newer := map[uint64]*history.Found{}, map[attr.Key]uint64{}
	for i := len(operations) - 1; i >= 0 && len(out) < maxChecked; i-- {
		d := operations[i]
		if d.Found = nil; d.Status() != history.Unknown {
			continue
		}
		if plan, err := c.PlanUndo(ctx, UndoRequest{IDs: []uint64{d.ID}}); err == nil {
			out[d.ID] = find(plan, newer)
		}
		for _, c := range d.Changes {
			if c.Took() {
				newer[c.Key()] = d.ID
			}
		}
	}
	return out
}

// find reads what would be undone as what is in force. newer are the entries that changed
// something after this one.
func find(plan Plan, newer map[attr.Key]uint64) *history.Found {
	f := &history.Found{Changes: map[attr.Key]history.FoundChange{}}
	count := map[history.Status]int{}
	var offline cpuset.Set
	again := ""
	for _, c := range plan.Changes {
		s := history.FoundChange{Status: history.ChangedSince, Why: c.Reason}
		if id, ok := newer[c.Key()]; ok {
			s = history.FoundChange{Status: history.ChangedAgain, Why: fmt.Sprintf("%s by entry %d", history.ChangedAgain, id)}
			again = s.Why
		}
		gone, lapsed := plan.lapsed[c.Key()]
		switch {
		case c.Gone() && c.IsFile():
			s = history.FoundChange{Status: history.TaskEnded, Why: history.FileGone}
		case c.Gone():
			s = history.FoundChange{Status: history.TaskEnded}
		case lapsed && c.Status != attr.Refused:
			s = history.FoundChange{Status: history.Lapsed, Why: history.NoLongerInForce + ": " + attr.LapsedWhy(gone)}
			offline = offline.Or(gone)
		case c.Status == attr.Planned:
			s = history.FoundChange{Status: history.InForce}
		case errors.Is(c.Err, attr.ErrOneWay):
			s = history.FoundChange{Status: history.InForce, Why: c.Reason}
		case c.Status == attr.Unchanged:
			s = history.FoundChange{Status: history.Undone}
		}
		f.Changes[c.Key()] = s
		count[s.Status]++
	}
	n := len(plan.Changes)
	switch {
	case n == 0:
		f.Status = history.ChangedNothing
	case count[history.InForce] == n:
		f.Status = history.InForce
	case count[history.InForce] > 0:
		f.Status = history.PartlyInForce
		f.Words = fmt.Sprintf("%d of %d in force", count[history.InForce], n)
	case count[history.ChangedSince] > 0:
		f.Status = history.ChangedSince
	case count[history.ChangedAgain] > 0:
		f.Status, f.Words = history.ChangedAgain, again
	case count[history.Lapsed] > 0:
		f.Status = history.Lapsed
		if !offline.Empty() {
			f.Words = fmt.Sprintf("%s (%s went offline)", history.NoLongerInForce, offline.InWords())
		}
	case count[history.TaskEnded] > 0:
		f.Status = history.TaskEnded
		if plan.Threads() == 0 {
			f.Words = history.FileGone
		}
	default:
		f.Status = history.Undone
	}
	return f
}
