package irqview

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Widths of columns, in cells.
const (
	numberWidth  = 7
	rateWidth    = 8
	cpuWidth     = 7 // of one CPU's rate
	topWidth     = 12
	controlWidth = 8
)

// layout is the columns that fit a width.
type layout struct {
	cpus                   []cpuset.CPU // with a column each; none: the top CPU only
	mask, driver, handlers int          // widths; 0 is left out
	threads                bool
}

// columns chooses them: rates of every CPU where they fit, else of the one that
// has most.
func columns(cpus []cpuset.CPU, width int) layout {
	l := layout{mask: 9}
	switch {
	case width >= 150:
		l.mask, l.driver, l.handlers, l.threads = 14, 16, 22, true
	case width >= 110:
		l.mask, l.handlers = 12, 20
	case width < 60:
		l.mask = 0
	}
	const what = 22 // cells that the last column needs to be read
	left := width - 1 - numberWidth - 2 - rateWidth - 2*(l.mask+2) - controlWidth - 2 - l.driver - l.handlers - what
	switch need := len(cpus)*cpuWidth + 2; {
	case need <= left:
		l.cpus = cpus
	case l.handlers > 0 && l.driver == 0 && need <= left+l.handlers: // the last column and the foot have them
		l.cpus, l.handlers = cpus, 0
	}
	return l
}

// column adds a column and a blank, where the width has room for it.
func column(r *rows.Row, th *theme.Theme, style theme.Style, text string, width int) {
	if width > 0 {
		r.Left(th, style, text, width)
		r.Add(th.Text, " ")
	}
}

func (v *View) heading(l layout, th *theme.Theme) rows.Row {
	var r rows.Row
	style := func(o order) theme.Style {
		if v.sort == o {
			return th.HeaderSort
		}
		return th.Header
	}
	r.Right(th, style(byNumber), "IRQ", numberWidth)
	r.Add(th.Text, " ")
	r.Right(th, style(byRate), "RATE/s", rateWidth)
	if l.cpus == nil {
		r.Add(th.Text, "  ")
		r.Left(th, style(byTop), "MOST ON", topWidth)
	}
	for _, c := range l.cpus {
		r.Right(th, style(byTop), fmt.Sprintf("cpu%d", c), cpuWidth)
	}
	r.Add(th.Text, "  ")
	column(&r, th, th.Header, "ASKED", l.mask)
	column(&r, th, th.Header, "GOES TO", l.mask)
	column(&r, th, th.Header, "CONTROL", controlWidth)
	column(&r, th, th.Header, "DRIVER", l.driver)
	column(&r, th, th.Header, "HANDLERS", l.handlers)
	r.Add(style(byDevice), "DEVICE AND QUEUE")
	if l.threads {
		r.Add(th.Header, ", HANDLED BY")
	}
	return r
}

func (v *View) line(e *entry, l layout, th *theme.Theme) rows.Row {
	var r rows.Row
	rate := e.rate()
	style := th.Text
	if rate.OK && rate.PerS == 0 {
		style = th.Dim
	}
	if e.row != nil && v.tags[e.row.Number] {
		style = th.Tagged
		r.Add(style, th.Tag)
	} else {
		r.Add(th.Text, " ")
	}
	r.Right(th, style, e.name(), numberWidth-1)
	r.Add(th.Text, " ")
	r.Right(th, style, total(rate, th), rateWidth)
	if l.cpus == nil {
		r.Add(th.Text, "  ")
		r.Left(th, style, most(rate, th), topWidth)
	}
	for i := range l.cpus {
		v.cpuCell(&r, rate, i, th)
	}
	r.Add(th.Text, "  ")
	v.setting(&r, e, l, style, th)
	if e.row == nil {
		r.Add(style, e.what())
		return r
	}
	column(&r, th, style, e.row.Device.Driver, l.driver)
	column(&r, th, style, e.row.Handlers(), l.handlers)
	what := e.what()
	if l.handlers > 0 {
		what = place(e.row)
	}
	r.Add(style, what)
	if l.threads && len(e.row.Threads) > 0 {
		r.Add(th.Accent, "  "+threads(e.row))
	}
	return r
}

// cpuCell adds the rate on one CPU; the largest of several stands out.
func (v *View) cpuCell(r *rows.Row, rate irq.Rate, i int, th *theme.Theme) {
	switch {
	case !rate.OK || i >= len(rate.ByCPU):
		r.Right(th, th.Dim, th.None, cpuWidth)
	case rate.ByCPU[i] == 0:
		r.Right(th, th.Dim, "0", cpuWidth)
	case v.table.CPUs[i] == rate.Top:
		r.Right(th, th.Strong, perSecond(rate.ByCPU[i]), cpuWidth)
	default:
		r.Right(th, th.Text, perSecond(rate.ByCPU[i]), cpuWidth)
	}
}

// setting adds where the line is asked to go, where it goes, and what controls that.
func (v *View) setting(r *rows.Row, e *entry, l layout, style theme.Style, th *theme.Theme) {
	asked, goes, control := th.None, th.None, ""
	goesStyle, controlStyle := style, style
	if e.soft {
		control = "softirq"
	}
	if e.row != nil {
		asked, goes = mask(e.row.Requested, th), mask(e.row.Effective, th)
		if lags(e.row) {
			goes, goesStyle = "!"+goes, th.Warn
		}
		if e.row.Control != irq.Settable {
			control, controlStyle = e.row.Control.String(), th.Accent
		}
	}
	column(r, th, style, asked, l.mask)
	column(r, th, goesStyle, goes, l.mask)
	column(r, th, controlStyle, control, controlWidth)
}
