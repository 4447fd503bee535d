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

	heat []Style
}

// New builds the theme for a terminal.
func New(o Options) *Theme {
	t := &Theme{Options: o, Glyphs: unicodeGlyphs}
	box := lipgloss.NormalBorder()
	if o.ASCII {
		t.Glyphs, box = asciiGlyphs, lipgloss.ASCIIBorder()
	}
	plain := lipgloss.NewStyle()
	t.Box = plain.Border(box).Padding(0, 1)
	t.weights(plain)
	t.heat = make([]Style, len(t.Shade))
	if p, ok := o.palette(); ok {
		t.colours(plain, p)
	}
	return t
}

// weights sets what a terminal without colour can show.
func (t *Theme) weights(plain lipgloss.Style) {
	bold, underline := plain.Bold(true), plain.Underline(true)
	for style, look := range map[*Style]lipgloss.Style{
		&t.Dim: plain.Faint(true), &t.Strong: bold, &t.Accent: bold, &t.Title: bold,
		&t.Warn: bold, &t.Bad: underline.Bold(true),
		&t.Header: underline, &t.HeaderSort: underline.Bold(true),
		&t.Selected: plain.Reverse(true), &t.Tagged: bold, &t.Both: bold.Reverse(true),
		&t.Key: bold, &t.KeyLabel: plain.Reverse(true), &t.KeyOff: plain.Faint(true), &t.Input: underline,
	} {
		*style = styleOf(look)
	}
}

// colours replaces weights with the colours that there are.
func (t *Theme) colours(plain lipgloss.Style, p palette) {
	set := func(style *Style, colour color.Color, look lipgloss.Style) {
		if colour != nil {
			*style = styleOf(look.Foreground(colour))
		}
	}
	bold, underline := plain.Bold(true), plain.Underline(true)
	bad := underline
	if p.boldBad {
		bad = bold
	}
	set(&t.Accent, p.accent, plain)
	set(&t.Title, p.accent, bold)
	set(&t.HeaderSort, p.accent, underline.Bold(true))
	set(&t.Border, p.accent, plain)
	set(&t.Good, p.good, plain)
	set(&t.Warn, p.warn, plain)
	set(&t.Bad, p.bad, bad)
	set(&t.Tagged, p.tagged, bold)
	set(&t.Dim, p.dim, plain)
	set(&t.Selected, p.selected.text, plain.Background(p.selected.back))
	set(&t.KeyLabel, p.selected.text, plain.Background(p.selected.back))
	set(&t.Both, p.both.text, plain.Background(p.both.back))
	set(&t.KeyOff, p.off.text, plain.Background(p.off.back))
	for i, colour := range p.heat {
		set(&t.heat[i], colour, plain)
	}
	if p.accent != nil {
		t.Box = t.Box.BorderForeground(p.accent)
	}
}

// HeatSteps is the number of shades of a heat map. With 16 colours or none the
// density of the glyph alone carries the value.
func (t *Theme) HeatSteps() int { return len(t.heat) }

// Heat returns the style and the one-cell glyph of a step.
func (t *Theme) Heat(step int) (Style, string) {
	step = max(0, min(step, len(t.heat)-1))
	return t.heat[step], t.Shade[step]
}

// Load returns the style of a busy share 0..1: good below 60 %, bad from 85 %.
// The bar's length says the same without colour.
func (t *Theme) Load(share float32) Style {
	switch {
	case share >= 0.85:
		return t.Bad
	case share >= 0.60:
		return t.Warn
	}
	return t.Good
}
