package detail

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// column is one column of the thread list.
type column struct {
	title string
	width int
	left  bool // text at the left of its cells
	down  bool // sorted from large to small
	text  func(p *Pane, t *Thread, th *theme.Theme) string
	order func(p *Pane, a, b *Thread) int // nil: the list is not sorted by it
}

// columns in the order of importance: those that do not fit are left out from
// the end.
var columns = []column{
	{title: "TID", width: 7, text: func(_ *Pane, t *Thread, _ *theme.Theme) string { return fmt.Sprint(t.TID) },
		order: func(_ *Pane, a, b *Thread) int { return cmp.Compare(a.TID, b.TID) }},
	{title: "S", width: 2, text: func(_ *Pane, t *Thread, _ *theme.Theme) string { return string(rune(t.State)) }},
	{title: "CPU%", width: 6, down: true, text: func(p *Pane, t *Thread, th *theme.Theme) string { return figure(p.rates[t.TID].cpu, th) },
		order: byRate(func(r rates) float32 { return r.cpu })},
	{title: "MIG/s", width: 8, down: true, text: func(p *Pane, t *Thread, th *theme.Theme) string { return figure(p.rates[t.TID].migPerS, th) },
		order: byRate(func(r rates) float32 { return r.migPerS })},
	{title: "DELAY", width: 7, down: true, text: func(p *Pane, t *Thread, th *theme.Theme) string { return figure(p.rates[t.TID].delay, th) },
		order: byRate(func(r rates) float32 { return r.delay })},
	{title: "CPU", width: 5, text: func(_ *Pane, t *Thread, _ *theme.Theme) string { return fmt.Sprint(t.CPU) },
		order: func(_ *Pane, a, b *Thread) int { return cmp.Compare(a.CPU, b.CPU) }},
	{title: "NAME", width: 16, left: true, text: func(_ *Pane, t *Thread, th *theme.Theme) string {
		return string(field.AppendClean(nil, t.Comm, th.ASCII))
	}, order: func(_ *Pane, a, b *Thread) int { return cmp.Compare(a.Comm, b.Comm) }},
	{title: "ALLOWED", width: 11, left: true, text: func(_ *Pane, t *Thread, _ *theme.Theme) string { return t.Allowed.String() }},
	{title: "POL", width: 8, left: true, text: func(_ *Pane, t *Thread, _ *theme.Theme) string { return policyCell(t) }},
	{title: "NI", width: 3, text: func(_ *Pane, t *Thread, _ *theme.Theme) string { return fmt.Sprint(t.Nice) }},
}

// byMigrations is the index of the column that the list is sorted by at first.
const byMigrations = 3

func byRate(of func(rates) float32) func(p *Pane, a, b *Thread) int {
	return func(p *Pane, a, b *Thread) int {
		return cmp.Compare(known(of(p.rates[a.TID])), known(of(p.rates[b.TID])))
	}
}

func figure(v float32, th *theme.Theme) string {
	if !model.Known(v) {
		return th.None
	}
	return strconv.FormatFloat(float64(v), 'f', 1, 32)
}

func policyCell(t *Thread) string {
	s := t.Policy.String()
	if t.Policy == kernel.FIFO || t.Policy == kernel.RR {
		s += ":" + strconv.Itoa(t.RTPrio)
	}
	return s
}

// arrange sorts the threads, equal ones by CPU%, then by number; the cursor stays
// on its thread.
func (p *Pane) arrange() {
	by := &columns[p.sorted()]
	slices.SortFunc(p.reading.Threads, func(a, b Thread) int {
		order := by.order(p, &a, &b)
		if by.down != p.inverted {
			order = -order
		}
		return cmp.Or(order, -cmp.Compare(known(p.rates[a.TID].cpu), known(p.rates[b.TID].cpu)), cmp.Compare(a.TID, b.TID))
	})
	if i := slices.IndexFunc(p.reading.Threads, func(t Thread) bool { return t.TID == p.cursor }); i >= 0 {
		p.scroll.Cursor = i
	} else if p.focused { // its thread ended: the one in its place
		p.Move(0)
	}
}

// sorted is the index of the column that decides the order.
func (p *Pane) sorted() int {
	if p.sort == 0 { // the zero Pane
		return byMigrations
	}
	return p.sort - 1
}

// thread finds one of the threads that were read; nil for none.
func (p *Pane) thread(tid kernel.TID) *Thread {
	if i := slices.IndexFunc(p.reading.Threads, func(t Thread) bool { return t.TID == tid }); i >= 0 {
		return &p.reading.Threads[i]
	}
	return nil
}

// fitting is how many columns fit in width cells, the cursor's left of them.
func fitting(width int) (n int) {
	used := 1
	for n < len(columns) && used+columns[n].width+1 <= width+1 {
		used += columns[n].width + 1
		n++
	}
	return n
}

// drawThreads draws the heading and a line for each thread.
func (p *Pane) drawThreads(width, height int, th *theme.Theme) []string {
	if height < 2 {
		return nil
	}
	n := fitting(width)
	lines := []string{p.heading(n, width, th)}
	list, room := p.reading.Threads, height-1
	rest := p.reading.Total - len(list)
	if room > 1 && (len(list) > room || rest > 0) {
		room--
	}
	from, to := p.scroll.Window(len(list), room)
	for i := from; i < to; i++ {
		line := p.drawThread(&list[i], n, width, th)
		if p.focused && list[i].TID == p.cursor {
			line = th.Selected.Render(th.Cursor + line)
		} else {
			line = " " + line
		}
		lines = append(lines, line)
	}
	if room < height-1 {
		more := fmt.Sprintf(" %d-%d of %d threads", from+1, to, p.reading.Total)
		if rest > 0 {
			more += fmt.Sprintf("; the first %d are read, H lists all", len(list))
		}
		lines = append(lines, th.Dim.Render(widget.Fit(more, width, th.Ellipsis)))
	}
	p.drawn.from, p.drawn.rows = from, to-from
	return lines
}

func (p *Pane) heading(n, width int, th *theme.Theme) string {
	dst := []byte{' '}
	p.drawn.ends = p.drawn.ends[:0]
	used := 1
	for i := range columns[:n] {
		c := &columns[i]
		title, style := c.title, th.Header
		if i == p.sorted() {
			style = th.HeaderSort
			title += map[bool]string{true: th.SortDown, false: th.SortUp}[c.down != p.inverted]
		}
		pad := max(c.width-widget.Width(title), 0)
		if !c.left {
			dst = widget.AppendSpaces(dst, pad)
		}
		dst = append(dst, style.Render(title)...)
		if c.left {
			dst = widget.AppendSpaces(dst, pad)
		}
		dst = append(dst, ' ')
		used += c.width + 1
		p.drawn.ends = append(p.drawn.ends, used)
	}
	return widget.Fit(string(dst), width, "")
}

// drawThread draws a line without the cell of the cursor.
func (p *Pane) drawThread(t *Thread, n, width int, th *theme.Theme) string {
	var dst []byte
	for i := range columns[:n] {
		c := &columns[i]
		dst = widget.AppendFit(dst, []byte(c.text(p, t, th)), c.width, !c.left, th.Ellipsis)
		dst = append(dst, ' ')
	}
	return widget.Fit(string(dst), width-1, "")
}
