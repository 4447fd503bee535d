// Package field is the table of columns that the screen, the text table, JSON
// and CSV share: one row here states a figure's name, unit, width, order and
// what has to be read to fill it.
//
// It is pure. Start at Columns; Sort and Filter work on its rows, Pad and Clean
// make any text safe to print.
package field

import (
	"math"
	"slices"

	"piton/internal/model"
	"piton/internal/sample"
)

// Row is one task of a model.
type Row struct {
	M *model.Model
	I int // index in M.Tasks and M.Sample.Tasks
	// ASCII asks for cells without a byte above 0x7e.
	ASCII bool
}

// Task returns the counters behind the row.
func (r Row) Task() *sample.Task { return r.M.Sample.Tasks[r.I] }

// Sum reports whether the row stands for several tasks and is none itself: see
// model.Sum.
func (r Row) Sum() bool { return r.Task().TID < 0 }

// Rates returns the figures computed for the row.
func (r Row) Rates() *model.Task { return &r.M.Tasks[r.I] }

// None is what a cell shows when there is no value; NoneASCII stands in for it
// where only ASCII can be shown.
const (
	None      = "–"
	NoneASCII = "-"
)

// Column is one figure of a task.
type Column struct {
	ID    string // JSON, CSV and filter name: "pid", "cpu_percent"
	Title string // heading, with the unit where it is not plain: "CPU%", "MIG/s"
	Short string // heading where Title and a sort mark have no room, "" for most
	Width int    // cells; 0 = takes what is left (COMMAND)
	Right bool   // numbers are right-aligned
	Desc  bool   // sorts largest first
	Help  string // one line
	// Needs adds what a sample must hold for the column; nil for the basics.
	Needs func(*sample.Needs)
	// Append adds the cell's text, unpadded and safe to print, or None.
	Append func(dst []byte, r Row) []byte
	// Value is the figure for JSON and CSV: string, bool, int64, uint64 or
	// float64; nil when there is none.
	Value func(r Row) any
	Type  Type // of Value, where there is one
	// Missing says in words why a row can be without the value; "" when the
	// column always has one.
	Missing func(r Row) string
	// Usual reports whether the row has the value that nearly all tasks have, or none: a
	// table need not show the column for it. nil: there is no such value.
	Usual func(r Row) bool

	// all adds what judging every row by the column needs, where that is less than
	// reading every task as if it were on the screen.
	all  func(*sample.Needs)
	unit unit
	rate bool                // shown by appendFixed, whose steps are what order goes by
	span bool                // about the time between two samples
	num  func(r Row) float64 // for order and filter, NaN = no value; nil for text
	text func(r Row) string  // for order and filter; nil for numbers
}

// NeedsOfAll adds what a sample must hold so that all rows can be ordered or chosen
// by the column.
func (c *Column) NeedsOfAll(n *sample.Needs) {
	switch {
	case c.all != nil:
		c.all(n)
	case c.Needs != nil:
		c.Needs(n)
		n.All = true
	}
}

// Why says in words why the row has no value; "" when it has one.
func (c Column) Why(r Row) string {
	if c.Missing == nil || c.Value(r) != nil {
		return ""
	}
	return c.Missing(r)
}

// numbers are columns whose figures name or rank something, so that 0 is like any other.
var numbers = []string{"pid", "tid", "ppid", "start_ticks", "start", "priority", "cpu", "node"}

// Zero reports whether the row's figure is an amount, and shown as none.
func (c *Column) Zero(r Row) bool {
	if c.num == nil || slices.Contains(numbers, c.ID) {
		return false
	}
	v := c.num(r)
	switch {
	case c.rate:
		v = shownFixed(v)
	case c.unit == sizes:
		v = math.Trunc(v)
	}
	return v == 0
}

// unit is how a filter reads a number for the column.
type unit uint8

const (
	plain   unit = iota
	percent      // an optional % after it
	sizes        // K, M, G, T after it count in 1024s
	seconds      // or 90s, 5m, 2h, 1d
)

var nan = math.NaN()

// appendNone adds the mark for a missing value.
func appendNone(dst []byte, r Row) []byte {
	if r.ASCII {
		return append(dst, NoneASCII...)
	}
	return append(dst, None...)
}
