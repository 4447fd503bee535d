package corepanel

import (
	"fmt"

	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Widths of a folded line.
const (
	foldList  = 12 // most, of the CPUs' numbers
	foldCells = 8  // least, for the title "migr. in"
	foldBar   = 10 // least, where there is room
	foldSpark = 12 // least
	foldNote  = 16 // for " idlest cpu 317" and the legend of the migrations
)

// fold is how wide the parts of a folded line are; 0 leaves a part out.
type fold struct{ label, list, bar, cells, rate, note, spark int }

// fold finds the widths; ok is false where a CPU of the largest group would get no cell
// for its load or none for its migrations.
func (r *renderer) fold() (f fold, ok bool) {
	f = fold{list: 4, cells: foldCells, rate: rateBare}
	for i := range r.g.groups {
		g := &r.g.groups[i]
		f.label = max(f.label, widget.Width(g.label))
		f.list = max(f.list, len(g.set.String()))
		f.cells = max(f.cells, len(g.cpus))
	}
	f.list = min(f.list, foldList)
	rest := r.Width - (1 + f.label + percentWidth + 2*(1+f.cells) + f.rate)
	take := func(part *int, width int) {
		if *part = 0; rest >= width {
			*part = width
			rest -= width
		}
	}
	if rest < 0 {
		return f, false
	}
	take(&f.list, 1+f.list)
	take(&f.note, foldNote)
	take(&f.bar, 1+foldBar)
	if rest > foldSpark {
		f.bar, f.spark = share(rest + f.bar)
	} else {
		f.bar += rest
	}
	return f, true
}

// folded draws a line for each group, with two cells for each of its CPUs: its load and
// the migrations into it. ok is false when that does not fit.
func (r *renderer) folded(height int) (lines []string, ok bool) {
	f, ok := r.fold()
	if !ok || len(r.g.groups)+1 > height {
		return nil, false
	}
	sums, most := make([]sum, len(r.g.groups)), scale{width: f.spark - 1}
	for i := range sums {
		sums[i] = r.sum(&r.g.groups[i])
		include(&most, sums[i].moves[:], sums[i].ticks)
	}
	r.setScale(most)
	lines = append(lines, r.foldedTitle(f))
	for i := range sums {
		g := &r.g.groups[i]
		x := 1 + f.label + f.list + f.bar + percentWidth + 1
		r.cellSpots(g.cpus, spot{x: x, y: len(lines)}, spot{x: x + f.cells + 1, y: len(lines)})
		*r.spots = append(*r.spots, spot{y: len(lines), w: r.Width, cpu: -1, group: g})
		lines = append(lines, r.foldedLine(g, &sums[i], f))
	}
	return lines, true
}

// cellSpots notes where CPUs are: their loads at one place, their migrations at another.
func (r *renderer) cellSpots(cpus []*topology.CPU, load, moves spot) {
	load.w, moves.w, moves.again = 1, 1, true
	for _, c := range cpus {
		if c != nil {
			load.cpu, moves.cpu = c.ID, c.ID
			*r.spots = append(*r.spots, load, moves)
		}
		load.x++
		moves.x++
	}
}

func (r *renderer) foldedTitle(f fold) string {
	th := r.Theme
	title := func(text string, width int) string {
		if widget.Width(text) > width {
			text = ""
		}
		return widget.Fit(text, width, "")
	}
	line := th.Dim.Render(title(" CPUs by group", 1+f.label+f.list))
	legend := widget.PartsLegend(th, f.bar-1)
	if legend == "" {
		legend = widget.PartsLegend(th, f.bar+percentWidth-1)
	}
	line += widget.Fit(" "+legend, f.bar+percentWidth+1, "")
	line += th.Dim.Render(title("load", f.cells) + " " + title("migr. in", f.cells))
	if f.spark > 0 {
		words := ""
		for _, t := range r.scale.titles {
			if len(t) < f.spark {
				words = t
				break
			}
		}
		line += th.Dim.Render(" " + title(words, f.spark-1))
	}
	line += th.Dim.Render(widget.FitRight("in/s", f.rate, ""))
	if legend := " " + r.heatLegend(""); widget.Width(line)+widget.Width(legend) <= r.Width {
		line += legend
	}
	return widget.Fit(line, r.Width, "")
}

type sum struct {
	busy   float32 // mean of those whose load is known
	parts  widget.Parts
	in     float32
	pinned int
	rt     string
	moves  [model.HistoryLen]uint32 // into the group's CPUs per tick
	ticks  int
}

func (r *renderer) sum(g *group) sum {
	var s sum
	if s.busy, s.parts = r.Model.Mean(g.set); !model.Known(s.busy) {
		s.in = model.Unknown
	}
	for _, c := range g.cpus {
		rates := r.Model.CPU(c.ID)
		if rates == nil || !model.Known(rates.Busy) {
			continue
		}
		s.ticks = max(s.ticks, rates.Ticks)
		for i, n := range rates.In {
			s.moves[i] += uint32(n)
		}
		s.pinned += rates.Pinned
		if model.Known(rates.InPerS) {
			s.in += rates.InPerS
		}
		if s.rt == "" {
			s.rt = r.realTime(rates)
		}
	}
	return s
}

// foldedLine draws one group. The cursor is on its name, so that its bar can be read all
// the same.
func (r *renderer) foldedLine(g *group, s *sum, f fold) string {
	th := r.Theme
	name, list := th.Text, th.Dim
	if r.at(g.set) {
		name, list = th.Selected, th.Selected
	}
	dst := name.Append(make([]byte, 0, r.Width*3), widget.Fit(" "+r.label(g), 1+f.label, th.Ellipsis))
	if f.list > 0 {
		dst = list.Append(dst, widget.Fit(" "+g.set.String(), f.list, th.Ellipsis))
	}
	if f.bar > 0 {
		dst = append(dst, ' ')
		dst = widget.AppendFramed(dst, th, &s.parts, f.bar-1)
	}
	dst = append(appendPercent(dst, th, s.busy), ' ')
	dst = r.appendCells(dst, g.cpus, loadCell)
	dst = widget.AppendSpaces(dst, f.cells-len(g.cpus)+1)
	dst = r.appendCells(dst, g.cpus, migrationCell)
	dst = widget.AppendSpaces(dst, f.cells-len(g.cpus))
	if f.spark > 0 {
		dst = append(dst, ' ')
		dst = widget.AppendSpark(dst, th, s.moves[:], s.ticks, r.scale.top, f.spark-1)
	}
	idlest, pinned := "", ""
	if r.idlest >= 0 && g.set.Has(r.idlest) {
		idlest = fmt.Sprintf("idlest cpu %d", r.idlest)
	}
	if s.pinned > 0 {
		pinned = fmt.Sprintf("%d pinned", s.pinned)
	}
	dst = appendRate(dst, th, s.in, f.rate)
	return string(r.appendNotes(dst, f.note, note{th.Title, idlest}, note{th.Warn, s.rt}, note{th.Text, pinned}))
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
