package irqview

import (
	"slices"
	"strings"

	"piton/internal/field"
	"piton/internal/irq"
)

// entry is a row: a line, or something that has a name instead of a number.
type entry = field.Interrupt

// besidesCPUs are the cells that the columns beside those by CPU take at least.
const besidesCPUs = 76

// fitCPUs gives each CPU a column of its own, if there is room for all.
func (v *View) fitCPUs(width int) {
	each := v.table.CPUs
	if len(each) > 0 && len(each)*(field.OnCPU(0, each[0]).Width+1) > width-besidesCPUs {
		each = nil
	}
	if slices.Equal(each, v.each) {
		return
	}
	v.each = each
	columns := v.columns()
	v.SetColumns(columns)
	if id, _ := v.Sorted(); !slices.ContainsFunc(columns, func(c field.Column[entry]) bool { return c.ID == id }) {
		v.SortBy("per_s")
	}
}

// columns are those of the list; what did not happen is dim.
func (v *View) columns() []field.Column[entry] {
	all := field.InterruptColumns
	out := field.Pick(all, "irq", "per_s", "top_cpu")
	if v.each != nil {
		out = out[:2]
	}
	for i, c := range v.each {
		out = append(out, field.OnCPU(i, c).Toned(func(e entry) field.Tone {
			if c == e.Rate.Top {
				return field.Strong
			}
			return field.Normal
		}))
	}
	device := field.Pick(all, "device")[0]
	device.Title, device.Tight, device.Rank, device.Text = "DEVICE AND QUEUE", 22, 6, v.device
	out = append(append(out, field.Pick(all, "affinity", "effective", "control", "driver", "name")...), device)
	for i := range out {
		if out[i].Tone == nil {
			out[i].Tone = quiet
		}
	}
	return out
}

// quiet is dim for what did not happen in the last interval.
func quiet(e entry) field.Tone {
	if e.Rate.OK && e.Rate.PerS == 0 {
		return field.Dim
	}
	return field.Normal
}

// device is what interrupts: the handlers too where they have no column of their own, else
// the tasks that handle it.
func (v *View) device(e entry) string {
	what := strings.TrimSpace(e.Device.Name() + " " + e.Queue.String())
	switch {
	case !v.Shows("name") && what == "":
		return e.From()
	case v.Shows("name") && len(e.Threads) > 0:
		return strings.TrimSpace(what + " by " + irq.Tasks(e.Threads))
	}
	return what
}
