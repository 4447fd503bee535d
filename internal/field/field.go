// Package field is the table of columns that the screen, the text table, JSON
// and CSV share: one row here states a figure's name, unit, width, order and
// what has to be read to fill it.
//
// It is pure. Start at Columns.
package field

import (
	"piton/internal/model"
	"piton/internal/sample"
)

// Row is one task of a model.
type Row struct {
	M *model.Model
	I int // index in M.Tasks and M.Sample.Tasks
}

// Task returns the counters behind the row.
func (r Row) Task() *sample.Task { return &r.M.Sample.Tasks[r.I] }

// Rates returns the figures computed for the row.
func (r Row) Rates() *model.Task { return &r.M.Tasks[r.I] }

// None is what a cell shows when there is no value.
const None = "–"

// Column is one figure of a task.
type Column struct {
	ID    string // JSON, CSV and filter name: "pid", "cpu_percent"
	Title string // heading, with the unit where it is not plain: "CPU%", "MIG/s"
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
	// Compare orders two rows by this figure, smaller first; rows without a
	// value come last whatever the direction.
	Compare func(a, b Row) int
	// Why says in words why the row has no value; "" when it has one.
	Why func(r Row) string
}
