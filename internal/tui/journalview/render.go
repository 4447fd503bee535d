package journalview

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// widths are those of the columns, 0 for one that is left out.
type widths struct {
	id, when, who, what, change int
	format                      string // of when
}

func columns(width int) widths {
	switch {
	case width >= 150:
		return widths{id: 5, when: 19, who: 14, what: 44, change: 30, format: "2006-01-02 15:04:05"}
	case width >= 110:
		return widths{id: 5, when: 16, who: 12, what: 32, change: 22, format: "2006-01-02 15:04"}
	case width >= 70:
		return widths{id: 4, when: 11, what: 26, change: 14, format: "01-02 15:04"}
	}
	return widths{id: 4, what: 20}
}

// Render draws the list in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	head := v.head(width, th)
	if len(v.lines) == 0 {
		return rows.Clip(strings.Join(head, "\n"), width, height)
	}
	w := columns(width)
	body := v.list.Body(len(v.lines), func(i int, selected bool) string { return v.row(v.lines[i], w, th).Item(th, width, selected) })
	head = append(head, heading(w, th).Item(th, width, false))
	return rows.Stack(width, height, head, len(v.lines), body, nil)
}

// maxDamage is how many damaged lines are named.
const maxDamage = 2

// head sums the journal up and says what is wrong with it.
func (v *View) head(width int, th *theme.Theme) []string {
	var r rows.Row
	r.Add(th.Title, " Journal")
	switch {
	case v.o.Journal == nil:
		r.Add(th.Text, "  nothing is recorded in this session, so nothing can be undone")
	case v.err != nil:
		r.Add(th.Bad, "  "+v.err.Error())
	case !v.read:
		r.Add(th.Dim, "  reading")
	case len(v.entries) == 0:
		r.Add(th.Dim, "  nothing has been changed yet; every change that piton makes is listed here and can be undone")
	default:
		r.Add(th.Text, "  "+v.summary())
		r.Add(th.Dim, "   ")
		if v.o.ReadOnly {
			r = append(r, rows.Keys(th, "Enter", "details")...)
		} else {
			r = append(r, rows.Keys(th, "z", "undo", "Space", "tag", "A", "undo all", "Enter", "details")...)
		}
	}
	out := []string{r.Render(th, width)}
	warn := func(text string) { out = append(out, rows.Indented(th, th.Warn, text, width)...) }
	for _, e := range v.entries {
		if g, guarded := v.guards[e.ID]; guarded && g.Words() != "" {
			warn(g.Words())
		}
	}
	for i, d := range v.damage {
		if i == maxDamage {
			warn(fmt.Sprintf("and %d more damaged lines", len(v.damage)-i))
			break
		}
		warn(d.Error())
	}
	return out
}

func (v *View) summary() string {
	n, force := len(v.entries), 0
	for _, e := range v.entries {
		if e.state.kind == inForce || e.state.kind == partly {
			force++
		}
	}
	text := fmt.Sprintf("%d entries, %d in force", n, force)
	if n == 1 {
		text = fmt.Sprintf("1 entry, %d in force", force)
	}
	if len(v.tagged) > 0 {
		text += fmt.Sprintf(", %d tagged", len(v.tagged))
	}
	return text
}

func heading(w widths, th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Text, " ")
	r.Right(th, th.Header, "id", w.id)
	w.cells(&r, th, th.Header, "when", "who", "what", "change")
	r.Add(th.Header, "state")
	return r
}

// cells adds the columns for which there is room, between the id and the state.
func (w widths) cells(r *rows.Row, th *theme.Theme, style theme.Style, texts ...string) {
	for i, width := range []int{w.when, w.who, w.what, w.change} {
		if width > 0 {
			r.Add(th.Text, "  ")
			r.Left(th, style, texts[i], width)
		}
	}
	r.Add(th.Text, "  ")
}

func (v *View) row(p place, w widths, th *theme.Theme) rows.Row {
	e := v.entries[p.entry]
	switch p.change {
	case headLine:
		return v.entryRow(e, w, th)
	case commandLine:
		return commandRow(e, w, th)
	}
	return changeRow(e, e.Changes[p.change], w, th)
}

func (v *View) entryRow(e entry, w widths, th *theme.Theme) rows.Row {
	var r rows.Row
	style, mark := th.Text, " "
	if v.tagged[e.ID] {
		style, mark = th.Tagged, th.Tag
	}
	switch e.state.kind {
	case undone, gone, pastBoot, failed, foreign:
		style = th.Dim
	}
	r.Add(th.Tagged, mark)
	r.Right(th, style, fmt.Sprint(e.ID), w.id)
	w.cells(&r, th, style, e.Time.Local().Format(w.format), e.User, what(e.Changes), fromTo(e.Changes))
	r.Add(stateStyle(e.state.kind, th), e.state.text)
	if !e.Finished && e.state.kind != pastBoot {
		r.Add(th.Warn, " (interrupted)")
	}
	if g, guarded := v.guards[e.ID]; guarded {
		r.Add(th.Warn, "; "+guardWords(g))
	}
	return r
}

// guardWords says how an entry stands that a guard is to revert.
func guardWords(g change.GuardState) string {
	switch {
	case g.Lost:
		return "guard lost"
	case g.Stopped:
		return "guard stopped"
	case g.Left == change.LeftUnknown:
		return "reverted unless kept"
	}
	return fmt.Sprintf("reverted in %d s unless kept", int(g.Left.Seconds()))
}

// what names the attributes and the tasks of some changes.
func what(changes []change.Change) string {
	if len(changes) == 0 {
		return ""
	}
	var names []string
	for _, c := range changes {
		if name := string(c.Attribute); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ") + " of " + dialog.Who(changes)
}

// fromTo is "0-7 → 5" when that is so of every change.
func fromTo(changes []change.Change) string {
	if len(changes) == 0 {
		return ""
	}
	const several = "several"
	first := changes[0]
	before, after := dialog.OrNone(first.Before), dialog.OrNone(first.After)
	for _, c := range changes {
		if c.Attribute != first.Attribute {
			return several
		}
		if !c.Attribute.Alike(c.Before, first.Before) {
			before = several
		}
		if !c.Attribute.Alike(c.After, first.After) {
			after = several
		}
	}
	return before + " → " + after
}

func stateStyle(k kind, th *theme.Theme) theme.Style {
	switch k {
	case inForce:
		return th.Good
	case partly, drifted:
		return th.Warn
	}
	return th.Dim
}

// indent is where the lines of an opened entry begin.
func indent(w widths) string { return fmt.Sprintf("%*s", w.id+3, "") }

func commandRow(e entry, w widths, th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Text, indent(w))
	text := e.Command
	if w.who == 0 && e.User != "" {
		text = e.User + ": " + text
	}
	r.Add(th.Accent, text)
	if e.Reason != "" {
		r.Add(th.Dim, "  "+e.Reason)
	}
	return r
}

func changeRow(e entry, c change.Change, w widths, th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Text, indent(w))
	if c.IsFile() {
		r.Left(th, th.Text, c.Object.Object(), 7+2+15)
	} else {
		r.Right(th, th.Text, fmt.Sprint(c.TID), 7)
		r.Add(th.Text, "  ")
		r.Left(th, th.Text, c.Comm, 15)
	}
	r.Add(th.Text, "  ")
	attribute := string(c.Attribute)
	if c.IsFile() {
		attribute = c.Attribute.Title()
	}
	r.Left(th, th.Dim, attribute, 8)
	r.Add(th.Text, "  ")
	r.Left(th, th.Text, fromTo([]change.Change{c}), max(w.change, 14))
	r.Add(th.Text, "  ")
	st, looked := e.state.changes[c.Key()]
	switch {
	case c.Status == attr.Failed || c.Status == attr.Refused:
		r.Add(th.Bad, string(c.Status)+": "+c.Why())
	case looked && st.why != "":
		r.Add(stateStyle(st.kind, th), st.why)
	case looked:
		r.Add(stateStyle(st.kind, th), words[st.kind])
	default:
		r.Add(th.Dim, string(c.Status))
	}
	return r
}
