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
	bad := o.Count(attr.Failed) + o.Count(attr.Refused)
	denied := 0
	for _, c := range o.Changes {
		if (c.Status == attr.Failed || c.Status == attr.Refused) &&
			(errors.Is(c.Err, attr.ErrNotPermitted) || errors.Is(c.Err, attr.ErrNotSupported)) {
			denied++
		}
	}
	switch {
	case bad == 0 && o.Unrecorded == nil && len(o.Damage) == 0 && !o.Unsettled:
		return AllDone
	case o.Changed() || bad < len(o.Changes) || o.Unrecorded != nil || o.Unsettled:
		return Some
	case denied > 0 && denied == bad:
		return NotPermitted
	}
	return Failed
}

// Changed reports whether anything is other than it was.
func (o Outcome) Changed() bool { return slices.ContainsFunc(o.Changes, Change.Took) }

// Count returns how many changes have the status.
func (o Outcome) Count(s attr.Status) int {
	n := 0
	for _, c := range o.Changes {
		if c.Status == s {
			n++
		}
	}
	return n
}

// FirstBad returns the first change that failed or was refused.
func (o Outcome) FirstBad() (Change, bool) {
	i := slices.IndexFunc(o.Changes, func(c Change) bool { return c.Status == attr.Failed || c.Status == attr.Refused })
	if i < 0 {
		return Change{}, false
	}
	return o.Changes[i], true
}

// only returns the changes with one of the statuses.
func (o Outcome) only(statuses ...attr.Status) []Change {
	var out []Change
	for _, c := range o.Changes {
		if slices.Contains(statuses, c.Status) {
			out = append(out, c)
		}
	}
	return out
}
