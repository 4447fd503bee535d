package coresview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// mostMovers is how many of the tasks that move most are listed.
const mostMovers = 64

// Widths of the list of movers.
const (
	moversLeast  = 46 // of the list
	moversTID    = 56 // from this width on it has the TID
	moversBar    = 76 // and from this one on a bar
	moverName    = 24 // of a name where there is a bar
	moverBar     = 60 // of the longest bar
	moverFigures = 8 + 2 + 9
	moverClass   = 2 + 13
)

// ranked is the movers last ranked and what they were ranked from.
type ranked struct {
	seq    uint64
	span   int
	movers []mover
}

// mover is a task that moves.
type mover struct {
	tid   kernel.TID
	perS  float64
	where func(th *theme.Theme) string // "0⇄1", "12 CPUs", "on 3"
	class topology.Distance            // of most of its moves, where they are told apart
}

// topMovers ranks the tasks by moves in the window; where moves are not told
// apart, by their migrations in the last interval.
func (v *View) topMovers() []mover {
	if r := &v.ranked; r.seq != v.m.Sample.Seq || r.span != v.span || r.movers == nil {
		*r = ranked{seq: v.m.Sample.Seq, span: v.span}
		if v.moves.Have() {
			r.movers = v.moversOfWindow()
		} else {
			r.movers = v.moversByRate()
		}
	}
	return v.ranked.movers
}

func (v *View) moversOfWindow() []mover {
	list, took := v.moves.Movers(spans[v.span], v.grouped(model.ByCPU), mostMovers)
	out := make([]mover, len(list))
	for i, m := range list {
		out[i] = mover{tid: m.TID, perS: float64(m.Count) / max(took.Seconds(), 1e-9), class: m.Class}
		out[i].where = func(th *theme.Theme) string { return betweenCPUs(m, th) }
	}
	return out
}

// betweenCPUs names the pair of CPUs with at least half of a task's moves, else
// how many CPUs it was on.
func betweenCPUs(m model.Mover, th *theme.Theme) string {
	arrow := map[bool]string{true: "⇄", false: th.Arrow}[m.Back > 0]
	if th.ASCII && m.Back > 0 {
		arrow = "<>"
	}
	if 2*(m.Out+m.Back) < m.Count {
		return fmt.Sprintf("%d CPUs", m.CPUs)
	}
	return fmt.Sprintf("%d%s%d", m.A, arrow, m.B)
}

func (v *View) moversByRate() []mover {
	out := []mover{}
	for i := range v.m.Tasks {
		task, perS := v.m.Sample.Tasks[i], v.m.Tasks[i].MigPerS
		if model.Known(perS) && perS > 0 {
			out = append(out, mover{tid: task.TID, perS: float64(perS),
				where: func(*theme.Theme) string { return fmt.Sprintf("on %d", task.LastCPU) }})
		}
	}
	slices.SortFunc(out, func(a, b mover) int { return cmp.Or(cmp.Compare(b.perS, a.perS), cmp.Compare(a.tid, b.tid)) })
	return out[:min(len(out), mostMovers)]
}

// renderMovers lists the tasks that move most in width × height cells.
func (v *View) renderMovers(width, height int, th *theme.Theme) []string {
	movers := v.topMovers()
	name, bar := width-1-moverFigures, 0
	if v.moves.Have() {
		name -= moverClass
	}
	if width >= moversTID {
		name -= 8
	}
	if width >= moversBar {
		bar = min(name-moverName-2, moverBar)
		name = moverName
	}
	var h rows.Row
	h.Left(th, th.Header, "TOP MOVERS", name)
	if width >= moversTID {
		h.Right(th, th.Header, "TID", 8)
	}
	h.Right(th, th.Header, "MIG/s", 8)
	h.Add(th.Text, "  ")
	h.Left(th, th.Header, map[bool]string{true: "BETWEEN", false: "CPU"}[v.moves.Have()], 9)
	if v.moves.Have() {
		h.Add(th.Text, "  ")
		h.Left(th, th.Header, "DISTANCE", moverClass-2)
	}
	lines := []string{h.Item(th, width, false)}
	if len(movers) == 0 {
		lines = append(lines, " "+th.Dim.Render(widget.Fit("no task moved in this window", width-1, th.Ellipsis)))
	}
	for _, m := range movers[:min(len(movers), max(height-1, 0))] {
		lines = append(lines, v.moverRow(m, name, bar, width, movers[0].perS, th).Item(th, width, false))
	}
	return lines[:min(len(lines), height)]
}

func (v *View) moverRow(m mover, name, bar, width int, most float64, th *theme.Theme) rows.Row {
	var r rows.Row
	if text := comm(v.Task(m.tid)); text != "" {
		r.Left(th, th.Strong, text, name)
	} else if text := v.moves.Name(m.tid); text != "" { // it has ended
		r.Left(th, th.Dim, text, name)
	} else {
		r.Left(th, th.Dim, fmt.Sprintf("%d, ended", m.tid), name)
	}
	if width >= moversTID {
		r.Right(th, th.Text, fmt.Sprint(m.tid), 8)
	}
	r.Right(th, th.Text, rate(m.perS), 8)
	r.Add(th.Text, "  ")
	r.Left(th, th.Text, m.where(th), 9)
	if v.moves.Have() {
		r.Add(th.Text, "  ")
		r.Left(th, widget.DistanceStyle(th, m.class), widget.DistanceLetter(m.class)+" "+m.class.String(), moverClass-2)
	}
	if bar > 3 && most > 0 {
		r.Add(th.Text, "  ")
		r.Add(th.Dim, strings.Repeat(th.Bar[len(th.Bar)-1], max(int(m.perS/most*float64(bar)+0.5), 1)))
	}
	return r
}
