package irqview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/irq"
	"piton/internal/tui/list"
	"piton/internal/tui/theme"
)

// entry is one row of the list: an interrupt with a number, or a named line, or a
// softirq. A row that is named has nothing but its rate.
type entry struct {
	name  string
	row   *irq.Row // a reading does not change those before it
	named *irq.NamedRow
	soft  bool
}

// what is its device and queue, or its handlers, or what a named line means.
func (e entry) what() string {
	switch {
	case e.named != nil:
		return e.named.What()
	case e.row.Queue.Flow == irq.NoQueue:
		return e.row.Handlers()
	}
	return deviceQueue(e.row)
}

// column shows a cell of each entry.
type (
	column = list.Column[entry]
	cell   = func(e entry, th *theme.Theme, width int) (string, theme.Style)
)

// inRowStyle is a cell in the style of the row: one that does not come is dim.
func inRowStyle(f func(entry, *theme.Theme) string) cell {
	return func(e entry, th *theme.Theme, _ int) (string, theme.Style) {
		if e.row.Rate.OK && e.row.Rate.PerS == 0 {
			return f(e, th), th.Dim
		}
		return f(e, th), th.Text
	}
}

// cpuWidth is of a column with the rate on one CPU, besidesCPUs of what is to stand
// beside such columns.
const (
	cpuWidth    = 6
	besidesCPUs = 76
)

// fitCPUs gives every CPU a column where there is room for all of them.
func (v *View) fitCPUs(width int) {
	each := v.table.CPUs
	if len(each)*(cpuWidth+1) > width-besidesCPUs {
		each = nil
	}
	if slices.Equal(each, v.each) {
		return
	}
	v.each = each
	columns := v.columns()
	v.SetColumns(columns)
	if id, _ := v.Sorted(); !slices.ContainsFunc(columns, func(c column) bool { return c.ID == id }) {
		v.SortBy("rate")
	}
}

func (v *View) columns() []column {
	out := []column{
		{ID: "number", Title: "IRQ", Width: 8, Tight: 6, Right: true, Names: true, Cell: inRowStyle(func(e entry, _ *theme.Theme) string { return e.name }),
			Has: func(e entry) bool { return e.named == nil }, Compare: func(a, b entry) int { return cmp.Compare(a.row.Number, b.row.Number) }},
		{ID: "rate", Title: "RATE/s", Width: 8, Right: true, Desc: true, Rank: 1, Has: func(e entry) bool { return e.row.Rate.OK },
			Cell:    inRowStyle(func(e entry, th *theme.Theme) string { return total(e.row.Rate, th) }),
			Compare: func(a, b entry) int { return cmp.Compare(a.row.Rate.PerS, b.row.Rate.PerS) }},
	}
	if v.each == nil {
		out = append(out, column{ID: "top", Title: "MOST ON", Width: 12, Tight: 11, Rank: 2,
			Cell: inRowStyle(func(e entry, th *theme.Theme) string { return most(e.row.Rate, th) }),
			Has:  func(e entry) bool { return e.row.Rate.Top >= 0 }, Compare: func(a, b entry) int {
				x, y := a.row.Rate, b.row.Rate
				return cmp.Or(cmp.Compare(x.Top, y.Top), cmp.Compare(y.TopPerS, x.TopPerS))
			}})
	}
	for i, c := range v.each {
		out = append(out, column{ID: fmt.Sprintf("cpu%d", c), Title: fmt.Sprintf("cpu%d", c), Width: cpuWidth, Right: true, Desc: true, Rank: 2,
			Cell:    func(e entry, th *theme.Theme, _ int) (string, theme.Style) { return v.onCPU(e.row.Rate, i, th) },
			Has:     func(e entry) bool { return e.row.Rate.OK && i < len(e.row.Rate.ByCPU) },
			Compare: func(a, b entry) int { return cmp.Compare(a.row.Rate.ByCPU[i], b.row.Rate.ByCPU[i]) }})
	}
	return append(out,
		column{ID: "asked", Title: "ASKED", Width: 14, Tight: 9, Rank: 4,
			Cell: inRowStyle(func(e entry, th *theme.Theme) string { return mask(e.row.Requested, th) })},
		column{ID: "goes", Title: "GOES TO", Width: 14, Tight: 9, Rank: 3, Cell: goes},
		column{ID: "control", Title: "CONTROL", Width: 8, Rank: 5, Cell: control},
		column{ID: "driver", Title: "DRIVER", Width: 16, Tight: 12, Rank: 8,
			Cell: inRowStyle(func(e entry, _ *theme.Theme) string { return e.row.Device.Driver })},
		column{ID: "handlers", Title: "HANDLERS", Width: 22, Tight: 20, Rank: 7,
			Cell: inRowStyle(func(e entry, _ *theme.Theme) string { return e.row.Handlers() })},
		column{ID: "device", Title: "DEVICE AND QUEUE", Tight: 22, Rank: 6, Cell: v.device,
			Has:     func(e entry) bool { return e.row.Device.Name() != "" },
			Compare: func(a, b entry) int { return cmp.Compare(a.row.Device.Name(), b.row.Device.Name()) }})
}

// onCPU is the rate on one CPU; the largest of several stands out.
func (v *View) onCPU(r irq.Rate, i int, th *theme.Theme) (string, theme.Style) {
	switch {
	case !r.OK || i >= len(r.ByCPU):
		return th.None, th.Dim
	case r.ByCPU[i] == 0:
		return "0", th.Dim
	case v.table.CPUs[i] == r.Top:
		return perSecond(r.ByCPU[i]), th.Strong
	}
	return perSecond(r.ByCPU[i]), th.Text
}

func goes(e entry, th *theme.Theme, _ int) (string, theme.Style) {
	switch {
	case e.named != nil:
		return th.None, th.Dim
	case lags(e.row):
		return "!" + mask(e.row.Effective, th), th.Warn
	}
	return mask(e.row.Effective, th), th.Text
}

func control(e entry, th *theme.Theme, _ int) (string, theme.Style) {
	switch {
	case e.soft:
		return "softirq", th.Text
	case e.named != nil || e.row.Control == irq.Settable:
		return "", th.Text
	}
	return e.row.Control.String(), th.Accent
}

// device is the last column: the device and queue, and the tasks that handle the line
// where there is room for handlers.
func (v *View) device(e entry, th *theme.Theme, width int) (string, theme.Style) {
	what, style := inRowStyle(func(e entry, _ *theme.Theme) string { return e.what() })(e, th, width)
	if e.named != nil || !v.Shows("handlers") {
		return what, style
	}
	if what = deviceQueue(e.row); len(e.row.Threads) > 0 {
		what = strings.TrimSpace(what + " by " + irq.Tasks(e.row.Threads))
	}
	return what, style
}
