package race

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"piton/internal/auto"
	"piton/internal/chart"
	"piton/internal/search"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// row is a candidate.
type row struct {
	*View
	n int
}

// is is what the search knows of it; nil before the first period.
func (r row) is() *search.Candidate {
	if r.n < len(r.Now.Candidates) {
		return &r.Now.Candidates[r.n]
	}
	return nil
}

// leastStrip is the room that periods keep, in cells; leastReason that of a state with its
// reason, which the lines below have for the candidate under the cursor.
const leastStrip, leastReason = 56, 24

func newList() *list.List[int, row] {
	l := list.New(func(r row) int { return r.n }, "",
		list.Column[row]{ID: "name", Title: "CANDIDATE", Width: 16, Tight: 12, Cell: func(r row, th *theme.Theme, _ int) (string, theme.Style) {
			return r.Candidates[r.n].Name, th.Strong
		}},
		list.Column[row]{ID: "cpus", Title: "CPUS", Width: 10, Tight: 5, Rank: 2, Cell: func(r row, th *theme.Theme, _ int) (string, theme.Style) {
			return r.Candidates[r.n].CPUs.String(), th.Text
		}},
		list.Column[row]{ID: "against", Title: "AGAINST KERNEL", Short: "AGAINST", Width: 14, Tight: 9, Right: true, Rank: 1, Cell: against},
		list.Column[row]{ID: "state", Title: "STATE", Width: 46, Tight: 8, Cell: state},
		list.Column[row]{ID: "periods", Title: "PERIODS, AGAINST THE KERNEL'S CHOICE", Tight: leastStrip, Append: periods})
	l.Whole = func(r row, th *theme.Theme) (theme.Style, bool) {
		is := r.is()
		return th.Dim, is != nil && (is.State == search.Out || is.State == search.Violated)
	}
	return l
}

func against(r row, th *theme.Theme, _ int) (string, theme.Style) {
	e, known := auto.Against(&r.Now, r.n)
	switch {
	case !known:
		return "", th.Text
	case r.n == 0:
		return "0 %", th.Text
	}
	return fmt.Sprintf("%+.1f %%", 100*(e.Ratio-1)), th.Strong
}

// state is the candidate's state in a word, and why where there is room.
func state(r row, th *theme.Theme, width int) (string, theme.Style) {
	is := r.is()
	switch {
	case is == nil && width >= leastReason:
		return r.Candidates[r.n].Reason, th.Dim
	case r.n == 0 && (is == nil || is.State == search.Racing):
		return "base", th.Dim
	case is == nil:
		return "", th.Dim
	case is.State == search.Racing && len(is.Rates) == 0:
		return "to try", th.Dim
	case is.State == search.Racing && r.n == r.leads:
		return "leads", th.Strong
	case is.State == search.Kept:
		return is.State.String(), th.Good
	case is.Reason != "" && width >= leastReason:
		return is.State.String() + ": " + is.Reason, th.Text
	}
	return is.State.String(), th.Text
}

// axis is the strips of all candidates as drawn for a width.
type axis struct {
	width  int
	head   string
	strips []string
}

// widest is the end of an interval, as a ratio, from which it is not drawn: it is that of
// one or two periods, and would squeeze everything else.
const widest = 4

// periods draws those of a candidate on the axis that all share.
func periods(dst []byte, r row, th *theme.Theme, width int) []byte {
	if a := &r.View.axis; a.strips == nil || a.width != width {
		strips := chart.Strips{Unit: "%"}
		for i := range r.Candidates {
			strips.Strips = append(strips.Strips, r.strip(i))
		}
		a.width = width
		a.head, a.strips = strips.Cells(width, th.ASCII)
	}
	var cells rows.Row
	cells.Strip(th, r.View.axis.strips[r.n])
	return append(dst, cells.Render(th, width)...)
}

// strip is the periods of a candidate in percent of the kernel's median.
func (v *View) strip(n int) (s chart.Strip) {
	e, known := auto.Against(&v.Now, n)
	if !known {
		return s
	}
	percent := func(ratio float64) float64 { return 100 * (ratio - 1) }
	s = chart.Strip{Median: percent(e.Ratio), Low: percent(e.Low), High: percent(e.High), HaveInterval: e.HaveInterval && e.High < widest}
	for _, rate := range v.Now.Candidates[n].Rates {
		if usual := v.Now.Candidates[0].Median(); usual > 0 {
			s.Points = append(s.Points, percent(rate/usual))
		}
	}
	return s
}

// Render draws the screen in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	head := []string{v.title(width, th)}
	if v.Running() {
		head = append(head, v.bar(width, th))
	}
	if text := v.phase(); text != "" {
		head = append(head, rows.Line(th, th.Text, " "+text, width))
	}
	head = append(head, "")
	lines := strings.Split(v.Frame(width, min(height, len(head)+1+v.Len()), head, nil, th), "\n")
	if v.Now.Periods > 0 && v.Len() > 0 {
		lines = append(lines, th.Dim.Render(strings.Repeat(" ", max(width-v.axis.width, 0))+v.axis.head))
	}
	return rows.Clip(strings.Join(append(lines, v.below(width, th)...), "\n"), width, height)
}

// title says what is searched for, and the time left or how it ended.
func (v *View) title(width int, th *theme.Theme) string {
	var left, right rows.Row
	left.Add(th.Title, " Race")
	left.Add(th.Strong, "  "+v.subject)
	if v.Metric != "" {
		left.Add(th.Text, " "+th.Dot+" by "+v.Metric)
	}
	switch {
	case v.Running() && v.Now.Budget > 0:
		right.Add(th.Strong, "at most "+chart.Clock(v.left())+" left ")
	case v.Running():
	case v.err != nil:
		right.Add(th.Bad, "ended ")
	default:
		right.Add(th.Good, "done ")
	}
	return rows.Ends(left, right, width, th)
}

// bar is how much of the budget is used.
func (v *View) bar(width int, th *theme.Theme) string {
	var r rows.Row
	text := fmt.Sprintf("%d/%d", v.Now.Periods, v.Now.Budget)
	r.Add(th.Text, " ")
	r.Drawn(widget.Progress(float32(v.Now.Periods)/float32(max(v.Now.Budget, 1)), max(width-len(text)-4, 1), th))
	r.Add(th.Text, "  "+text)
	return r.Render(th, width)
}

// phase says what is done now.
func (v *View) phase() string {
	now := &v.Now
	switch {
	case !v.Running():
		return ""
	case len(v.Candidates) == 0:
		return "looking at load and wakeups…"
	case v.Metric == "":
		return "looking for a rate to judge by…"
	case now.Finalist != 0:
		text := fmt.Sprintf("confirmation: %s and the kernel's choice in fresh pairs, %d so far", v.Candidates[now.Finalist].Name, len(now.Pairs))
		if now.P < 1 {
			text += fmt.Sprintf(", p = %.2g", now.P)
		}
		return text
	case now.Rounds > 0:
		return fmt.Sprintf("race: round %d, each candidate in turn, what is clearly worse is out", now.Rounds)
	}
	return "lead: the kernel's choice alone, to see how much the rate varies"
}

// below is what is said below the axis: the decision, or the candidate under the cursor and
// what is not tried.
func (v *View) below(width int, th *theme.Theme) (lines []string) {
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
		say(th.Strong, "Everything is as it was.")
	case v.Found != nil:
		say(th.Strong, v.Found.Sentence(v.Candidates, v.Metric))
		say(th.Dim, v.Caveat)
	}
	if r, ok := v.Selected(); ok {
		c := v.Candidates[r.n]
		text := c.Name + ": " + c.Reason
		if is := r.is(); is != nil && is.State == search.Kept {
			text += "; " + is.Reason
		} else if is != nil && is.Reason != "" {
			text += "; " + is.State.String() + ": " + is.Reason
		}
		say(th.Text, text)
	}
	say(th.Warn, v.Warning)
	var left []string
	for _, c := range v.Left {
		left = append(left, c.Name+" ("+c.Reason+")")
	}
	if len(left) > 0 {
		say(th.Dim, "Not tried: "+strings.Join(left, ", "))
	}
	if v.Now.Periods > 0 {
		lines = append(lines, "", th.Dim.Render(" "+strings.NewReplacer("median", "estimate", "run", "period").Replace(chart.Strips{}.Legend(th.ASCII))))
	}
	return lines
}
