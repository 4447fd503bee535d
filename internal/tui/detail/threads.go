package detail

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// usage is the threads' CPU time at the last reading, for their rates.
type usage struct {
	at    time.Duration
	ticks map[kernel.TID]uint64
}

// rate computes each thread's CPU% since the last reading, and orders the
// threads by it.
func (p *Pane) rate(r Reading, at time.Duration, hz int) {
	elapsed := (at - p.used.at).Seconds()
	p.percent = make(map[kernel.TID]float32, len(r.Threads))
	now := usage{at: at, ticks: make(map[kernel.TID]uint64, len(r.Threads))}
	for _, t := range r.Threads {
		now.ticks[t.TID] = t.Ticks
		before, ok := p.used.ticks[t.TID]
		p.percent[t.TID] = model.Unknown
		if ok && t.Ticks >= before && elapsed > 0 && hz > 0 {
			p.percent[t.TID] = float32(float64(t.Ticks-before) / float64(hz) / elapsed * 100)
		}
	}
	p.used = now
	slices.SortStableFunc(r.Threads, func(a, b Thread) int {
		return cmp.Or(-cmp.Compare(known(p.percent[a.TID]), known(p.percent[b.TID])), cmp.Compare(a.TID, b.TID))
	})
}

// threads draws a line for each thread, the busiest first.
func (p *Pane) threads(width, height int, th *theme.Theme) []string {
	if height < 2 {
		return nil
	}
	title := fmt.Sprintf("%7s S  CPU%%  CPU %-11s %-8s  NI  NAME", "TID", "ALLOWED", "POL")
	lines := []string{th.Header.Render(widget.Fit(title, width, th.Ellipsis))}
	for i, t := range p.reading.Threads {
		if len(lines) == height-1 && len(p.reading.Threads)-i > 1 {
			more := fmt.Sprintf("%s %d more threads; H lists them all", th.Ellipsis, p.reading.Total-i)
			return append(lines, th.Dim.Render(widget.Fit(more, width, th.Ellipsis)))
		}
		lines = append(lines, p.thread(t, width, th))
	}
	return lines
}

func (p *Pane) thread(t Thread, width int, th *theme.Theme) string {
	used := th.None
	if v := p.percent[t.TID]; model.Known(v) {
		used = strconv.FormatFloat(float64(v), 'f', 1, 32)
	}
	policy := t.Policy.String()
	if t.Policy == kernel.FIFO || t.Policy == kernel.RR {
		policy += ":" + strconv.Itoa(t.RTPrio)
	}
	line := fmt.Sprintf("%7d %c %5s %4d ", t.TID, t.State, widget.FitRight(used, 5, ""), t.CPU) +
		widget.Fit(t.Allowed.String(), 11, th.Ellipsis) + fmt.Sprintf(" %-8s %3d  ", policy, t.Nice) +
		string(field.AppendClean(nil, t.Comm, th.ASCII))
	return widget.Fit(line, width, th.Ellipsis)
}
