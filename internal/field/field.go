// Package field has the columns that the screen, the text tables, JSON, its schema and CSV
// share: one row here states a figure's name, unit, width, order and what has to be read
// to fill it.
//
// It is pure. Start at Column, and at Columns, which are those of tasks; Sort and Filter work
// on tasks, Pad and Clean make any text safe to print.
package field

import (
	"math"

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

var nan = math.NaN()

// appendNone adds the mark for a missing value.
func appendNone(dst []byte, r Row) []byte {
	if r.ASCII {
		return append(dst, NoneASCII...)
	}
	return append(dst, None...)
}
