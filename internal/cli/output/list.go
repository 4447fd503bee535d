package output

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"piton/internal/chart"
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

// Col is a column with its name in JSON and CSV, its heading in tables ("" is not shown there, ">"
// before it aligns to the right), what its values are, and what they mean. value gives what
// field.AppendJSON takes, nil for null.
func Col[R any](name, title string, kind field.Type, help string, value func(R) any) field.Column[R] {
	title, right := strings.CutPrefix(title, ">")
	return field.Column[R]{ID: name, Title: title, Right: right, Type: kind, Help: help, Value: value}
}

// TableCol is a column that only tables have.
func TableCol[R any](title string, text func(R) string) field.Column[R] {
	return Col[R]("", title, 0, "", nil).As(text)
}

// List is a list that a command prints: a type of JSON lines, which CSV and tables have the
// columns of.
type List[R any] struct {
	columns []field.Column[R] // of lines and CSV
	shown   []field.Column[R] // of tables
	begin   string            // of a line
}

// NewList makes a list and its Schema, which says what family and kind are.
func NewList[R any](family, kind, help string, columns ...field.Column[R]) *List[R] {
	s := Schema{Family: family, Kind: kind, Help: help}
	for _, c := range columns {
		if c.Type != 0 {
			s.Properties = append(s.Properties, Property{Name: c.ID, Help: c.Help, Schema: typeSchema(c.Type), Required: c.Type&Chosen == 0})
		}
	}
	schemas = append(schemas, s)
	return Selection(kind, columns)
}

// Selection is a list with some of the columns of one that has been made.
func Selection[R any](kind string, columns []field.Column[R]) *List[R] {
	l := &List[R]{begin: fmt.Sprintf(`{"type":%q,"v":%d`, kind, Version)}
	for _, c := range columns {
		if c.Type != 0 {
			l.columns = append(l.columns, c)
		}
		if c.Title != "" {
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
		dst = append(append(append(dst, `,"`...), c.ID...), `":`...)
		dst = field.AppendJSON(dst, c.Value(r))
	}
	return append(dst, '}', '\n')
}

// JSON writes the JSON lines of rows. The writer keeps its error, as app.App and bufio.Writer do.
func (l *List[R]) JSON(w io.Writer, rows ...R) {
	for _, r := range rows {
		_, _ = w.Write(l.Append(nil, r))
	}
}

// Table has the columns with a heading.
func (l *List[R]) Table(rows []R) *Table {
	t := &Table{}
	for _, c := range l.shown {
		t.column(c.Title, c.Right)
	}
	for _, r := range rows {
		cells := make([]any, len(l.shown))
		for i := range l.shown {
			text, _ := l.shown[i].Shown(r, 0)
			cells[i] = Dash(text)
		}
		t.Add(cells...)
	}
	return t
}

// mostRows is how many rows First writes; JSON has all.
const mostRows = 20

// First writes a table of the first rows, and how many more there are.
func (l *List[R]) First(w io.Writer, rows []R, what string) {
	if len(rows) > 0 {
		l.Table(rows[:min(mostRows, len(rows))]).Write(w)
	}
	if more := len(rows) - mostRows; more > 0 {
		fmt.Fprintf(w, "and %s more (-o json has all)\n", chart.Plural(more, what))
	}
}

// CSV writes the rows below the names of the columns, if asked for; a value that is not known is empty.
func (l *List[R]) CSV(w io.Writer, rows []R, head bool) {
	out := csv.NewWriter(w)
	record := make([]string, len(l.columns))
	if head {
		for i := range l.columns {
			record[i] = l.columns[i].ID
		}
		_ = out.Write(record)
	}
	for _, r := range rows {
		for i := range l.columns {
			if c := &l.columns[i]; c.CSV != nil {
				record[i] = field.Plain(c.CSV(r))
			} else {
				record[i] = field.Plain(c.Value(r))
			}
			if l.columns[i].Type&(Text|Texts) != 0 {
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
		l.JSON(w, rows...)
	case AsCSV:
		l.CSV(w, rows, true)
	default:
		l.Table(rows).Write(w)
	}
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
