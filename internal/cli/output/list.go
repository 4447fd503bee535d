package output

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"piton/internal/field"
)

// Version of the JSON lines: it changes when a name or a meaning does, not when
// a name is added.
const Version = 1

// What the values of a column may be in JSON.
const (
	Null    = field.TypeNull // not known, or does not apply
	Bool    = field.TypeBool
	Int     = field.TypeInt
	Number  = field.TypeNumber
	Text    = field.TypeText
	Ints    = field.TypeInts
	Texts   = field.TypeTexts
	Numbers = field.TypeNumbers

	MaybeBool   = Bool | Null
	MaybeInt    = Int | Null
	MaybeNumber = Number | Null
	MaybeText   = Text | Null

	Chosen field.Type = 1 << 15 // the line may lack it: --columns chooses
)

// Column is one value of a list's rows: the one description of it for JSON, its schema, CSV
// and tables.
type Column[R any] struct {
	name, title, help string
	kind              field.Type
	value             func(R) any
	cell              func(R) string // of tables, nil: the value
	csv               func(R) string // of CSV, nil: the value
}

// Col is a column with its name in JSON and CSV, its heading in tables ("" is not shown there, ">"
// before it aligns to the right), what its values are, and what they mean. value gives what
// field.AppendJSON takes, nil for null.
func Col[R any](name, title string, kind field.Type, help string, value func(R) any) Column[R] {
	return Column[R]{name: name, title: title, help: help, kind: kind, value: value}
}

// TableCol is a column that only tables have.
func TableCol[R any](title string, cell func(R) string) Column[R] {
	return Column[R]{title: title, cell: cell}
}

// As gives the column another text in tables than its value.
func (c Column[R]) As(cell func(R) string) Column[R] {
	c.cell = cell
	return c
}

// InCSV gives the column another text in CSV than its value.
func (c Column[R]) InCSV(text func(R) string) Column[R] {
	c.csv = text
	return c
}

// List is a list that a command prints: a type of JSON lines, which CSV and tables have the
// columns of.
type List[R any] struct {
	columns []Column[R] // of lines and CSV
	shown   []Column[R] // of tables
	begin   string      // of a line
}

// NewList makes a list and its Schema, which says what family and kind are.
func NewList[R any](family, kind, help string, columns ...Column[R]) *List[R] {
	s := Schema{Family: family, Kind: kind, Help: help}
	for _, c := range columns {
		if c.name != "" {
			s.Properties = append(s.Properties, Property{Name: c.name, Help: c.help, Schema: typeSchema(c.kind), Required: c.kind&Chosen == 0})
		}
	}
	schemas = append(schemas, s)
	return Selection(kind, columns)
}

// Selection is a list with some of the columns of one that has been made.
func Selection[R any](kind string, columns []Column[R]) *List[R] {
	l := &List[R]{begin: fmt.Sprintf(`{"type":%q,"v":%d`, kind, Version)}
	for _, c := range columns {
		if c.name != "" {
			l.columns = append(l.columns, c)
		}
		if c.title != "" {
			l.shown = append(l.shown, c)
		}
	}
	return l
}

// Append adds the JSON line of a row, with its end.
func (l *List[R]) Append(dst []byte, r R) []byte {
	dst = append(dst, l.begin...)
	for i := range l.columns {
		c := &l.columns[i]
		dst = append(append(append(dst, `,"`...), c.name...), `":`...)
		dst = field.AppendJSON(dst, c.value(r))
	}
	return append(dst, '}', '\n')
}

// JSON writes the JSON line of a row. The writer keeps its error, as app.App and bufio.Writer do.
func (l *List[R]) JSON(w io.Writer, r R) { _, _ = w.Write(l.Append(nil, r)) }

// Table has the columns with a heading.
func (l *List[R]) Table(rows []R) *Table {
	titles := make([]string, len(l.shown))
	for i, c := range l.shown {
		titles[i] = c.title
	}
	t := NewTable(titles...)
	for _, r := range rows {
		cells := make([]any, len(l.shown))
		for i, c := range l.shown {
			if c.cell != nil {
				cells[i] = Dash(c.cell(r))
			} else {
				cells[i] = Dash(plain(c.value(r)))
			}
		}
		t.Add(cells...)
	}
	return t
}

// CSV writes the rows below the names of the columns, if asked for; a value that is not known is empty.
func (l *List[R]) CSV(w io.Writer, rows []R, head bool) {
	out := csv.NewWriter(w)
	record := make([]string, len(l.columns))
	if head {
		for i := range l.columns {
			record[i] = l.columns[i].name
		}
		_ = out.Write(record)
	}
	for _, r := range rows {
		for i := range l.columns {
			if c := &l.columns[i]; c.csv != nil {
				record[i] = plain(c.csv(r))
			} else {
				record[i] = plain(c.value(r))
			}
			if l.columns[i].kind&(Text|Texts) != 0 {
				record[i] = inert(record[i])
			}
		}
		_ = out.Write(record)
	}
	out.Flush()
}

// Write writes the rows as the format says.
func (l *List[R]) Write(w io.Writer, rows []R, o Format) {
	switch o.Value {
	case AsJSON:
		for _, r := range rows {
			l.JSON(w, r)
		}
	case AsCSV:
		l.CSV(w, rows, true)
	default:
		l.Table(rows).Write(w)
	}
}

// plain is a value as CSV has it: a list with blanks, an object as name:value with blanks.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return field.Clean(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			if parts[i] = plain(v[i]); parts[i] == "" {
				parts[i] = field.NoneASCII
			}
		}
		return strings.Join(parts, " ")
	case []field.Member:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = m.Name + ":" + plain(m.Value)
		}
		return strings.Join(parts, " ")
	}
	return fmt.Sprint(v)
}

// CSVText is a text as a cell of CSV has it.
func CSVText(text string) string { return inert(field.Clean(text)) }

// inert puts an apostrophe before a cell that a spreadsheet would calculate: others choose
// names and command lines. Numbers stay as they are.
func inert(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@", rune(cell[0])) || strings.Trim(cell[1:], "0123456789.") == "" {
		return cell
	}
	return "'" + cell
}

// Known is a value, or null where it is not known or does not apply.
func Known(value any, known bool) any {
	if !known {
		return nil
	}
	return value
}

// NonEmpty is a text, null for "".
func NonEmpty(text string) any { return Known(text, text != "") }

// NonNegative is a number, null for a negative one, which stands for none.
func NonNegative(n int) any { return Known(n, n >= 0) }

// Values is a list as a column's value.
func Values[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// Stamp is a time as JSON lines have it (RFC 3339, UTC).
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
