package journalview

import (
	"fmt"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// both is a text of an operation, or another of a change of it.
func both(operation func(d *history.Operation) string, part func(d *history.Operation, c change.Change) string) func(line) string {
	return func(l line) string {
		if c, ok := l.change(); ok {
			return part(l.operation, c)
		}
		return operation(l.operation)
	}
}

func nothing(*history.Operation, change.Change) string { return "" }

var columns = []field.Column[line]{
	{ID: "id", Title: "ENTRY", Short: "ID", Width: 5, Tight: 4, Right: true, Names: true,
		Text: both(func(d *history.Operation) string { return fmt.Sprint(d.ID) }, nothing)},
	{ID: "when", Title: "TIME", Width: 16, Tight: 11, Rank: 3, Look: func(l line, width int) (string, field.Tone) {
		format := "2006-01-02 15:04"
		if _, part := l.change(); part {
			return "", field.Normal
		} else if width < len(format) {
			format = "01-02 15:04"
		}
		return l.operation.Time.Local().Format(format), field.Normal
	}},
	{ID: "who", Title: "USER", Width: 12, Tight: 8, Rank: 5, Text: both(func(d *history.Operation) string { return d.User }, nothing)},
	{ID: "what", Title: "WHAT", Width: 38, Tight: 24, Rank: 1, Text: both((*history.Operation).What, whatOf)},
	{ID: "change", Title: "CHANGE", Width: 22, Tight: 12, Rank: 2, Text: both((*history.Operation).Change,
		func(_ *history.Operation, c change.Change) string { return history.FromTo([]change.Change{c}) })},
	{ID: "state", Title: "STATE", Tight: 24, Look: state},
}

// change is the change that a row is about.
func (l line) change() (c change.Change, ok bool) {
	if l.part < 2 || l.part-2 >= len(l.operation.Changes) {
		return c, false
	}
	return l.operation.Changes[l.part-2], true
}

// whatOf names one change: "affinity of nqueens (3641)", "affinity of irq 24 (eth0)".
func whatOf(d *history.Operation, c change.Change) string {
	if c.IsFile() {
		return " " + c.Attribute.Title() + " of " + c.Object.Object()
	}
	return fmt.Sprintf(" %d %s %s", c.TID, history.TaskName(c, d.Changes), c.Attribute)
}

func state(l line, _ int) (string, field.Tone) {
	c, ok := l.change()
	if !ok {
		return l.operation.State(), statusTone(l.operation.Status())
	}
	switch {
	case c.Status == attr.Failed || c.Status == attr.Refused:
		return string(c.Status) + ": " + c.Why(), field.Bad
	case l.operation.Found == nil || l.operation.Status() != l.operation.Found.Status:
		return string(c.Status), field.Dim
	}
	found, looked := l.operation.Found.Changes[c.Key()]
	switch {
	case !looked:
		return string(c.Status), field.Dim
	case found.Why != "":
		return found.Why, statusTone(found.Status)
	}
	return found.String(), statusTone(found.Status)
}

func statusTone(s history.Status) field.Tone {
	switch s {
	case history.InForce:
		return field.Good
	case history.PartlyInForce, history.ChangedSince, history.Lapsed:
		return field.Warn
	}
	return field.Dim
}

// finished says that a row is dim: nothing of its operation is in force.
func finished(l line, th *theme.Theme) (theme.Style, bool) {
	switch l.operation.Status() {
	case history.Undone, history.TaskEnded, history.PastBoot, history.ChangedNothing, history.Foreign:
		return th.Dim, l.part == 0
	}
	return th.Text, false
}

// across is a row without columns: the command that did it, or an undo of it.
func across(l line, th *theme.Theme) (r rows.Row, ok bool) {
	undo := l.part - 2 - len(l.operation.Changes)
	switch {
	case l.overwrite != nil:
		r.Add(th.Warn, "      "+l.overwrite.words())
	case l.part == 1:
		r.Add(th.Accent, "      "+l.operation.Command)
		if l.operation.Reason != "" {
			r.Add(th.Dim, "  "+l.operation.Reason)
		}
	case undo >= 0:
		r.Add(th.Dim, "      "+l.operation.UndoLine(&l.operation.Undos[undo]))
	default:
		return nil, false
	}
	return r, true
}

// Render draws the list in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	return v.Frame(width, height, v.head(width, th), nil, th)
}

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
	case len(v.operations) == 0:
		r.Add(th.Dim, "  no changes yet: each change that piton makes is listed here and can be undone")
	default:
		r.Add(th.Strong, "  "+v.Position())
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
	for i := range v.operations {
		d := &v.operations[i]
		if d.Guard != nil && d.Guard.Words() != "" {
			warn(d.Guard.Words())
		}
		if why := d.RevertFailed(); why != "" {
			warn(fmt.Sprintf("entry %d: %s", d.ID, why))
		}
	}
	if v.foreign.why != "" && len(v.operations) > 0 {
		out = append(out, rows.Indented(th, th.Dim, "changes by others are not seen: "+v.foreign.why, width)...)
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
	force := 0
	for i := range v.operations {
		if s := v.operations[i].Status(); s == history.InForce || s == history.PartlyInForce {
			force++
		}
	}
	text := fmt.Sprintf("%s, %d in force", chart.Plural(len(v.operations), "change"), force)
	if n := v.Tags(); n > 0 {
		text += fmt.Sprintf(", %d tagged", n)
	}
	return text
}
