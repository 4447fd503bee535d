package detail

import (
	"fmt"
	"slices"
	"time"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// trace is the true sequence of the moves of one task: of the selected one, or
// of the busiest thread of a process that has several.
type trace struct {
	trail  model.Trail
	tid    kernel.TID    // that is asked for
	now    time.Duration // of the newest sample
	moved  time.Duration // of the last sample with a move
	traced bool          // the newest sample has the moves of tid
}

// quiet is how long after a task's last move the chart still shows its moves.
// From then on it shows ticks, in which a task that stays is a flat line.
const quiet = 10 * time.Second

// Trace is the task whose moves the pane wants one by one.
func (p *Pane) Trace() kernel.TID { return p.trace.tid }

// Follow takes in the moves of the newest sample.
func (p *Pane) Follow(s *sample.Sample) {
	t := &p.trace
	t.now, t.traced = s.At, s.Traced != 0 && s.Traced == t.tid
	if !t.traced {
		return
	}
	t.trail.Add(s.Traced, s)
	if len(s.Steps) > 0 {
		t.moved = s.At
	}
}

// choose keeps asking for the moves of the selected thread, or of one thread of
// the selected process as long as that lives: the busiest when the pane first
// knew how busy they are.
func (p *Pane) choose(task *sample.Task) {
	t := &p.trace
	if !task.IsProcess() || task.Threads <= 1 {
		t.tid = task.TID
		return
	}
	own := func(tid kernel.TID) bool {
		return slices.ContainsFunc(p.reading.Threads, func(th Thread) bool { return th.TID == tid })
	}
	switch {
	case p.reading.PID != task.TGID || len(p.reading.Threads) == 0 || known(p.percent[p.reading.Threads[0].TID]) == 0:
		if !own(t.tid) {
			t.tid = task.TID
		}
		p.settled = false
	case !p.settled || !own(t.tid):
		t.tid, p.settled = p.reading.Threads[0].TID, true
	}
}

// chart draws the moves in their true order where they are known and the task
// moved lately, else the CPU of each tick.
func (p *Pane) chart(row field.Row, width, height int, th *theme.Theme) []string {
	t, topo := &p.trace, row.M.Topology
	if t.trail.TID != t.tid || len(t.trail.Steps) == 0 || t.now-t.moved > quiet {
		return widget.TickChart(p.history.cpus, topo, width, height, th)
	}
	b := widget.Bounce{Steps: t.trail.Steps, Lost: t.trail.Lost, Topology: topo, Quiet: t.now - t.moved}
	if t.tid != row.Task().TID {
		b.Name = fmt.Sprintf("moves of %d", t.tid)
	}
	return widget.BounceChart(b, width, height, th)
}
