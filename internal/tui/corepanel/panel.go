// Package corepanel draws the CPUs: a line each with a bar split by what takes its
// time, the migrations into it and what is bound to it, where they fit; a line for each
// last-level cache or node where they do not; and a grid, by pages of nodes, on the
// largest machines. Each CPU has its load and its migrations in all of them.
//
// It is pure. Start at Panel.Render.
package corepanel

import (
	"slices"
	"time"

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
	modes
)

// Next is the mode after m.
func (m Mode) Next() Mode { return (m + 1) % modes }

// String is the mode's name in the setup and its file.
func (m Mode) String() string { return [...]string{"full", "folded", "hidden"}[m] }

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
	ticks []time.Duration
}

// Render returns the panel's lines, none of which is wider than in.Width.
// Unchanged input returns the lines of the last call.
func (p *Panel) Render(in Input) []string {
	if p.lines != nil && in == p.last {
		return p.lines
	}
	p.noteTick(in.Model)
	if in.Topology != p.topo {
		p.topo, p.g = in.Topology, groupCPUs(in.Topology)
	}
	p.last = in
	p.lines = p.draw(in)
	return p.lines
}

// noteTick keeps the length of the last three ticks.
func (p *Panel) noteTick(m *model.Model) {
	if m != nil && m != p.last.Model && m.Elapsed > 0 {
		p.ticks = append(p.ticks, m.Elapsed)
		p.ticks = p.ticks[max(0, len(p.ticks)-3):]
	}
}

// tick is the usual length of a tick, 0 while that is not known. A single sample between
// two others, taken because of a key, must not stretch the scale of all.
func (p *Panel) tick() time.Duration {
	if len(p.ticks) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(p.ticks))[len(p.ticks)/2]
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
	r := renderer{Input: in, g: p.g, byID: indexCPUs(in.Model), spots: &p.spots}
	r.idlest, r.tick = r.least(), p.tick()
	if in.Mode == Full {
		if l, ok := p.g.fit(in.Width, share); ok {
			p.grid = false
			return r.full(l)
		}
	}
	if lines, ok := r.folded(share); ok {
		return lines
	}
	return r.dense(half, p)
}

// renderer is one drawing of the panel.
type renderer struct {
	Input
	g     *grouping
	byID  map[int]int // CPU number to index in Model.CPUs
	spots *[]spot     // where CPUs are drawn, added to
	buf   []byte      // of a line, reused

	tick      time.Duration
	idlest    cpuset.CPU // marked as that, -1 for none
	scale     scale      // of the sparklines of single CPUs
	explained bool       // the glyphs of the bars are named somewhere
	alone     bool       // there is a single heading
}

// least is the CPU with the least load for a new ordinary task, -1 where that is not
// known, or where even that is busy.
func (r *renderer) least() cpuset.CPU {
	id := r.Model.LeastLoaded
	if i, ok := r.byID[int(id)]; ok && r.Model.CPUs[i].Busy < model.IdlestBelow {
		return id
	}
	return -1
}

// spot notes where CPUs are drawn.
func (r *renderer) spot(s spot) { *r.spots = append(*r.spots, s) }

func indexCPUs(m *model.Model) map[int]int {
	byID := make(map[int]int, len(m.CPUs))
	for i := range m.CPUs {
		byID[int(m.CPUs[i].ID)] = i
	}
	return byID
}

// cpu returns the rates of a CPU; nil when the sample lacks it, as after it
// went offline.
func (r *renderer) cpu(c topology.CPU) *model.CPU {
	if i, ok := r.byID[int(c.ID)]; ok {
		return &r.Model.CPUs[i]
	}
	return nil
}

// offlineLine names the CPUs that are offline, "" when there are none.
func (r *renderer) offlineLine() string {
	if r.g.offline.Empty() {
		return ""
	}
	return r.Theme.Dim.Render(widget.Fit(" offline: "+r.g.offline.String(), r.Width, r.Theme.Ellipsis))
}

// beside joins blocks of lines into columns of width cells.
func (r *renderer) beside(columns [][]string, width int) []string {
	height := 0
	for _, c := range columns {
		height = max(height, len(c))
	}
	sep := " " + r.Theme.Dim.Render(r.Theme.Vertical) + " "
	lines := make([]string, height)
	var b []byte
	for i := range lines {
		b = b[:0]
		for j, c := range columns {
			if j > 0 {
				b = append(b, sep...)
			}
			if i < len(c) {
				b = append(b, c[i]...)
			} else if j < len(columns)-1 {
				b = widget.AppendSpaces(b, width)
			}
		}
		lines[i] = string(b)
	}
	return lines
}
