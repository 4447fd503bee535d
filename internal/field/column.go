package field

import (
	"cmp"
	"math"
	"slices"

	"piton/internal/group"
	"piton/internal/sample"
)

// Column is one figure of the rows of a list: the one description of it.
type Column[R any] struct {
	ID    string // JSON, CSV and filter name: "pid", "cpu_percent"
	Title string // heading, with the unit where it is not plain: "CPU%", "MIG/s"; "": tables lack the column
	Short string // heading where Title and a sort mark have no room, "" for most
	Help  string // one line
	Type  Type   // of Value, where there is one; 0: JSON and CSV lack the column
	// Value is the figure for JSON and CSV, and what rows are ordered by: string, bool, int, int64,
	// uint64, float64, []any or []Member; nil when there is none.
	Value func(r R) any
	Text  func(r R) string // as people read it, "" for none; nil: the value
	Tone  func(r R) Tone   // of the text; nil: Normal
	// Look is the text with its tone where these depend on each other, or on the cells that there are.
	Look func(r R, width int) (string, Tone)
	CSV  func(r R) string // nil: the value
	// Append adds the cell's text, unpadded and safe to print, or None: for tasks, in place of Text.
	Append func(dst []byte, r R) []byte

	Width int // cells that it likes; 0: it takes what is left (at most one column, the last)
	Tight int // cells that it can do with, 0 for Width; of the one that takes what is left, the least that it keeps
	// Least is what the column that takes what is left keeps, also of more than half of the
	// width, which is the most that it keeps by its Tight.
	Least int
	// Rank orders the columns where there is no room for all: those of a low rank stay.
	Rank  int
	Right bool // figures are right-aligned
	Names bool // figures that name or rank something: 0 is like any other
	Desc  bool // sorts largest first

	// Needs adds what a sample must hold for the column; nil for the basics.
	Needs func(*sample.Needs)
	// Missing says in words why a row can be without the value; "" when the
	// column always has one.
	Missing func(r R) string
	// Usual reports whether the row has the value that nearly all tasks have, or none: a
	// table need not show the column for it. nil: there is no such value.
	Usual func(r R) bool

	// all adds what judging every row by the column needs, where that is less than
	// reading every task as if it were on the screen.
	all  func(*sample.Needs)
	unit unit
	rate bool              // shown by appendFixed, whose steps are what order goes by
	span bool              // about the time between two samples
	num  func(r R) float64 // for order and filter of tasks, NaN = no value; nil for text
	text func(r R) string  // for order and filter of tasks; nil for numbers
}

// Tone is what a text means, for a screen with colours.
type Tone uint8

// The tones.
const (
	Normal Tone = iota
	Dim
	Strong
	Accent
	Good
	Warn
	Bad
)

// when is a tone in a case, else the normal one.
func when(is bool, tone Tone) Tone {
	if is {
		return tone
	}
	return Normal
}

// Load is the tone of a share of a CPU.
func Load(share float32) Tone {
	switch {
	case share >= 0.85:
		return Bad
	case share >= 0.60:
		return Warn
	}
	return Good
}

// TaskColumn is one figure of a task.
type TaskColumn = Column[Row]

// As gives the column another text for people than its value.
func (c Column[R]) As(text func(R) string) Column[R] {
	c.Text = text
	return c
}

// InCSV gives the column another text in CSV than its value.
func (c Column[R]) InCSV(text func(R) string) Column[R] {
	c.CSV = text
	return c
}

// Pick are the columns with these IDs, in their order.
func Pick[R any](columns []Column[R], ids ...string) []Column[R] {
	out := make([]Column[R], len(ids))
	for i, id := range ids {
		out[i] = columns[slices.IndexFunc(columns, func(c Column[R]) bool { return c.ID == id })]
	}
	return out
}

// Toned gives the column a tone.
func (c Column[R]) Toned(tone func(R) Tone) Column[R] {
	c.Tone = tone
	return c
}

// All points to all columns.
func All[R any](columns []Column[R]) []*Column[R] {
	out := make([]*Column[R], len(columns))
	for i := range columns {
		out[i] = &columns[i]
	}
	return out
}

// OnAll are columns of rows that other rows have.
func OnAll[S, R any](columns []*Column[R], of func(S) R) []Column[S] {
	return group.Each(columns, func(c *Column[R]) Column[S] {
		return Column[S]{ID: c.ID, Title: c.Title, Help: c.Help, Type: c.Type, Value: func(r S) any { return c.Value(of(r)) }}
	})
}

// Shown is the row's text for people, "" for none, with its tone; width is what there is for it.
func (c *Column[R]) Shown(r R, width int) (text string, tone Tone) {
	switch {
	case c.Look != nil:
		return c.Look(r, width)
	case c.Text != nil:
		text = c.Text(r)
	default:
		text = Plain(c.Value(r))
	}
	if c.Tone != nil {
		tone = c.Tone(r)
	}
	return text, tone
}

// NeedsOfAll adds what a sample must hold so that all rows can be ordered or chosen
// by the column.
func (c *Column[R]) NeedsOfAll(n *sample.Needs) {
	switch {
	case c.all != nil:
		c.all(n)
	case c.Needs != nil:
		c.Needs(n)
		n.All = true
	}
}

// Why says in words why the row has no value; "" when it has one.
func (c Column[R]) Why(r R) string {
	if c.Missing == nil || c.Value(r) != nil {
		return ""
	}
	return c.Missing(r)
}

// Zero reports whether the task's figure is an amount, and shown as none.
func (c *Column[R]) Zero(r R) bool {
	if c.num == nil || c.Names {
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

// Arranged are the rows ordered by the column's values: those alike stay in their order, and those
// without a value come last, whatever the direction.
func Arranged[R any](rows []R, c *Column[R], desc bool) []R {
	type valued struct {
		row   R
		value any
	}
	order := make([]valued, len(rows))
	for i, r := range rows {
		order[i] = valued{r, c.Value(r)}
	}
	slices.SortStableFunc(order, func(a, b valued) int {
		switch {
		case a.value == nil && b.value == nil:
			return 0
		case a.value == nil:
			return 1
		case b.value == nil:
			return -1
		case desc:
			a, b = b, a
		}
		if x, is := a.value.(string); is {
			return compareText([]byte(x), []byte(b.value.(string)))
		}
		return cmp.Compare(figure(a.value), figure(b.value))
	})
	out := make([]R, len(rows))
	for i := range order {
		out[i] = order[i].row
	}
	return out
}

// figure is a number as one that numbers can be compared with.
func figure(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// unit is how a filter reads a number for the column.
type unit uint8

const (
	plain   unit = iota
	percent      // an optional % after it
	sizes        // K, M, G, T after it count in 1024s
	seconds      // or 90s, 5m, 2h, 1d
)
