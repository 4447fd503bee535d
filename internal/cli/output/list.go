package output

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/group"
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
// columns of. What it does with the cells of rows is compiled once, not for every type of row.
type List[R any] struct {
	columns []field.Column[R] // those with a Type are of lines and CSV, those with a Title of tables
	begin   string            // of a line
}

// head is what a column has whatever its rows.
type head struct {
	id, title, help string
	right           bool
	kind            field.Type
}

// headed is a list without its type of row.
type headed interface {
	width() int
	head(column int) head
}

func (l *List[R]) width() int { return len(l.columns) }

func (l *List[R]) head(column int) head {
	c := &l.columns[column]
	return head{c.ID, c.Title, c.Help, c.Right, c.Type}
}

// NewList makes a list and adds its Schema, which says what family and kind are. All lists are
// made as the program starts, whatever the command.
func NewList[R any](family, kind, help string, columns ...field.Column[R]) *List[R] {
	l := Selection(kind, columns)
	described = append(described, description{family, kind, help, l})
	return l
}

// Selection is a list with some of the columns of one that has been made.
func Selection[R any](kind string, columns []field.Column[R]) *List[R] {
	return &List[R]{columns, beginning(kind)}
}

//go:noinline
func beginning(kind string) string { return `{"type":"` + kind + `","v":` + strconv.Itoa(Version) }

// Append adds the JSON line of a row, with its end.
func (l *List[R]) Append(dst []byte, r R) []byte {
	return appendLine(append(dst, l.begin...), l, func(i int) any { return l.columns[i].Value(r) })
}

func appendLine(dst []byte, l headed, value func(column int) any) []byte {
	for i := range l.width() {
		if h := l.head(i); h.kind != 0 {
			dst = append(append(append(dst, `,"`...), h.id...), `":`...)
			dst = field.AppendJSON(dst, value(i))
		}
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
	return tableOf(l, len(rows), func(row, i int) string {
		text, _ := l.columns[i].Shown(rows[row], 0)
		return text
	})
}

func tableOf(l headed, rows int, text func(row, column int) string) *Table {
	t := &Table{}
	var shown []int
	for i := range l.width() {
		if h := l.head(i); h.title != "" {
			t.column(h.title, h.right)
			shown = append(shown, i)
		}
	}
	for row := range rows {
		t.Rows = append(t.Rows, group.Each(shown, func(i int) string { return field.Clean(Dash(text(row, i))) }))
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
func (l *List[R]) CSV(w io.Writer, rows []R, names bool) {
	writeCSV(w, l, len(rows), names, func(row, i int) any {
		if c := &l.columns[i]; c.CSV != nil {
			return c.CSV(rows[row])
		}
		return l.columns[i].Value(rows[row])
	})
}

func writeCSV(w io.Writer, l headed, rows int, names bool, value func(row, column int) any) {
	out := csv.NewWriter(w)
	first := 0
	if names {
		first = -1
	}
	for row := first; row < rows; row++ {
		var record []string
		for i := range l.width() {
			switch h := l.head(i); {
			case h.kind == 0:
			case row < 0:
				record = append(record, h.id)
			case h.kind&(Text|Texts) != 0:
				record = append(record, inert(field.Plain(value(row, i))))
			default:
				record = append(record, field.Plain(value(row, i)))
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
