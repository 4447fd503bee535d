package change

import (
	"errors"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/change/journal"
)

// Outcome is what became of a Plan.
type Outcome struct {
	Entry    uint64    `json:"entry,omitempty"` // journal entry for undo, 0 when nothing was changed
	Changes  []Change  `json:"changes,omitempty"`
	Passes   int       `json:"passes,omitempty"`  // over the threads, until two found nothing new
	Newborn  int       `json:"newborn,omitempty"` // threads that appeared meanwhile and were set as well
	Undone   []uint64  `json:"undone,omitempty"`  // entries of the plan's Undoes of which nothing is left in force
	Warnings []Warning `json:"warnings,omitempty"`
	// Damage is lines of the journal that an undo could not use.
	Damage []journal.Damage `json:"damage,omitempty"`
	// Unrecorded: something was changed, and that, or what became of it, could not be
	// written to the journal. nil when nothing was changed.
	Unrecorded error `json:"unrecorded,omitempty"`
	// Unsettled: new threads with another value still appeared when the search for them ended.
	Unsettled bool  `json:"unsettled,omitempty"`
	Guard     Guard `json:"guard,omitempty"` // not nil: the change is reverted unless it is confirmed
}

// Verdict is what an exit code says.
type Verdict uint8

// The verdicts.
const (
	AllDone      Verdict = iota
	Some                 // some of it failed, or is not recorded
	Failed               // nothing was changed
	NotPermitted         // nothing was changed: the rights, or the kernel, do not allow any of it
)

// Verdict sums the outcome up. It is Failed or NotPermitted only if nothing changed.
func (o Outcome) Verdict() Verdict {
	bad := attr.Only(o.Changes, attr.Failed, attr.Refused)
	couldWork := func(c Change) bool {
		return !errors.Is(c.Err, attr.ErrNotPermitted) && !errors.Is(c.Err, attr.ErrNotSupported)
	}
	switch {
	case len(bad) == 0 && o.Unrecorded == nil && len(o.Damage) == 0 && !o.Unsettled:
		return AllDone
	case o.Changed() || len(bad) < len(o.Changes) || o.Unrecorded != nil || o.Unsettled:
		return Some
	case len(bad) > 0 && !slices.ContainsFunc(bad, couldWork):
		return NotPermitted
	}
	return Failed
}

// Changed reports whether anything is other than it was.
func (o Outcome) Changed() bool { return slices.ContainsFunc(o.Changes, Change.Took) }

// Count returns how many changes have the status.
func (o Outcome) Count(s attr.Status) int { return len(attr.Only(o.Changes, s)) }

// FirstBad returns the first change that failed or was refused.
func (o Outcome) FirstBad() (Change, bool) {
	if bad := attr.Only(o.Changes, attr.Failed, attr.Refused); len(bad) > 0 {
		return bad[0], true
	}
	return Change{}, false
}
