// Package theme is how the screen looks: the styles and glyphs that every view
// and dialog draws with. A named theme, or one that follows the terminal's background,
// is a palette; palette.go has them all. Whatever a colour says, a glyph, a weight or a
// word says too.
//
// It draws nothing by itself. Start at Theme and New.
package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"piton/internal/field"
)

// Depth is how many colours the terminal shows. The zero Depth is none.
type Depth = colorprofile.Profile

// The depths.
const (
	Mono      = colorprofile.ASCII // NO_COLOR, --no-color, or a terminal without colour; weights stay
	Colors16  = colorprofile.ANSI
	Colors256 = colorprofile.ANSI256
	TrueColor = colorprofile.TrueColor // only colours that the user chose need it
)

// Background is what the terminal draws on.
type Background uint8

// The backgrounds. While it is unknown, colours that can be read on both are used.
const (
	Unknown Background = iota
	Dark
	Light
)

// Options chooses a theme.
type Options struct {
	Depth      Depth
	ASCII      bool // --ascii, or a locale without UTF-8
	Background Background
	Name       string                 // one of Names; "" follows the background
	Colors     map[string]color.Color // of the theme, replaced; see SetColor
}

// Theme is a set of styles and glyphs. It is built once and never changed.
type Theme struct {
	Options
	Glyphs

	Text   Style // the default
	Dim    Style // what may be overlooked: idle figures, frames, units
	Strong Style // what changed or needs a decision
	Accent Style // the one colour of the screen: titles, keys, marks
	Title  Style // headings
	Good   Style // low load, done, faster
	Warn   Style // middling load, doubtful, slower
	Bad    Style // high load, danger, failed

	Header     Style // a table's heading line
	HeaderSort Style // the heading of the column that the table is sorted by
	Selected   Style // the row or item under the cursor
	Tagged     Style // tagged rows
	Both       Style // tagged and under the cursor
	Key        Style // a key's name in the key bar and in dialogs
	KeyLabel   Style // what the key does
	KeyOff     Style // a key that cannot be used now
	Input      Style // text being typed
	Border     Style // a dialog's frame

	Box lipgloss.Style // a dialog's frame around its content

	heat [5]Style
}

// New builds the theme for a terminal.
func New(o Options) *Theme {
	t := &Theme{Options: o, Glyphs: unicodeGlyphs}
	box := lipgloss.NormalBorder()
	if o.ASCII {
		t.Glyphs, box = asciiGlyphs, lipgloss.ASCIIBorder()
	}
	t.Box = lipgloss.NewStyle().Border(box).Padding(0, 1)
	p := o.palette()
	if p.accent != nil {
		t.Box = t.Box.BorderForeground(p.accent)
	}
	t.dress(p)
	return t
}

// dress sets the styles: the weights that a terminal without colour can show, and in their
// place the colours that there are.
func (t *Theme) dress(p palette) {
	plain := lipgloss.NewStyle()
	bold, underline, faint, reverse := plain.Bold(true), plain.Underline(true), plain.Faint(true), plain.Reverse(true)
	bad := underline
	if p.boldBad {
		bad = bold
	}
	for style, look := range map[*Style]struct {
		weight, coloured lipgloss.Style
		colour           color.Color
	}{
		&t.Dim: {faint, plain, p.dim}, &t.Strong: {bold, bold, nil}, &t.Accent: {bold, plain, p.accent}, &t.Title: {bold, bold, p.accent},
		&t.Good: {plain, plain, p.good}, &t.Warn: {bold, plain, p.warn}, &t.Bad: {underline.Bold(true), bad, p.bad},
		&t.Header: {underline, underline, nil}, &t.HeaderSort: {underline.Bold(true), underline.Bold(true), p.accent},
		&t.Selected: {reverse, plain.Background(p.selected.back), p.selected.text},
		&t.Tagged:   {bold, bold, p.tagged}, &t.Both: {bold.Reverse(true), plain.Background(p.both.back), p.both.text},
		&t.Key: {bold, bold, nil}, &t.KeyLabel: {reverse, plain.Background(p.selected.back), p.selected.text},
		&t.KeyOff: {faint, plain.Background(p.off.back), p.off.text}, &t.Input: {underline, underline, nil}, &t.Border: {plain, plain, p.accent},
	} {
		*style = styleOf(look.weight)
		if look.colour != nil {
			*style = styleOf(look.coloured.Foreground(look.colour))
		}
	}
	t.heat = [...]Style{t.Dim, t.Dim, t.Text, t.Warn, t.Bad}
	for i, colour := range p.heat {
		if colour != nil {
			t.heat[i+1] = styleOf(plain.Foreground(colour))
		}
	}
}

// Heat returns the style and the one-cell glyph of a step. Where the theme has no shades,
// weight helps the glyph.
func (t *Theme) Heat(step int) (Style, string) { return t.heat[step], t.Shade[step] }

// HeatStep is the step of a figure on a scale whose first step above 0 begins at least, the
// second at next, and each that follows at ten times the one before. Scales never change,
// so that pictures can be compared.
func HeatStep(figure, least, next float64) int {
	step := 0
	for limit := least; figure >= limit && step < 4; limit, next = next, next*10 {
		step++
	}
	return step
}

// Load returns the style of a busy share 0..1: good below 60 %, bad from 85 %.
// The bar's length says the same without colour.
func (t *Theme) Load(share float32) Style {
	return t.Of(field.Load(share))
}

// Of is the style of a tone.
func (t *Theme) Of(tone field.Tone) Style {
	return [...]Style{field.Normal: t.Text, field.Dim: t.Dim, field.Strong: t.Strong, field.Accent: t.Accent, field.Good: t.Good, field.Warn: t.Warn, field.Bad: t.Bad}[tone]
}
