package change

import (
	"context"
	"errors"
	"fmt"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
)

// Standing is what has become of a deed, or of one of its changes.
type Standing uint8

// The standings.
const (
	Unknown Standing = iota // not looked at
	InForce
	PartlyInForce
	ChangedSince // by someone else
	ChangedAgain // by a newer deed
	Lapsed       // nobody changed it: a CPU went offline, as far as is known
	TaskEnded
	Undone
	PastBoot
	AnUndo
	ChangedNothing
	Foreign // made in another namespace
)

var standings = [...]string{Unknown: "", InForce: "in force", PartlyInForce: "partly in force", ChangedSince: "changed by someone else", ChangedAgain: "changed again", Lapsed: noLongerInForce,
	TaskEnded: "task has ended", Undone: "undone", PastBoot: "before this boot", AnUndo: "undo", ChangedNothing: "nothing changed", Foreign: "made in another namespace"}

func (s Standing) String() string { return standings[s] }

const noLongerInForce = "no longer in force"

// fileGone is TaskEnded of an interrupt, a queue or another file of the kernel.
const fileGone = "no longer there"

// Found is what has become of an entry's changes.
type Found struct {
	Standing
	words   string // instead of the Standing's
	Changes map[attr.Key]FoundChange
}

// FoundChange is what has become of one change, and why.
type FoundChange struct {
	Standing
	Why string
}

// Checker finds out what undoing would do, and so what is still in force; Tuner is
// the real one.
type Checker interface {
	PlanUndo(ctx context.Context, q UndoRequest) (Plan, error)
}

// maxChecked bounds how many deeds are looked at: each means reading the journal once
// more.
const maxChecked = 64

// Check looks at the newest deeds that may still be in force, and returns by entry what
// it found.
func Check(ctx context.Context, c Checker, deeds []Deed) map[uint64]*Found {
	out, newer := map[uint64]*Found{}, map[attr.Key]uint64{}
	for i := len(deeds) - 1; i >= 0 && len(out) < maxChecked; i-- {
		d := deeds[i]
		if d.Found = nil; d.Standing() != Unknown {
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
func find(plan Plan, newer map[attr.Key]uint64) *Found {
	f := &Found{Changes: map[attr.Key]FoundChange{}}
	count := map[Standing]int{}
	var offline cpuset.Set
	again := ""
	for _, c := range plan.Changes {
		s := FoundChange{Standing: ChangedSince, Why: c.Reason}
		if id, ok := newer[c.Key()]; ok {
			s = FoundChange{Standing: ChangedAgain, Why: fmt.Sprintf("%s by entry %d", ChangedAgain, id)}
			again = s.Why
		}
		gone, lapsed := plan.lapsed[c.Key()]
		switch {
		case c.Gone() && c.IsFile():
			s = FoundChange{Standing: TaskEnded, Why: fileGone}
		case c.Gone():
			s = FoundChange{Standing: TaskEnded}
		case lapsed && c.Status != attr.Refused:
			s = FoundChange{Standing: Lapsed, Why: noLongerInForce + ": " + attr.LapsedWhy(gone)}
			offline = offline.Or(gone)
		case c.Status == attr.Planned:
			s = FoundChange{Standing: InForce}
		case errors.Is(c.Err, attr.ErrOneWay):
			s = FoundChange{Standing: InForce, Why: c.Reason}
		case c.Status == attr.Unchanged:
			s = FoundChange{Standing: Undone}
		}
		f.Changes[c.Key()] = s
		count[s.Standing]++
	}
	n := len(plan.Changes)
	switch {
	case n == 0:
		f.Standing = ChangedNothing
	case count[InForce] == n:
		f.Standing = InForce
	case count[InForce] > 0:
		f.Standing = PartlyInForce
		f.words = fmt.Sprintf("%d of %d in force", count[InForce], n)
	case count[ChangedSince] > 0:
		f.Standing = ChangedSince
	case count[ChangedAgain] > 0:
		f.Standing, f.words = ChangedAgain, again
	case count[Lapsed] > 0:
		f.Standing = Lapsed
		if !offline.Empty() {
			f.words = fmt.Sprintf("%s (%s went offline)", noLongerInForce, offline.InWords())
		}
	case count[TaskEnded] > 0:
		f.Standing = TaskEnded
		if plan.Threads() == 0 {
			f.words = fileGone
		}
	default:
		f.Standing = Undone
	}
	return f
}
