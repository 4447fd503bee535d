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
	drawn bool // Text has its styles already
}

// Row is one line, made of pieces from left to right.
type Row []Piece

// Add puts a piece at the end. What a terminal would act on, which names of tasks
// may hold, is shown as question marks (field.Clean).
func (r *Row) Add(style theme.Style, text string) {
	*r = append(*r, Piece{Style: style, Text: field.Clean(text)})
}

// Drawn adds text that has its styles already, such as a bar.
func (r *Row) Drawn(text []byte) { *r = append(*r, Piece{Text: string(text), drawn: true}) }

// Left adds text at the left of a column of width cells, cut with an ellipsis.
func (r *Row) Left(th *theme.Theme, style theme.Style, text string, width int) {
	r.column(style, widget.Fit(Text(th, text), width, th.Ellipsis))
}

// Right adds text at the right of a column of width cells.
func (r *Row) Right(th *theme.Theme, style theme.Style, text string, width int) {
	r.column(style, widget.FitRight(Text(th, text), width, th.Ellipsis))
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
	*r = append(*r, Piece{Text: text[:lead]}, Piece{Style: style, Text: core}, Piece{Text: text[len(text)-tail:]})
}

// Width is the number of cells the row takes.
func (r Row) Width() int {
	n := 0
	for _, p := range r {
		n += widget.Width(p.Text)
	}
	return n
}

// Render draws the row in at most width cells.
func (r Row) Render(th *theme.Theme, width int) string {
	var b strings.Builder
	for _, p := range r {
		text := p.Text
		if !p.drawn {
			text = Text(th, text)
		}
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

// Ends puts two rows at the ends of a line; the left one is cut first.
func Ends(left, right Row, width int, th *theme.Theme) string {
	room := max(width-right.Width()-1, 0)
	return widget.Fit(left.Render(th, room), room+1, th.Ellipsis) + right.Render(th, width)
}

// Effect adds a row of chart.Effects with its interval, estimate and zero in styles of their own.
func (r *Row) Effect(th *theme.Theme, text string) {
	style := func(c rune) theme.Style {
		switch {
		case strings.ContainsRune("●O", c):
			return th.Strong
		case strings.ContainsRune("├─┤[-]‹›<>", c):
			return th.Accent
		}
		return th.Dim
	}
	cells := []rune(text)
	for from, to := 0, 0; from < len(cells); from = to {
		for to = from; to < len(cells) && style(cells[to]) == style(cells[from]); to++ {
		}
		r.Add(style(cells[from]), string(cells[from:to]))
	}
}

// Line is a row of one piece.
func Line(th *theme.Theme, style theme.Style, text string, width int) string {
	return Row{{Style: style, Text: field.Clean(text)}}.Render(th, width)
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
	return th.Selected.Render(th.Cursor + widget.Fit(ansi.Strip(r.Render(th, width-1)), width-1, th.Ellipsis))
}

// inASCII spells what piton writes beyond ASCII for terminals that cannot show it.
var inASCII = strings.NewReplacer("→", "->", "⇄", "<>", "≥", ">=", "±", "+-", "·", "-", "–", "-", "−", "-", "×", "x", "…", "~", "µ", "u",
	"─", "-", "┼", "+", "↑", "Up", "↓", "Down", "←", "Left", "⇧", "S-")

// Text makes a text harmless (field.Clean) and fit for the theme's terminal.
func Text(th *theme.Theme, s string) string {
	if !th.ASCII {
		return field.Clean(s)
	}
	return string(field.AppendClean(nil, inASCII.Replace(s), true))
}

// Wrap breaks a text, made harmless, into lines of at most width cells.
func Wrap(th *theme.Theme, s string, width int) []string {
	return widget.Wrap(Text(th, s), max(width, 1))
}

// Indented is Wrap in a style, each line behind a blank.
func Indented(th *theme.Theme, style theme.Style, s string, width int) []string {
	lines := Wrap(th, s, width-1)
	for i, l := range lines {
		lines[i] = " " + style.Render(l)
	}
	return lines
}

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
