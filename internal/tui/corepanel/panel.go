// Package corepanel draws the CPUs: a line each with a bar split by what takes its
// time, the migrations into it and what is bound to it, where they fit; a line for each
// last-level cache or node where they do not; and a grid, by pages of nodes, on the
// largest machines. Each CPU has its load and its migrations in all of them.
//
// It is pure. Start at Panel.Render.
package corepanel

import (
	"slices"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Mode is how much of the panel is shown.
type Mode uint8

// The modes, in the order in which the key cycles through them.
const (
	Full Mode = iota
	Folded
	Hidden
)

// Modes are their names in the setup and its file.
var Modes = []string{"full", "folded", "hidden"}

// ModeOf is the mode of that name, Full where there is none.
func ModeOf(name string) Mode { return Mode(max(slices.Index(Modes, name), 0)) }

// Next is the mode after m.
func (m Mode) Next() Mode { return (m + 1) % Mode(len(Modes)) }

// String is the mode's name.
func (m Mode) String() string { return Modes[m] }

// Input is what a rendering depends on.
type Input struct {
	Model    *model.Model
	Topology *topology.Topology
	Theme    *theme.Theme
	Width    int
	Height   int // of the whole screen; the panel takes its share of it
	Mode     Mode
	Pick     *Pick // nil: nothing is being chosen
}

// Panel renders the CPUs and keeps the last rendering.
type Panel struct {
	topo  *topology.Topology
	g     *grouping
	last  Input
	lines []string
	spots []spot // of the last rendering
	grid  bool   // it has a cell for each CPU and not a line
	page  int    // of a grid that is higher than its share of the screen
	pages int    // of the last rendering
	ticks widget.Ticks
}

// Render returns the panel's lines, none of which is wider than in.Width.
// Unchanged input returns the lines of the last call.
func (p *Panel) Render(in Input) []string {
	if p.lines != nil && in == p.last {
		return p.lines
	}
	if m := in.Model; m != nil && m != p.last.Model {
		p.ticks.Note(m.Elapsed)
	}
	if in.Topology != p.topo {
		p.topo, p.g = in.Topology, groupCPUs(in.Topology)
	}
	p.last = in
	p.lines = p.draw(in)
	return p.lines
}

// draw picks the fullest form that fits. Full and folded lines may take two
// fifths of the screen, the grid half of it.
func (p *Panel) draw(in Input) []string {
	share, half := in.Height*2/5, in.Height/2
	if in.Height < 12 {
		share, half = in.Height-9, in.Height-9
	}
	p.spots, p.grid, p.pages = p.spots[:0], true, 1
	if in.Mode == Hidden || in.Width < 16 || share < 1 || in.Model == nil || len(p.g.groups) == 0 {
		return []string{}
	}
	r := renderer{Input: in, g: p.g, spots: &p.spots, ticks: p.ticks, idlest: -1}
	if c := in.Model.CPU(in.Model.LeastLoaded); c != nil && c.Busy < model.IdlestBelow {
		r.idlest = c.ID
	}
	var lines []string
	l, ok := p.g.fit(in.Width, share)
	if p.grid = in.Mode != Full || !ok; !p.grid {
		lines = r.full(l)
	} else if lines, ok = r.folded(share); !ok {
		return r.dense(half, p)
	}
	if off := p.g.offline; !off.Empty() && (len(lines) < share || !p.grid) {
		lines = append(lines, in.Theme.Dim.Render(widget.Fit(" offline: "+off.String(), in.Width, in.Theme.Ellipsis)))
	}
	return lines
}

type renderer struct {
	Input
	g     *grouping
	spots *[]spot // where CPUs are drawn, added to
	buf   []byte  // of a line, reused
	ticks widget.Ticks

	idlest    cpuset.CPU // marked as that: the CPU with the least load for a new ordinary task; -1 where none is idle
	scale     scale      // of the sparklines
	explained bool       // the glyphs of the bars are named somewhere
	alone     bool       // there is a single heading
}

// beside joins blocks of lines into columns of width cells.
func (r *renderer) beside(columns [][]string, width int) []string {
	height := 0
	for _, c := range columns {
		height = max(height, len(c))
	}
	sep := " " + r.Theme.Dim.Render(r.Theme.Vertical) + " "
	lines := make([]string, height)
	for i := range lines {
		b := r.buf[:0]
		for j, c := range columns {
			if j > 0 {
				b = append(b, sep...)
			}
			if b = append(b, widget.LineAt(c, i)...); i >= len(c) && j < len(columns)-1 {
				b = widget.AppendSpaces(b, width)
			}
		}
		lines[i], r.buf = string(b), b
	}
	return lines
}
