// Package history reads the journal: what was done, what undid it, and what is left of it. It is
// the only one that interprets entries. What it says is what is recorded; what the machine says of
// an entry is looked up by internal/change. Start at Operations.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
)

// Operation is an entry of the journal with the undos that followed. The screen and the command
// line show the journal as operations.
type Operation struct {
	journal.Entry
	Undos []journal.Entry // of it or a part of it, oldest first
	Guard *GuardState     // that is to revert it; nil: there is none
	Found *Found          // what the machine says of it; nil: it was not looked at
}

// Operations puts entries together, oldest first. An undo is part of what it undid; one
// whose entries have left the journal stands for itself, if it changed anything.
func Operations(entries []journal.Entry, guards []GuardState) []Operation {
	var out []Operation
	index := map[uint64]int{}
	for _, e := range entries {
		known := false
		for _, id := range e.Undoes {
			if i, ok := index[id]; ok {
				out[i].Undos = append(out[i].Undos, e)
				known = true
			}
		}
		if known || len(e.Undoes) > 0 && len(e.Changes) == 0 {
			continue
		}
		index[e.ID] = len(out)
		out = append(out, Operation{Entry: e})
	}
	for _, g := range guards {
		if i, ok := index[g.Entry]; ok {
			out[i].Guard = &g
		}
	}
	return out
}

// Status is what has become of the operation, as far as is known.
func (o *Operation) Status() Status {
	switch {
	case len(o.Undoes) > 0:
		return AnUndo
	case o.Entry.Undone:
		return Undone
	case o.Entry.PastBoot:
		return PastBoot
	case o.Entry.Foreign != "":
		return Foreign
	case o.Entry.ChangedNothing():
		return ChangedNothing
	case o.Found != nil:
		return o.Found.Status
	}
	return Unknown
}

// State says what has become of the operation: "in force", "undone by guard 21:04:11",
// "3 of 4 in force", "in force, under way", "in force, reverted in 12 s unless kept".
func (o *Operation) State() string {
	s := o.Status()
	words := s.String()
	switch s {
	case AnUndo:
		words = fmt.Sprintf("undo of %d entries", len(o.Undoes))
		if len(o.Undoes) == 1 {
			words = fmt.Sprintf("undo of %d", o.Undoes[0])
		}
	case Undone:
		if i := slices.IndexFunc(o.Undos, func(e journal.Entry) bool { return e.ID == o.UndoneBy }); i >= 0 {
			words += " " + o.undoneBy(&o.Undos[i])
		}
	case Foreign:
		words = fmt.Sprintf("made in another %s namespace", o.Entry.Foreign)
	case PartlyInForce, ChangedAgain, TaskEnded, Lapsed:
		words = cmp.Or(o.Found.Words, words)
	}
	parts := []string{words}
	switch {
	case o.Guard != nil && o.Guard.Making:
		parts = append(parts, "under way")
	case !o.Finished && !o.Entry.PastBoot:
		parts = append(parts, "interrupted")
	}
	if o.Guard != nil && !o.Guard.Making {
		parts = append(parts, o.Guard.short())
	}
	parts = append(parts, o.RevertFailed())
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// Unconfirmed reports whether a guard is to revert the operation, or could not revert all of it.
func (o *Operation) Unconfirmed() bool {
	return o.Guard != nil || slices.ContainsFunc(o.Undos, byGuard)
}

func byGuard(undo journal.Entry) bool { return undo.Origin.Kind == journal.ByGuard }

// RevertFailed says that the guard could not revert all of the operation, and why: "revert failed:
// needs CAP_SYS_NICE"; "" if it could, or if nothing is known to be in force.
func (o *Operation) RevertFailed() string {
	if s := o.Status(); s != InForce && s != PartlyInForce && s != Unknown {
		return ""
	}
	for _, undo := range slices.Backward(o.Undos) { // the guard's last
		if byGuard(undo) {
			return revertFailed(&undo)
		}
	}
	return ""
}

func revertFailed(by *journal.Entry) string {
	i := slices.IndexFunc(by.Changes, func(c attr.Change) bool { return c.Status == attr.Failed && !c.Gone() })
	if i < 0 {
		return ""
	}
	return "revert failed: " + by.Changes[i].Cause()
}

// undoneBy says by whom and when: "by guard 21:04:11".
func (o *Operation) undoneBy(undo *journal.Entry) string {
	at, made := undo.Time.Local(), o.Time.Local()
	when := at.Format(time.TimeOnly)
	if at.YearDay() != made.YearDay() || at.Year() != made.Year() {
		when = at.Format("01-02 15:04")
	}
	switch {
	case byGuard(*undo):
		return "by guard " + when
	case undo.User != o.User:
		return "by " + undo.User + " " + when
	}
	return when
}

// UndoLine says what one undo of the operation did: "undo 3, by guard 21:04:11: 182 restored,
// 5 left; it was not confirmed within 5s".
func (o *Operation) UndoLine(undo *journal.Entry) string {
	done, left := 0, 0
	for _, c := range undo.Changes {
		if c.Took() {
			done++
		} else {
			left++
		}
	}
	text := fmt.Sprintf("undo %d, %s: %d restored", undo.ID, o.undoneBy(undo), done)
	if left > 0 {
		text += fmt.Sprintf(", %d left", left)
	}
	if byGuard(*undo) {
		text += "; " + undo.Origin.Why
		if failed := revertFailed(undo); failed != "" {
			text += "; " + failed + ": " + Each(only(undo.Changes, func(c attr.Change) bool { return c.Status == attr.Failed && !c.Gone() }))
		}
		if cut := only(undo.Changes, func(c attr.Change) bool { return c.Status == attr.Done && c.Reason != "" && c.Reason != BornWith }); len(cut) > 0 {
			text += "; not as before: " + Each(cut) + ": " + cut[0].Reason
		}
	}
	if undo.Reason != "" {
		text += "; " + undo.Reason
	}
	return text
}

// Each names what changes are of, some of it where it is much.
func Each(changes []attr.Change) string {
	var names []string
	for _, c := range changes {
		if name := Who([]attr.Change{c}); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 8
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func only(changes []attr.Change, is func(attr.Change) bool) []attr.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c attr.Change) bool { return !is(c) })
}

// wide reports whether the operation was over all tasks, such as an isolate: its reason says
// what it is, better than the names of what it touched.
func (o *Operation) wide() bool { return o.Sweep > 0 && o.Reason != "" && len(o.Undoes) == 0 }

// What says what was done to whom: "isolate 1", "affinity of nqueens (3641), 4 threads".
func (o *Operation) What() string {
	if o.wide() {
		return o.Reason
	}
	if len(o.Changes) == 0 {
		return ""
	}
	var names []string
	for _, c := range o.Changes {
		if name := string(c.Attribute); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ") + " of " + Who(o.Changes)
}

// Change says from what to what: "0-7 → 5", "182 of 187 moved".
func (o *Operation) Change() string {
	if !o.wide() {
		return FromTo(o.Changes)
	}
	done, verb := 0, "moved"
	if o.Origin.Kind == journal.ByInclude {
		verb = "restored"
	}
	for _, c := range o.Changes {
		if c.Took() {
			done++
		}
		if _, mask := c.After.(cpuset.Set); !mask {
			verb = "changed"
		}
	}
	return fmt.Sprintf("%d of %d %s", done, len(o.Changes), verb)
}
