package detail

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/tui/list"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// newThreads is the thread list. Where there is no room for all columns, the last go
// first.
func (p *Pane) newThreads() *list.List[kernel.TID, Thread] {
	columns := []list.Column[Thread]{
		text("TID", 7, func(t *Thread) string { return fmt.Sprint(t.TID) }, func(a, b Thread) int { return cmp.Compare(a.TID, b.TID) }),
		text("S", 2, func(t *Thread) string { return string(rune(t.State)) }, nil),
		p.figure("CPU%", 6, func(r rates) float32 { return r.cpu }),
		p.figure(byMigrations, 8, func(r rates) float32 { return r.migPerS }),
		p.figure("DELAY", 7, func(r rates) float32 { return r.delay }),
		text("CPU", 5, func(t *Thread) string { return fmt.Sprint(t.CPU) }, func(a, b Thread) int { return cmp.Compare(a.CPU, b.CPU) }),
		text("NAME", 16, func(t *Thread) string { return t.Comm }, func(a, b Thread) int { return cmp.Compare(a.Comm, b.Comm) }),
		text("ALLOWED", 11, func(t *Thread) string { return t.Allowed.String() }, nil),
		text("POL", 8, policyCell, nil),
		text("NI", 3, func(t *Thread) string { return fmt.Sprint(t.Nice) }, nil),
	}
	for i := range columns {
		c := &columns[i]
		c.ID, c.Rank = c.Title, i+1
		c.Right = c.Title != "NAME" && c.Title != "ALLOWED" && c.Title != "POL"
	}
	l := list.New(func(t Thread) kernel.TID { return t.TID }, byMigrations, columns...)
	l.Bare = true
	return l
}

// byMigrations is the column that the list is sorted by at first.
const byMigrations = "MIG/s"

func text(title string, width int, of func(*Thread) string, compare func(a, b Thread) int) list.Column[Thread] {
	return list.Column[Thread]{Title: title, Width: width, Compare: compare,
		Cell: func(t Thread, th *theme.Theme, _ int) (string, theme.Style) { return of(&t), th.Text }}
}

// figure is a column of rates, the largest first.
func (p *Pane) figure(title string, width int, of func(rates) float32) list.Column[Thread] {
	rate := func(t Thread) float32 { return of(p.rates[t.TID]) }
	return list.Column[Thread]{Title: title, Width: width, Desc: true,
		Has:     func(t Thread) bool { return model.Known(rate(t)) },
		Compare: func(a, b Thread) int { return cmp.Compare(rate(a), rate(b)) },
		Cell: func(t Thread, th *theme.Theme, _ int) (string, theme.Style) {
			if v := rate(t); model.Known(v) {
				return strconv.FormatFloat(float64(v), 'f', 1, 32), th.Text
			}
			return th.None, th.Text
		}}
}

func policyCell(t *Thread) string {
	s := t.Policy.String()
	if t.Policy == kernel.FIFO || t.Policy == kernel.RR {
		s += ":" + strconv.Itoa(t.RTPrio)
	}
	return s
}

// load gives the list the threads that were read: those that its column finds alike
// are in the order of CPU%, then of number.
func (p *Pane) load() {
	slices.SortFunc(p.reading.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(known(p.rates[b.TID].cpu), known(p.rates[a.TID].cpu)), cmp.Compare(a.TID, b.TID))
	})
	p.Load(p.reading.Threads, true)
}

// thread finds one of the threads that were read; nil for none.
func (p *Pane) thread(tid kernel.TID) *Thread {
	if i := slices.IndexFunc(p.reading.Threads, func(t Thread) bool { return t.TID == tid }); i >= 0 {
		return &p.reading.Threads[i]
	}
	return nil
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
	lines := p.List.Render(width, 1+min(room, p.Len()), th)
	p.drawn.width = width
	if room < height-1 {
		from := p.Index(p.Window()[0].TID)
		more := fmt.Sprintf(" %d-%d of %d threads", from+1, from+len(p.Window()), p.reading.Total)
		if rest > 0 {
			more += fmt.Sprintf("; the first %d are read, H lists all", p.Len())
		}
		lines = append(lines, th.Dim.Render(widget.Fit(more, width, th.Ellipsis)))
	}
	return lines
}
