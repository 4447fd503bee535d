// Package theme is how the screen looks: the styles and glyphs that every view
// and dialog draws with. Colour comes from the terminal's own 16 so that the
// user's palette decides; shades beyond them exist only in heat maps. Whatever a
// colour says, a glyph, a weight or a word says too.
//
// It draws nothing by itself. Start at Theme and New.
package theme

// Depth is how many colours the terminal shows.
type Depth uint8

// The depths. True-colour terminals are served as Colors256: the shades of a
// heat map need no more, and the shorter sequences save bytes over SSH.
const (
	Mono Depth = iota // NO_COLOR, --no-color, or a terminal without colour
	Colors16
	Colors256
)

// Options chooses a theme.
type Options struct {
	Depth Depth
	ASCII bool // --ascii, or a locale without UTF-8
	Light bool // the terminal's background is light
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

	heat []Style
}

// New builds the theme for a terminal.
func New(o Options) *Theme {
	t := &Theme{Options: o, Glyphs: unicodeGlyphs}
	if o.ASCII {
		t.Glyphs = asciiGlyphs
	}
	t.weights()
	if o.Depth > Mono {
		t.colours()
	}
	t.heat = heatStyles(o)
	return t
}

// weights sets what a terminal without colour can show.
func (t *Theme) weights() {
	t.Dim, t.Strong = sgr("2"), sgr("1")
	t.Accent, t.Title = sgr("1"), sgr("1")
	t.Warn, t.Bad = sgr("1"), sgr("1;4")
	t.Header, t.HeaderSort, t.Selected = sgr("4"), sgr("1;4"), sgr("7")
	t.Tagged, t.Both = sgr("1"), sgr("1;7")
	t.Key, t.KeyLabel, t.KeyOff = sgr("1"), sgr("7"), sgr("2;7")
	t.Input, t.Border = sgr("4"), Style{}
}

// colours replaces the weights with colours where colour says it better.
// 33 on a light background is hard to read in most palettes, so yellow becomes
// bold there; blue stands for plain cyan for the same reason.
func (t *Theme) colours() {
	accent, accentBack, warn := "36", "30;46", "33"
	if t.Light {
		accent, accentBack, warn = "34", "97;44", "1;33"
	}
	t.Accent, t.Title = sgr(accent), sgr("1;"+accent)
	t.Good, t.Warn, t.Bad = sgr("32"), sgr(warn), sgr("1;31")
	t.Header, t.HeaderSort = sgr("4"), sgr("1;4;"+accent)
	t.Selected, t.Both = sgr(accentBack), sgr("1;30;43")
	t.Tagged = sgr("1;33")
	t.KeyLabel, t.KeyOff = sgr(accentBack), sgr("2;7")
	t.Border, t.Input = sgr(accent), sgr("4")
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
