package corepanel

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Widths of a folded line.
const (
	foldBar   = 8
	foldLabel = 14 // least, for "node 0 L3 #0"
	foldCells = 8  // least where there is room, for "each CPU"
	foldSpark = 32
	foldNote  = 24 // for "▸ cpu 317 least loaded"

	leastSpark = 13 // for "migrations in"
)

// folded draws a line for each group, with a cell for each of its CPUs; ok is
// false when the lines are too many or a group has too many CPUs for a line.
func (r *renderer) folded(height int) (lines []string, ok bool) {
	label, list, largest := foldLabel, 4, 0
	for _, g := range r.g.groups {
		label = max(label, widget.Width(g.title()))
		list = max(list, len(g.set.String()))
		largest = max(largest, len(g.cpus))
	}
	list = min(list, 12)
	head := 1 + label + 1 + list + 1 + foldBar + percentWidth + 1
	if head+largest+6 > r.Width {
		label, head = foldLabel, head-label+foldLabel
	}
	if r.Width < head+largest+6 || len(r.g.groups)+1 > height {
		return nil, false
	}
	f := fold{label: label, list: list, cells: max(largest, foldCells)}
	if head+f.cells+6 > r.Width {
		f.cells = largest
	}
	f.spark = max(0, min(r.Width-head-f.cells-foldNote-6, foldSpark))
	if f.spark < leastSpark {
		f.spark = 0
	}
	lines = append(lines, r.foldedTitle(f))
	for _, g := range r.g.groups {
		line := r.foldedLine(g, f)
		if r.at(g.set) {
			line = r.marked(line, r.Width)
		}
		r.foldSpots(g, f, len(lines))
		lines = append(lines, line)
	}
	if off := r.offlineLine(); off != "" && len(lines) < height {
		lines = append(lines, off)
	}
	return lines, true
}

// fold is how wide the parts of a folded line are.
type fold struct{ label, list, cells, spark int }

// foldSpots notes where a group and its CPUs are.
func (r *renderer) foldSpots(g group, f fold, y int) {
	x := f.before()
	for i, c := range g.cpus {
		r.spot(spot{x: x + i, y: y, w: 1, cpus: cpuset.Of(c.ID), cell: true})
	}
	r.spot(spot{x: 0, y: y, w: r.Width, cpus: g.set})
}

// before is the width of what stands before the CPUs' cells.
func (f fold) before() int { return 1 + f.label + 1 + f.list + 1 + foldBar + percentWidth + 1 }

func (r *renderer) foldedTitle(f fold) string {
	title := fmt.Sprintf(" %-*s %-*s %*s %-*s", f.label, "load by group", f.list, "CPUs", foldBar+percentWidth, "busy", f.cells, "each CPU")
	if f.spark > 0 {
		title += fmt.Sprintf(" %-*s", f.spark, "migrations in")
	}
	return r.Theme.Dim.Render(widget.Fit(title+" in/s", r.Width, r.Theme.Ellipsis))
}

// title is the group's label with its cache's size.
func (g group) title() string {
	if g.size == "" {
		return g.label
	}
	return g.label + " " + g.size
}

// sum is what a group's CPUs come to.
type sum struct {
	busy   float32 // mean of the CPUs whose load is known
	in     float32
	pinned int
	known  int
	rt     string
	moves  [model.HistoryLen]uint16 // into the group's CPUs per tick
	ticks  int
}

func (r *renderer) sum(g group) sum {
	var s sum
	for _, c := range g.cpus {
		rates := r.cpu(c)
		if rates == nil || !model.Known(rates.Busy) {
			continue
		}
		s.known++
		s.ticks = max(s.ticks, rates.Ticks)
		for i, n := range rates.In {
			s.moves[i] += n
		}
		s.busy += rates.Busy
		s.pinned += rates.Pinned
		if model.Known(rates.InPerS) {
			s.in += rates.InPerS
		}
		if s.rt == "" {
			s.rt = r.realTime(rates)
		}
	}
	if s.known == 0 {
		s.busy, s.in = model.Unknown, model.Unknown
		return s
	}
	s.busy /= float32(s.known)
	return s
}

func (r *renderer) foldedLine(g group, f fold) string {
	th, s := r.Theme, r.sum(g)
	dst := append(make([]byte, 0, r.Width*3), ' ')
	dst = widget.AppendFit(dst, []byte(g.title()), f.label, false, th.Ellipsis)
	dst = append(dst, ' ')
	dst = th.Dim.Append(dst, widget.Fit(g.set.String(), f.list, th.Ellipsis))
	dst = append(dst, ' ')
	dst = widget.AppendBar(dst, th, s.busy, foldBar)
	dst = appendPercent(dst, th, s.busy)
	dst = append(dst, ' ')
	dst = r.appendCells(dst, g.cpus, loadCell)
	dst = widget.AppendSpaces(dst, f.cells-len(g.cpus))
	used := f.before() + f.cells + 5
	if f.spark > 0 {
		dst = append(dst, ' ')
		dst = widget.AppendRateSpark(dst, th, s.moves[:], s.ticks, r.seconds(), f.spark)
		used += 1 + f.spark
	}
	dst = appendRate(dst, th, s.in, 5)
	return string(r.foldedNotes(dst, g, s, r.Width-used))
}

func (r *renderer) foldedNotes(dst []byte, g group, s sum, width int) []byte {
	th := r.Theme
	note, style := "", th.Text
	switch {
	case g.set.Has(r.Model.LeastLoaded):
		note, style = fmt.Sprintf("%s cpu %d least loaded", th.Mark, r.Model.LeastLoaded), th.Title
	case s.rt != "":
		note, style = s.rt, th.Warn
	case s.pinned > 0:
		note = fmt.Sprintf("%d pinned", s.pinned)
	}
	if width < 4 || note == "" {
		return dst
	}
	dst = append(dst, ' ')
	return style.Append(dst, widget.Fit(note, min(width-1, widget.Width(note)), th.Ellipsis))
}

// loadCell shows one CPU's load as height, in the colour of that load.
func loadCell(th *theme.Theme, rates *model.CPU) (theme.Style, string) {
	if rates == nil || !model.Known(rates.Busy) {
		return th.Text, "?"
	}
	style := th.Load(rates.Busy)
	if rates.Busy < 0.125 {
		style = th.Dim
	}
	return style, widget.SparkCell(th, rates.Busy)
}
