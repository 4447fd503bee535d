package whyview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
	"piton/internal/why"
	"piton/internal/why/page"
)

// Widths of columns, by their IDs. The name takes what is left where there is no room for remedies.
var widths = map[string]int{"name": 40, "share": 6, "bar": 10, "ms_per_s": 6, "count": 8, "p99_ns": 8, "longest_ns": 8, "remedy": 0}

const (
	roomForRemedies = 110
	leastName       = 28
	leastRemedy     = 34
	mostRows        = 12
	leastRows       = 5
)

// columns are those of the table, with remedies where it is wide. Of what files tell there are the
// name and the remedy.
func columns(wide bool, name int) (out []field.Column[page.Row]) {
	for _, c := range page.Columns() {
		if c.Title == " " {
			c.ID = "bar"
		}
		width, shown := widths[c.ID]
		if !shown || c.Title == "" || c.ID == "remedy" && !wide {
			continue
		}
		if c.Width = width; c.ID == "name" {
			c.Text = nameOf // as long as it is: the list cuts it
		}
		switch {
		case c.ID == "remedy":
			c.Tight, c.Tone = leastRemedy, func(r page.Row) field.Tone { return remedyTone(r.Remedy) }
		case c.ID == "name" && wide:
			c.Width = name
		case c.ID == "name":
			c.Width, c.Tight, c.Least = 0, leastName, name
		case c.ID == "share":
			c.Tone = func(page.Row) field.Tone { return field.Strong }
		}
		out = append(out, c)
	}
	return out
}

func remedyTone(r why.Remedy) field.Tone {
	if r.Set == nil {
		return field.Dim
	}
	return field.Accent
}

// draws are the columns that are pictures.
var draws = map[string]list.Draw[page.Row]{"bar": func(dst []byte, r page.Row, th *theme.Theme, width int) []byte {
	bar := page.Look{ASCII: th.ASCII}.Spelled(chart.Eighths(r.Share, width))
	return widget.AppendSpaces(th.Warn.Append(dst, bar), width-widget.Width(bar))
}}

// relist makes the rows of the answer.
func (v *View) relist() {
	all := page.Rows(v.answer, page.Look{}, v.most)
	if a := v.answer; a.Mask.Set != nil {
		row := page.Row{Row: avoidable(a), A: a}
		if a.Verdict.Word == why.Masked {
			all = slices.Insert(all, 0, row)
		} else {
			all = append(all, row)
		}
	}
	v.Load(all, false)
}

// avoidable is a row of waiting while an idle CPU was excluded: its remedy can be carried out as
// others can. It is part of what other rows have.
func avoidable(a *why.Answer) *why.Row {
	return &why.Row{Kind: "avoidable", Name: "its mask excludes an idle CPU", Remedy: a.Mask,
		Waited: why.Waited{Time: a.Avoidable.Mask}, Share: a.Avoidable.Mask.Seconds() / a.Waited.Seconds(),
		Percent: int(100 * a.Avoidable.Mask / max(a.Waited, 1))}
}

// line is one of the head or foot: where there is no room for all, those of the highest rank go.
type line struct {
	rank int
	text string
}

// The ranks, from what always stays.
const (
	stays = iota
	ranTimes
	waitTimes
	couldAvoid
	histogram
	longest
	blank
)

// Render draws the pane in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	l := page.Look{Width: width, ASCII: th.ASCII, Last: true}
	v.fit(width)
	head, foot := v.head(l, th), v.foot(l, th)
	v.limit(height - 1 - needed(head) - needed(foot))
	for rank := blank; rank > stays && len(head)+len(foot)+v.Len()+1 > height; rank-- {
		drop := func(l line) bool { return l.rank == rank }
		head, foot = slices.DeleteFunc(head, drop), slices.DeleteFunc(foot, drop)
	}
	if v.Len() > 0 { // below the rows, not at the bottom
		height = min(height, len(head)+len(foot)+v.Len()+1)
	}
	return v.Frame(width, height, texts(head), texts(foot), th)
}

// limit has as many rows as there is room for, the last for the rest.
func (v *View) limit(room int) {
	if v.answer == nil {
		return
	}
	most := max(min(room, mostRows), leastRows) - 1
	if v.answer.Mask.Set != nil { // it has a row of its own
		most--
	}
	if most != v.most {
		v.most = most
		v.relist()
	}
}

// needed is how many lines matter more than single rows.
func needed(lines []line) (n int) {
	for _, l := range lines {
		if l.rank <= waitTimes {
			n++
		}
	}
	return n
}

func texts(lines []line) (out []string) {
	for _, l := range lines {
		out = append(out, l.text)
	}
	return out
}

// fit gives the table the columns that it has room for.
func (v *View) fit(width int) {
	name := leastName
	for _, r := range v.Rows() {
		name = max(name, widget.Width(nameOf(r)))
	}
	all := columns(width >= roomForRemedies, min(name, widths["name"]))
	if v.answer != nil && v.answer.Target.Lacking != "" {
		all = slices.DeleteFunc(all, func(c field.Column[page.Row]) bool { return c.ID != "name" && c.ID != "remedy" })
	}
	v.SetColumns(all)
}

func nameOf(r page.Row) string {
	return fmt.Sprintf("%-9s  %s", cmp.Or(r.Kind, r.Cause.String()), r.Name)
}

func (v *View) head(l page.Look, th *theme.Theme) []line {
	lines := []line{{stays, v.title(l, th)}}
	say := func(rank int, style theme.Style, text string) {
		for _, t := range rows.Indented(th, style, text, l.Width) {
			lines = append(lines, line{rank, t})
		}
	}
	switch {
	case v.o.Open == nil:
		say(stays, th.Text, "Only the machine that piton runs on can be observed: this screen shows another.")
	case v.err != nil:
		say(stays, th.Bad, v.err.Error())
	case v.answer == nil && v.gone:
		say(stays, th.Text, "It has ended.")
	}
	if v.answer == nil {
		return lines
	}
	for i, verdict := range page.Verdicts(v.answer) {
		style := th.Bad
		switch {
		case verdict.Word == why.Nothing:
			style = th.Good
		case i > 0 || v.answer.Target.Lacking != "":
			style = th.Warn
		}
		for _, t := range labelled(verdict.Word, verdict.Sentence, style, th.Strong, l, th) {
			lines = append(lines, line{stays, t})
		}
	}
	if a := v.answer; a.Target.Lacking != "" && a.Verdict.Word == why.Nothing {
		say(stays, th.Dim, "Causes are not known: "+a.Target.Lacking)
	}
	if v.answer.Threads == 0 {
		return lines
	}
	lines = append(lines, line{blank, ""})
	for _, t := range flow(page.Times(v.answer, l), l, th, th.Text, th.Warn, th.Dim) {
		lines = append(lines, line{ranTimes, t})
	}
	for i, t := range flow(page.Waits(v.answer), l, th, th.Text) {
		lines = append(lines, line{min(waitTimes+i*(histogram-waitTimes), histogram), t})
	}
	return append(lines, line{blank, ""})
}

// title is whom it is about, and how that is observed: what matters most of it where there is no
// room for all.
func (v *View) title(l page.Look, th *theme.Theme) string {
	var left, right rows.Row
	left.Add(th.Title, " Why ")
	subject := v.subject
	how := []string{"observing"}
	switch {
	case v.o.Open == nil, v.err != nil, v.gone && v.answer == nil:
		how = nil
	case v.answer != nil:
		subject, how = page.Subject(v.answer), page.How(v.answer, l)
	}
	if v.gone {
		how = append([]string{"ended"}, how...)
	}
	left.Add(th.Strong, " "+l.Spelled(subject))
	for len(how) > 1 && left.Width()+widget.Width(strings.Join(how, ", "))+3 > l.Width {
		how = how[:len(how)-1]
	}
	right.Add(th.Dim, l.Spelled(strings.Join(how, ", "))+" ")
	return rows.Ends(left, right, l.Width, th)
}

// flow sets segments beside each other, as many as fit, each in its style, the last one for the rest.
func flow(segments []string, l page.Look, th *theme.Theme, styles ...theme.Style) (lines []string) {
	const gap = "   "
	var r rows.Row
	end := func() {
		if len(r) > 0 {
			lines, r = append(lines, r.Render(th, l.Width)), nil
		}
	}
	for i, s := range segments {
		style := styles[min(i, len(styles)-1)]
		if s = l.Spelled(s); r.Width()+len(gap)+widget.Width(s) > l.Width {
			end()
		}
		lead := gap
		if len(r) == 0 {
			lead = " "
		}
		r.Drawn([]byte(lead + style.Render(s)))
	}
	end()
	return lines
}

func (v *View) foot(l page.Look, th *theme.Theme) (lines []line) {
	if v.answer == nil {
		return nil
	}
	if row, ok := v.Selected(); ok {
		lines = append(lines, line{blank, ""})
		for _, t := range v.remedy(row.Remedy, l, th) {
			lines = append(lines, line{stays, t})
		}
	}
	if v.trial != nil {
		lines = append(lines, line{blank, ""})
		for _, t := range v.trialLines(l, th) {
			lines = append(lines, line{stays, t})
		}
	}
	lines = append(lines, line{blank, ""})
	rank := couldAvoid
	for _, t := range page.Notes(v.answer, l) {
		if strings.HasPrefix(t, " longest") {
			rank = longest
		}
		lines = append(lines, line{rank, th.Dim.Render(t)})
	}
	return lines
}

// labelled is a text after a label, as wide as that of a verdict; later lines stand below the first.
func labelled(label, text string, first, style theme.Style, l page.Look, th *theme.Theme) (lines []string) {
	label = page.Label(why.Verdict{Word: label})
	for _, t := range chart.Wrap(l.Spelled(text), max(l.Width-1-len(label), 20)) {
		var r rows.Row
		r.Add(first, " "+label)
		r.Add(style, t)
		lines, label = append(lines, r.Render(th, l.Width)), strings.Repeat(" ", len(label))
	}
	return lines
}

// remedy is what helps against the selected row.
func (v *View) remedy(r why.Remedy, l page.Look, th *theme.Theme) []string {
	label := "Enter"
	switch {
	case r.Text == why.None || r.Text == "":
		return labelled("", "nothing that piton could do helps against it", th.Key, th.Dim, l, th)
	case r.Set == nil || v.o.ReadOnly:
		label = ""
	}
	lines := labelled(label, r.Text, th.Key, th.Of(remedyTone(r)), l, th)
	if r.Expect != "" {
		lines = append(lines, labelled("", "gives "+r.Expect, th.Key, th.Dim, l, th)...)
	}
	return lines
}

func (v *View) trialLines(l page.Look, th *theme.Theme) []string {
	head, segments := v.trial.lines()
	lines := labelled("effect", v.trial.what+": "+head, th.Title, th.Text, l, th)
	indent := strings.Repeat(" ", len(page.Label(why.Verdict{})))
	for _, t := range flow(segments, page.Look{Width: l.Width - len(indent), ASCII: l.ASCII}, th, th.Strong) {
		lines = append(lines, indent+t)
	}
	return lines
}
