package irqview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"piton/internal/irq"
)

// entry is one line of the list: an interrupt with a number, or a named line,
// or a softirq.
type entry struct {
	row   *irq.Row
	named *irq.NamedRow
	soft  bool
}

func (e *entry) name() string {
	if e.row != nil {
		return strconv.Itoa(e.row.Number)
	}
	return e.named.Name
}

func (e *entry) rate() irq.Rate {
	if e.row != nil {
		return e.row.Rate
	}
	return e.named.Rate
}

// what is its device and queue, or its handlers, or what a named line means.
func (e *entry) what() string {
	if e.row == nil {
		if meaning, _, ok := irq.Meaning(e.named.Name); ok {
			return meaning
		}
		return e.named.Text
	}
	if e.row.Queue.Flow == irq.NoQueue {
		return e.row.Handlers()
	}
	return strings.TrimSpace(e.row.Device.Name() + " " + e.row.Queue.String())
}

// order is what the list is sorted by.
type order uint8

const (
	byRate order = iota
	byNumber
	byTop
	byDevice
	orders
)

func (o order) step(forward bool) order {
	if forward {
		return (o + 1) % orders
	}
	return (o + orders - 1) % orders
}

func (o order) String() string {
	return [...]string{byRate: "rate", byNumber: "number", byTop: "top CPU", byDevice: "device"}[o]
}

// relist makes the list anew; the cursor stays on its entry.
func (v *View) relist() {
	v.entries = v.entries[:0]
	for i := range v.table.Rows {
		if r := &v.table.Rows[i]; r.Match(v.filter) && v.reaches(r) {
			v.entries = append(v.entries, entry{row: r})
		}
	}
	if v.named && v.cpus.Empty() {
		v.addNamed(v.table.Named, false)
		v.addNamed(v.table.SoftIRQs, true)
	}
	slices.SortStableFunc(v.entries, v.compare)
	if v.at != "" {
		if i := slices.IndexFunc(v.entries, func(e entry) bool { return e.name() == v.at }); i >= 0 {
			v.list.Cursor = i
		}
	}
	v.list.Clamp(len(v.entries))
}

// reaches reports whether a line concerns the CPUs that are looked at.
func (v *View) reaches(r *irq.Row) bool {
	if v.cpus.Empty() {
		return true
	}
	mask := r.Effective
	if v.asked || !mask.OK {
		mask = r.Requested
	}
	return mask.OK && !mask.And(v.cpus).Empty()
}

// where is the CPUs that are looked at, in words.
func (v *View) where() string {
	if v.cpus.Len() == 1 {
		return "cpu " + v.cpus.String()
	}
	return "cpus " + v.cpus.String()
}

func (v *View) addNamed(list []irq.NamedRow, soft bool) {
	for i := range list {
		if n := &list[i]; n.Match(v.filter) && n.Happened() {
			v.entries = append(v.entries, entry{named: n, soft: soft})
		}
	}
}

// compare orders two entries. Equal ones stay in the order of their numbers,
// and those without a value come last.
func (v *View) compare(a, b entry) int {
	n := 0
	switch v.sort {
	case byRate:
		x, y := a.rate(), b.rate()
		n = cmp.Or(cmp.Compare(presence(x.OK), presence(y.OK)), cmp.Compare(y.PerS, x.PerS))
	case byNumber:
		n = cmp.Compare(presence(a.row != nil), presence(b.row != nil))
		if a.row != nil && b.row != nil {
			n = cmp.Compare(a.row.Number, b.row.Number)
		}
	case byTop:
		x, y := a.rate(), b.rate()
		n = cmp.Or(cmp.Compare(presence(x.Top >= 0), presence(y.Top >= 0)), cmp.Compare(x.Top, y.Top), cmp.Compare(y.TopPerS, x.TopPerS))
	case byDevice:
		x, y := a.device(), b.device()
		n = cmp.Or(cmp.Compare(presence(x != ""), presence(y != "")), cmp.Compare(x, y))
	}
	if v.reverse {
		return -n
	}
	return n
}

func (e *entry) device() string {
	if e.row == nil {
		return ""
	}
	return e.row.Device.Name()
}

// presence is 0 for what is there, and so before what is not.
func presence(there bool) int {
	if there {
		return 0
	}
	return 1
}
