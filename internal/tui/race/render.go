package race

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"piton/internal/auto"
	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/search"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

type row struct {
	*View
	n int
}

// leastStrip is the room that effects keep, in cells; leastReason that of a state with its
// reason, which the lines below have for the candidate under the cursor.
const leastStrip, leastReason = 56, 24

func newList() *list.List[int, row] {
	l := list.New(func(r row) int { return r.n }, "",
		field.Column[row]{ID: "name", Title: "CANDIDATE", Width: 16, Tight: 12, Tone: func(row) field.Tone { return field.Strong },
			Text: func(r row) string { return r.Candidates[r.n].Name }},
		field.Column[row]{ID: "cpus", Title: "CPUS", Width: 10, Tight: 8, Rank: 2, Text: func(r row) string { return r.Candidates[r.n].CPUs.String() }},
		field.Column[row]{ID: "against", Title: "AGAINST KERNEL", Short: "AGAINST", Width: 14, Tight: 9, Right: true, Rank: 1, Text: against,
			Tone: func(row) field.Tone { return field.Strong }},
		field.Column[row]{ID: "state", Title: "STATE", Width: 46, Tight: 8, Look: state},
		field.Column[row]{ID: "periods", Title: "AGAINST THE KERNEL'S CHOICE", Tight: leastStrip})
	l.Draws = map[string]list.Draw[row]{"periods": effect}
	l.Whole = func(r row, th *theme.Theme) (theme.Style, bool) {
		is := r.Known(r.n)
		return th.Dim, is != nil && (is.State == search.Out || is.State == search.Violated)
	}
	return l
}

func against(r row) string {
	e, known := auto.Against(&r.Now, r.n)
	switch {
	case !known:
		return ""
	case r.n == 0:
		return "0 %"
	}
	return e.Gain()
}

// state is the candidate's state in a word, and why where there is room.
func state(r row, width int) (string, field.Tone) {
	is := r.Known(r.n)
	switch {
	case is == nil && width >= leastReason:
		return r.Candidates[r.n].Reason, field.Dim
	case r.n == 0 && (is == nil || is.State == search.Racing):
		return "base", field.Dim
	case is == nil:
		return "", field.Dim
	case is.State == search.Racing && len(is.Rates) == 0:
		return "to try", field.Dim
	case is.State == search.Racing && r.n == r.leads:
		return "leads", field.Strong
	case is.State == search.Kept:
		return is.State.String(), field.Good
	case is.Reason != "" && width >= leastReason:
		return is.State.String() + ": " + is.Reason, field.Normal
	}
	return is.State.String(), field.Normal
}

// axis is the effects of all candidates as drawn for a width.
type axis struct {
	width   int
	head    string
	effects []string
}

// effect draws that of a candidate on the axis that all share.
func effect(dst []byte, r row, th *theme.Theme, width int) []byte {
	if r.Now.Periods == 0 {
		return dst
	}
	if a := &r.View.axis; a.effects == nil || a.width != width {
		a.width = width
		a.head, a.effects = r.Effects().Cells(width, th.ASCII)
	}
	var cells rows.Row
	cells.Effect(th, r.View.axis.effects[r.n])
	return append(dst, cells.Render(th, width)...)
}

// Render draws the screen in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	head := []string{v.title(width, th)}
	if v.Running() {
		head = append(head, v.bar(width, th), rows.Line(th, th.Text, " "+v.Phase(), width))
	}
	head = append(head, "")
	lines := strings.Split(v.Frame(width, min(height, len(head)+1+v.Len()), head, nil, th), "\n")
	if v.Now.Periods > 0 && v.Len() > 0 {
		lines = append(lines, th.Dim.Render(strings.Repeat(" ", max(width-v.axis.width, 0))+v.axis.head))
	}
	return rows.Clip(strings.Join(append(lines, v.below(width, height-len(lines), th)...), "\n"), width, height)
}

func (v *View) title(width int, th *theme.Theme) string {
	var left, right rows.Row
	left.Add(th.Title, " Race")
	left.Add(th.Strong, "  "+v.subject)
	if v.Metric != "" {
		left.Add(th.Text, " "+th.Dot+" by "+v.Metric)
	}
	switch {
	case v.Running() && v.Now.Budget > 0:
		right.Add(th.Strong, "at most "+chart.Clock(v.TimeLeft())+" left ")
	case v.Running():
	case v.err != nil:
		right.Add(th.Bad, "ended ")
	default:
		right.Add(th.Good, "done ")
	}
	return rows.Ends(left, right, width, th)
}

func (v *View) bar(width int, th *theme.Theme) string {
	var r rows.Row
	text := fmt.Sprintf("%d/%d", v.Now.Periods, v.Now.Budget)
	r.Add(th.Text, " ")
	r.Drawn(widget.Progress(float32(v.Now.Periods)/float32(max(v.Now.Budget, 1)), max(width-len(text)-4, 1), th))
	r.Add(th.Text, "  "+text)
	return r.Render(th, width)
}

// roomy is from how many free lines on each candidate has one of its own below the axis.
const roomy = 20

// below is what is said below the axis: the decision, why candidates may be better and what
// has become of them, and what is not tried.
func (v *View) below(width, height int, th *theme.Theme) (lines []string) {
	say := func(style theme.Style, text string) {
		if text != "" {
			lines = append(lines, rows.Indented(th, style, text, width)...)
		}
	}
	lines = append(lines, "")
	switch {
	case v.Running():
	case errors.Is(v.err, context.Canceled):
		say(th.Strong, "Ended: everything is as it was.")
	case v.err != nil:
		say(th.Bad, v.err.Error())
		if v.Found == nil || v.Found.Outcome == nil {
			say(th.Strong, "Nothing is kept.")
		}
	case v.Found != nil:
		say(th.Strong, v.Found.Sentence(v.Candidates, v.Metric))
		say(th.Dim, v.Caveat)
	}
	for n := range v.Candidates {
		if n == v.At() || height >= roomy {
			say(th.Text, v.Reason(n))
		}
	}
	say(th.Warn, v.Warning)
	var left []string
	for _, c := range v.Left {
		left = append(left, c.Name+" ("+c.Reason+")")
		if height >= roomy {
			say(th.Dim, c.Name+": not tried: "+c.Reason)
		}
	}
	if len(left) > 0 && height < roomy {
		say(th.Dim, "Not tried: "+strings.Join(left, ", "))
	}
	if v.Now.Periods > 0 {
		lines = append(lines, "", th.Dim.Render(" "+chart.Effects{}.Legend(th.ASCII)))
	}
	return lines
}
