package corepanel

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// full draws a line for each CPU below a heading for each group. A group alone is spread
// over several columns, each with its heading.
func (r *renderer) full(l layout) []string {
	parts := r.g.divide(l.width)
	s := scale{width: parts.spark}
	for i := range r.Model.CPUs {
		include(&s, r.Model.CPUs[i].In[:], r.Model.CPUs[i].Ticks)
	}
	r.setScale(s)
	r.alone = l.columns == 1 && len(r.g.groups) == 1
	columns := make([][]string, l.columns)
	for c := range columns {
		columns[c] = make([]string, 0, r.g.height(l))
	}
	for k := range r.g.groups {
		g := &r.g.groups[k]
		rows := (len(g.cpus) + l.within - 1) / l.within
		for part := range l.within {
			c := k/l.stacked*l.within + part
			add := func(text string, cpu cpuset.CPU) {
				*r.spots = append(*r.spots, spot{x: c * (l.width + separator), y: len(columns[c]), w: l.width, cpu: cpu, group: g})
				columns[c] = append(columns[c], text)
			}
			add(r.heading(g, part > 0, parts, l.width), -1)
			for i := part * rows; i < min((part+1)*rows, len(g.cpus)); i++ {
				add(r.line(g.cpus, i, parts, l.width), g.cpus[i].ID)
			}
		}
	}
	return r.beside(columns, l.width)
}

// heading is a group's label. The first ones that have room say what the sparklines
// and the bars mean; one over what is continued is unnamed.
func (r *renderer) heading(g *group, unnamed bool, p cells, width int) string {
	th, label, style := r.Theme, " ", r.Theme.Dim
	if !unnamed {
		label += r.label(g)
	}
	if r.at(g.set) {
		style = th.Selected
	}
	used, spark := widget.Width(label), p.gutter+p.bar+percentWidth+1
	title, at := "", width
	for i, t := range r.scale.titles {
		begin := min(max(spark, used+2), width-len(t))
		legend := widget.Width(widget.PartsLegend(th, begin-used-4))
		if r.alone && legend == 0 { // there is no other heading for it
			begin = min(spark+p.spark+p.rate, width) - len(t)
			legend = widget.Width(widget.PartsLegend(th, begin-used-4))
		}
		if begin >= used+2 && (legend > 0 || !r.alone || i == len(r.scale.titles)-1) {
			title, at, r.scale.titles = t, begin, nil
			break
		}
	}
	line := style.Render(label)
	if !r.explained {
		if legend := widget.PartsLegend(th, at-used-4); legend != "" {
			r.explained = true
			line += "  " + legend
			used += 2 + widget.Width(legend)
		}
	}
	if used > at { // only a label can be too long
		return widget.Fit(line, width, th.Ellipsis)
	}
	return line + strings.Repeat(" ", at-used) + th.Dim.Render(title) + strings.Repeat(" ", width-at-widget.Width(title))
}

func (r *renderer) line(cpus []*topology.CPU, i int, p cells, width int) string {
	c, th := cpus[i], r.Theme
	rates := r.Model.CPU(c.ID)
	dst := r.gutter(r.buf[:0], cpus, i, p)
	if rates == nil {
		return string(dst) + widget.Fit("no figures", width-p.gutter, th.Ellipsis)
	}
	parts := rates.Parts()
	dst = widget.AppendFramed(dst, th, &parts, p.bar)
	dst = appendPercent(dst, th, rates.Busy)
	dst = append(dst, ' ')
	dst = widget.AppendSpark(dst, th, rates.In[:], rates.Ticks, r.scale.top, p.spark)
	dst = appendRate(dst, th, rates.InPerS, p.rate)
	var idlest, pinned, isolated string
	if c.ID == r.idlest {
		idlest = "idlest"
	}
	if rates.Pinned > 0 {
		pinned = fmt.Sprintf("%d pinned", rates.Pinned)
	}
	if c.Isolated {
		isolated = "isolated"
	}
	r.buf = r.appendNotes(dst, p.note, note{th.Warn, r.realTime(rates)}, note{th.Title, idlest}, note{th.Text, pinned}, note{th.Dim, isolated})
	return string(r.buf)
}

// gutter draws the mark of the idlest CPU, the bracket around SMT siblings, the number, P,
// E or i for isolated, and the tick. The cursor is on it, so that the bar can be read.
func (r *renderer) gutter(dst []byte, cpus []*topology.CPU, i int, p cells) []byte {
	c, th := cpus[i], r.Theme
	least, ticked, at := c.ID == r.idlest, r.ticked(c.ID), r.on(c.ID)
	var number [20]byte
	style := th.Text
	switch {
	case at && ticked:
		style = th.Both
	case at:
		style = th.Selected
	case ticked:
		style = th.Tagged
	case least:
		style = th.Title
	}
	dst = style.Open(dst)
	if least {
		dst = append(dst, th.Mark...)
	} else {
		dst = append(dst, ' ')
	}
	if p.smt {
		dst = append(dst, r.bracket(cpus, i)...)
	}
	dst = widget.AppendFit(dst, strconv.AppendInt(number[:0], int64(c.ID), 10), r.g.digits, true, th.Ellipsis)
	if p.kind {
		dst = append(dst, kindLetter(c))
	}
	if ticked {
		return style.Close(append(dst, th.Tag...))
	}
	dst = style.Close(dst)
	return append(dst, ' ')
}

// bracket joins the SMT siblings of a core: ┌ first, │ between, └ last.
func (r *renderer) bracket(cpus []*topology.CPU, i int) string {
	same := func(j int) bool {
		return j >= 0 && j < len(cpus) && cpus[j].Core.Has(cpus[i].ID)
	}
	switch before, after := same(i-1), same(i+1); {
	case before && after:
		return r.Theme.Vertical
	case after:
		return r.Theme.TopLeft
	case before:
		return r.Theme.BottomLeft
	}
	return " "
}

func kindLetter(c *topology.CPU) byte {
	switch {
	case c.Isolated:
		return 'i'
	case c.Kind == topology.KindPerformance:
		return 'P'
	case c.Kind == topology.KindEfficiency:
		return 'E'
	}
	return ' '
}

func appendPercent(dst []byte, th *theme.Theme, share float32) []byte {
	if !model.Known(share) {
		return widget.AppendFit(dst, th.None, percentWidth, true, th.Ellipsis)
	}
	style := th.Text
	if share >= highLoad {
		style = th.Load(share)
	}
	text := strconv.Itoa(int(min(share, 1)*100+0.5)) + "%"
	return style.Append(widget.AppendSpaces(dst, percentWidth-len(text)), text)
}

// highLoad is the share from which a figure has the style of its load.
const highLoad = 0.6

// appendRate adds a rate per second in width cells; 0 is dim.
func appendRate(dst []byte, th *theme.Theme, v float32, width int) []byte {
	if width == 0 {
		return dst
	}
	style, text := th.Text, ""
	switch {
	case !model.Known(v):
		style, text = th.Dim, th.None
	case v < 0.5:
		style, text = th.Dim, "0"
	case v < 9999.5:
		text = strconv.Itoa(int(v + 0.5))
	default:
		text = strconv.Itoa(int(v/1000+0.5)) + "k"
	}
	if width >= rateUnit {
		text += "/s"
	}
	dst = style.Open(dst)
	dst = widget.AppendFit(dst, text, width, true, th.Ellipsis)
	return style.Close(dst)
}

// note is what else is to be known of a CPU or a group; "" for nothing.
type note struct {
	style theme.Style
	text  string
}

// appendNotes adds notes in exactly width cells, the most urgent first.
func (r *renderer) appendNotes(dst []byte, width int, notes ...note) []byte {
	used := 0
	for _, n := range notes {
		room, cells := width-used-1, widget.Width(n.text)
		if n.text != "" && (room >= cells || used == 0 && room >= 6) {
			cells = min(room, cells)
			dst = n.style.Append(append(dst, ' '), widget.Fit(n.text, cells, r.Theme.Ellipsis))
			used += 1 + cells
		}
	}
	return widget.AppendSpaces(dst, width-used)
}

// realTime names the busiest real-time task on the CPU: "FIFO:50 name".
func (r *renderer) realTime(rates *model.CPU) string {
	if rates.RT < 0 || rates.RT >= len(r.Model.Sample.Tasks) {
		return ""
	}
	row := field.Row{M: r.Model, I: rates.RT, ASCII: r.Theme.ASCII}
	name := field.Cell("policy", row)
	if id := row.Task().ID; id != nil {
		name += " " + string(field.AppendClean(nil, id.Comm, r.Theme.ASCII))
	}
	return name
}
