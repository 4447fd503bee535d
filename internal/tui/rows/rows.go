// Package rows lays out text line by line: pieces in styles, columns of fixed
// width, a scrolled window with a cursor in it. Dialogs and the bench and
// journal views draw with it.
//
// It knows nothing of what the rows mean. Start at Row and Scroll.
package rows

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"piton/internal/field"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Piece is text in one style.
type Piece struct {
	Style theme.Style
	Text  string
}

// Row is one line, made of pieces from left to right.
type Row []Piece

// Add puts a piece at the end. What a terminal would act on, which names of tasks
// may hold, is shown as question marks (field.Clean).
func (r *Row) Add(style theme.Style, text string) { *r = append(*r, Piece{style, field.Clean(text)}) }

// Drawn adds text that has its styles already, such as a bar.
func (r *Row) Drawn(text []byte) { *r = append(*r, Piece{Text: string(text)}) }

// Left adds text at the left of a column of width cells, cut with an ellipsis.
func (r *Row) Left(th *theme.Theme, style theme.Style, text string, width int) {
	r.column(style, widget.Fit(field.Clean(text), width, th.Ellipsis))
}

// Right adds text at the right of a column of width cells.
func (r *Row) Right(th *theme.Theme, style theme.Style, text string, width int) {
	r.column(style, widget.FitRight(field.Clean(text), width, th.Ellipsis))
}

// column adds a filled column; its padding gets no style, which an underline
// would show.
func (r *Row) column(style theme.Style, text string) {
	core := strings.TrimSpace(text)
	lead := len(text) - len(strings.TrimLeft(text, " "))
	tail := len(text) - lead - len(core)
	if tail < 0 { // blank
		lead, tail = len(text), 0
	}
	*r = append(*r, Piece{Text: text[:lead]}, Piece{style, core}, Piece{Text: text[len(text)-tail:]})
}

// Width is the number of cells the row takes.
func (r Row) Width() int {
	n := 0
	for _, p := range r {
		n += widget.Width(p.Text)
	}
	return n
}

// Plain is the row without styles.
func (r Row) Plain() string {
	var b strings.Builder
	for _, p := range r {
		b.WriteString(ansi.Strip(p.Text))
	}
	return b.String()
}

// Render draws the row in at most width cells.
func (r Row) Render(th *theme.Theme, width int) string {
	var b strings.Builder
	for _, p := range r {
		text := p.Text
		if n := widget.Width(text); n > width {
			text = ansi.Truncate(text, width, th.Ellipsis)
			width = 0
		} else {
			width -= n
		}
		b.WriteString(p.Style.Render(text))
		if width <= 0 {
			break
		}
	}
	return b.String()
}

// Item draws the row as one of a list, with a cell at its left for the cursor,
// in exactly width cells when it is the selected one.
func (r Row) Item(th *theme.Theme, width int, selected bool) string {
	if width < 1 {
		return ""
	}
	if !selected {
		return " " + r.Render(th, width-1)
	}
	return th.Selected.Render(th.Cursor + widget.Fit(r.Plain(), width-1, th.Ellipsis))
}

// Wrap breaks a text, made safe, into lines of at most width cells.
func Wrap(s string, width int) []string { return widget.Wrap(field.Clean(s), max(width, 1)) }

// Keys is a line of key names and what they do, given in turns.
func Keys(th *theme.Theme, pairs ...string) Row {
	var r Row
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			r.Add(th.Text, "  ")
		}
		r.Add(th.Key, pairs[i])
		r.Add(th.Dim, " "+pairs[i+1])
	}
	return r
}
