package detail

import (
	"fmt"
	"time"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// trace is the true sequence of the moves of one thread.
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

// Needs asks for the moves of one thread one by one, for the process's wakeups, and for its
// flows where they are shown.
func (p *Pane) Needs(n *sample.Needs) {
	if n.Trace, n.Wakes = p.trace.tid, p.reading.PID; p.WantsFacts() {
		n.Flows = p.reading.PID
	}
}

// Trace is the thread whose moves are to be read one by one.
func (p *Pane) Trace() kernel.TID { return p.trace.tid }

// Follow takes in the moves, the wakeups and the flows of the newest sample.
func (p *Pane) Follow(s *sample.Sample) {
	t := &p.trace
	p.wakeups.note(s, p.reading.PID)
	if p.noFlows = s.WhyNot("flows"); s.Flows.Of == p.reading.PID {
		p.flows = s.Flows
	}
	t.now, t.traced = s.At, s.Traced != 0 && s.Traced == t.tid
	if !t.traced {
		return
	}
	t.trail.Add(s.Traced, s)
	if len(s.Steps) > 0 {
		t.moved = s.At
	}
}

// choose follows the thread under the cursor of the thread list, else the
// selected thread, else the thread of the selected process that moves most. It
// keeps to one until another moves twice as often, so that a trail can grow.
func (p *Pane) choose(task *sample.Task) {
	t := &p.trace
	switch {
	case !p.Bare:
		t.tid = p.At().TID
	case !task.IsProcess() || len(p.reading.Threads) <= 1:
		t.tid = task.TID
	default:
		most, _ := p.most(func(t *model.Task) float32 { return t.MigPerS })
		if now, ok := p.thread(t.tid); !ok || known(most.Rates().MigPerS) > 2*known(now.Rates().MigPerS) {
			t.tid = most.Task().TID
		}
	}
}

// chart draws the moves in their true order where they are known and the task
// moved lately, else the CPU of each tick.
func (p *Pane) chart(row field.Row, width, height int, th *theme.Theme) []string {
	t, topo := &p.trace, row.M.Topology
	if t.trail.TID != t.tid || len(t.trail.Steps) == 0 || t.now-t.moved > quiet {
		lines := widget.TickChart(p.history.cpus, topo, width, height, th)
		if of := fmt.Sprintf("%d, ", t.tid); t.tid != row.Task().TID && len(lines) > 0 {
			lines[0] = th.Dim.Render(of) + widget.Fit(lines[0], width-len(of), "")
		}
		return lines
	}
	b := widget.Bounce{Steps: t.trail.Steps, Lost: t.trail.Lost, Topology: topo, Quiet: t.now - t.moved}
	if t.tid != row.Task().TID {
		b.Name = fmt.Sprintf("moves of %d", t.tid)
	}
	return widget.BounceChart(b, width, height, th)
}
