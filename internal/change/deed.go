package change

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
)

// Deed is what a person did: an entry of the journal with the undos that followed. The
// screen and the command line show the journal as deeds.
type Deed struct {
	Entry
	Undos []Entry     // of it or a part of it, oldest first
	Guard *GuardState // that is to revert it; nil: there is none
	Found *Found      // what the machine says of it; nil: it was not looked at
}

// Deeds puts entries together, oldest first. An undo is part of what it undid; one
// whose entries have left the journal stands for itself, if it changed anything.
func Deeds(entries []Entry, guards []GuardState) []Deed {
	var out []Deed
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
		out = append(out, Deed{Entry: e})
	}
	for _, g := range guards {
		if i, ok := index[g.Entry]; ok {
			out[i].Guard = &g
		}
	}
	return out
}

// Standing is what has become of the deed, as far as is known.
func (d *Deed) Standing() Standing {
	switch {
	case len(d.Undoes) > 0:
		return AnUndo
	case d.Entry.Undone:
		return Undone
	case d.Entry.PastBoot:
		return PastBoot
	case d.Entry.Foreign != "":
		return Foreign
	case d.Entry.ChangedNothing():
		return ChangedNothing
	case d.Found != nil:
		return d.Found.Standing
	}
	return Unknown
}

// State says what has become of the deed: "in force", "undone by guard 21:04:11",
// "3 of 4 in force", "in force, under way", "in force, reverted in 12 s unless kept".
func (d *Deed) State() string {
	s := d.Standing()
	words := s.String()
	switch s {
	case AnUndo:
		words = fmt.Sprintf("undo of %d entries", len(d.Undoes))
		if len(d.Undoes) == 1 {
			words = fmt.Sprintf("undo of %d", d.Undoes[0])
		}
	case Undone:
		if i := slices.IndexFunc(d.Undos, func(e Entry) bool { return e.ID == d.UndoneBy }); i >= 0 {
			words += " " + d.undoneBy(&d.Undos[i])
		}
	case Foreign:
		words = fmt.Sprintf("made in another %s namespace", d.Entry.Foreign)
	case PartlyInForce, ChangedAgain, TaskEnded, Lapsed:
		words = cmp.Or(d.Found.words, words)
	}
	parts := []string{words}
	switch {
	case d.Guard != nil && d.Guard.Making:
		parts = append(parts, "under way")
	case !d.Finished && !d.Entry.PastBoot:
		parts = append(parts, "interrupted")
	}
	if d.Guard != nil && !d.Guard.Making {
		parts = append(parts, d.Guard.short())
	}
	parts = append(parts, d.RevertFailed())
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// guardCommand begins the command of the entries that a guard writes.
const guardCommand = "piton guard: "

// RevertFailed says that the guard could not revert all of the deed, and why: "revert failed:
// needs CAP_SYS_NICE"; "" if it could, or if nothing is known to be in force.
func (d *Deed) RevertFailed() string {
	if s := d.Standing(); s != InForce && s != PartlyInForce && s != Unknown {
		return ""
	}
	for i := range slices.Backward(d.Undos) { // the guard's last
		if strings.HasPrefix(d.Undos[i].Command, guardCommand) {
			return revertFailed(&d.Undos[i])
		}
	}
	return ""
}

func revertFailed(by *Entry) string {
	i := slices.IndexFunc(by.Changes, func(c Change) bool { return c.Status == attr.Failed && !c.Gone() })
	if i < 0 {
		return ""
	}
	return "revert failed: " + by.Changes[i].Cause()
}

// undoneBy says by whom and when: "by guard 21:04:11".
func (d *Deed) undoneBy(undo *Entry) string {
	at, made := undo.Time.Local(), d.Time.Local()
	when := at.Format(time.TimeOnly)
	if at.YearDay() != made.YearDay() || at.Year() != made.Year() {
		when = at.Format("01-02 15:04")
	}
	switch {
	case strings.HasPrefix(undo.Command, guardCommand):
		return "by guard " + when
	case undo.User != d.User:
		return "by " + undo.User + " " + when
	}
	return when
}

// UndoLine says what one undo of the deed did: "undo 3, by guard 21:04:11: 182 restored,
// 5 left; it was not confirmed within 5s".
func (d *Deed) UndoLine(undo *Entry) string {
	done, left := 0, 0
	for _, c := range undo.Changes {
		if c.Took() {
			done++
		} else {
			left++
		}
	}
	text := fmt.Sprintf("undo %d, %s: %d restored", undo.ID, d.undoneBy(undo), done)
	if left > 0 {
		text += fmt.Sprintf(", %d left", left)
	}
	if why, ok := strings.CutPrefix(undo.Command, guardCommand); ok {
		_, why, _ = strings.Cut(why, ": ") // "revert entry 12: it was not confirmed"
		text += "; " + why
		if failed := revertFailed(undo); failed != "" {
			text += "; " + failed + ": " + each(only(undo.Changes, func(c Change) bool { return c.Status == attr.Failed && !c.Gone() }))
		}
		if cut := only(undo.Changes, func(c Change) bool { return c.Status == attr.Done && c.Reason != "" && c.Reason != bornWith }); len(cut) > 0 {
			text += "; not as before: " + each(cut) + ": " + cut[0].Reason
		}
	}
	if undo.Reason != "" {
		text += "; " + undo.Reason
	}
	return text
}

// each names what changes are of, some of it where it is much.
func each(changes []Change) string {
	var names []string
	for _, c := range changes {
		if name := Who([]Change{c}); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 8
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func only(changes []Change, is func(Change) bool) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !is(c) })
}

// short says how the entry stands that the guard is to revert.
func (g *GuardState) short() string {
	switch {
	case g.Lost:
		return "guard lost"
	case g.Stopped:
		return "guard stopped"
	case g.Left == LeftUnknown:
		return "reverted unless kept"
	}
	return fmt.Sprintf("reverted in %d s unless kept", int(g.Left.Seconds()))
}

// wide reports whether the deed was over all tasks, such as an isolate: its reason says
// what it is, better than the names of what it touched.
func (d *Deed) wide() bool { return d.Sweep > 0 && d.Reason != "" && len(d.Undoes) == 0 }

// What says what was done to whom: "isolate 1", "affinity of nqueens (3641), 4 threads".
func (d *Deed) What() string {
	if d.wide() {
		return d.Reason
	}
	if len(d.Changes) == 0 {
		return ""
	}
	var names []string
	for _, c := range d.Changes {
		if name := string(c.Attribute); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ") + " of " + Who(d.Changes)
}

// Change says from what to what: "0-7 → 5", "182 of 187 moved".
func (d *Deed) Change() string {
	if !d.wide() {
		return FromTo(d.Changes)
	}
	done, verb := 0, "moved"
	if strings.HasPrefix(d.Reason, "include ") {
		verb = "restored"
	}
	for _, c := range d.Changes {
		if c.Took() {
			done++
		}
		if _, mask := c.After.(cpuset.Set); !mask {
			verb = "changed"
		}
	}
	return fmt.Sprintf("%d of %d %s", done, len(d.Changes), verb)
}
