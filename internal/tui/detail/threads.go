package detail

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// threadColumns are those of the thread list, the most important first.
var threadColumns = []string{"tid", "state", "cpu_percent", "migrations_per_s", "run_delay_percent", "cpu", "affinity", "policy", "nice",
	"command"}

// threadView is the thread list: by migrations at first, then by CPU time.
func threadView() proctable.View {
	v := proctable.View{Desc: true, Threads: true, Kernel: true, Keep: threadColumns}
	v.Sort, _ = field.Lookup("migrations_per_s")
	v.Then, _ = field.Lookup("cpu_percent")
	for _, id := range threadColumns {
		c, _ := field.Lookup(id)
		v.Columns = append(v.Columns, c)
	}
	return v
}

// newThreads is a list that is only looked at until it has the keys.
func newThreads(v proctable.View) *proctable.Table {
	t := proctable.New(v)
	t.Bare = true
	return t
}

// soonest is the least time between two readings that rates are computed from:
// CPU time may be counted in ticks of 10 ms.
const soonest = 300 * time.Millisecond

// load gives the list the threads that were read, with their rates since the reading
// before. One that comes too soon after it, as when the cursor moves, changes nothing.
func (p *Pane) load(r Reading, row field.Row) {
	before := p.Model()
	if before != nil && r.At.Sub(p.reading.At) < soonest {
		return
	}
	s := &sample.Sample{Seq: row.M.Sample.Seq, At: 1, Wall: r.At, Host: row.M.Sample.Host, Tasks: r.Threads}
	if before != nil {
		s.At = before.Sample.At + r.At.Sub(p.reading.At)
	}
	p.reading = r
	p.Table.Load(model.Next(before, s, row.M.Topology))
}

// thread is one of the threads that were read; false for another.
func (p *Pane) thread(tid kernel.TID) (field.Row, bool) {
	i, ok := slices.BinarySearchFunc(p.reading.Threads, tid, func(t *sample.Task, tid kernel.TID) int { return cmp.Compare(t.TID, tid) })
	return field.Row{M: p.Model(), I: i}, ok
}

// most is the thread with most of a figure, the first one of several; false where there
// are no rates.
func (p *Pane) most(of func(*model.Task) float32) (most field.Row, ok bool) {
	for i := range p.reading.Threads {
		if r := (field.Row{M: p.Model(), I: i}); !ok || known(of(r.Rates())) > known(of(most.Rates())) {
			most, ok = r, true
		}
	}
	return most, ok
}

// known is a figure that is there, else 0, for ordering.
func known(v float32) float32 {
	if !model.Known(v) {
		return 0
	}
	return v
}

// drawThreads draws the heading and a line for each thread; how many there are where
// not all are shown.
func (p *Pane) drawThreads(width, height int, th *theme.Theme) []string {
	if height < 2 {
		return nil
	}
	room, rest := height-1, p.reading.Total-p.Len()
	if room > 1 && p.Len() > 0 && (p.Len() > room || rest > 0) {
		room--
	}
	lines := p.Table.Render(width, 1+min(room, p.Len()), th)
	p.drawn.width = width
	if room < height-1 {
		from := slices.Index(p.Rows(), p.Window()[0])
		more := fmt.Sprintf(" %d-%d of %d threads", from+1, from+len(p.Window()), p.reading.Total)
		if rest > 0 {
			more += fmt.Sprintf("; the first %d are read, H lists all", p.Len())
		}
		lines = append(lines, th.Dim.Render(widget.Fit(more, width, th.Ellipsis)))
	}
	return lines
}
