package theme

import (
	"fmt"
	"image/color"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/lucasb-eyer/go-colorful"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGlyphsAreOneCell(t *testing.T) {
	for name, g := range map[string]Glyphs{"unicode": unicodeGlyphs, "ascii": asciiGlyphs} {
		for _, list := range [][]string{g.Bar, g.Spark, g.Shade, {g.Blank, g.Cursor, g.Tag, g.Mark,
			g.SortDown, g.SortUp, g.Horizontal, g.Vertical, g.TopLeft, g.Cross, g.Dot, g.None, g.Ellipsis}} {
			for _, s := range list {
				assert.Equal(t, 1, ansi.StringWidth(s), "%s %q", name, s)
			}
		}
		for _, s := range []string{g.Checked, g.Part, g.Unchecked, g.Radio, g.RadioOff} {
			assert.Equal(t, 3, ansi.StringWidth(s), "%s %q", name, s)
		}
		assert.Len(t, g.Bar, 8, name)
		assert.Len(t, g.Spark, 8, name)
	}
}

func TestASCIIThemeUsesOnlyASCII(t *testing.T) {
	g := New(Options{ASCII: true}).Glyphs
	for _, s := range append(append(append([]string{g.Arrow, g.None, g.Mark, g.Tag, g.AtLeast,
		g.TreeLast}, g.Bar...), g.Spark...), g.Shade...) {
		for _, r := range s {
			assert.Less(t, r, rune(128), "%q", s)
		}
	}
}

func TestMonoHasNoColour(t *testing.T) {
	for _, o := range []Options{{}, {Depth: Mono}, {Depth: TrueColor, Name: "mono"}} {
		th := New(o)
		for name, s := range styles(th) {
			assert.NotRegexp(t, `[34][0-7]`, s.Render("x"), name)
		}
		// Warnings and danger still differ from ordinary text and from each other.
		assert.NotEqual(t, th.Text, th.Warn)
		assert.NotEqual(t, th.Warn, th.Bad)
	}
}

// styles are those of a theme by name.
func styles(th *Theme) map[string]Style {
	out := map[string]Style{}
	v := reflect.ValueOf(th).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.Type == reflect.TypeFor[Style]() {
			out[field.Name] = v.Field(i).Interface().(Style)
		}
	}
	for i, s := range th.heat {
		out[fmt.Sprint("heat ", i)] = s
	}
	return out
}

// seen are the colours that a style may have on a background. Terminals may make
// colours 0 to 7 bright when bold, and draw SGR 2 at two thirds (xterm's, VTE's and
// Alacritty's rule).
func seen(s Style, ground color.Color) (pairs []pair) {
	line := uv.NewScreenBuffer(1, 1)
	uv.NewStyledString(s.Render("x")).Draw(line, line.Bounds())
	style := line.CellAt(0, 0).Style
	p := pair{style.Fg, ground}
	if style.Bg != nil {
		p.back = style.Bg
	}
	if p.text == nil {
		p.text = color.Color(color.White)
		if luminance(ground) > 0.5 {
			p.text = color.Black
		}
	}
	if style.Attrs&uv.AttrReverse != 0 {
		p.text, p.back = p.back, p.text
	}
	if style.Attrs&uv.AttrFaint != 0 {
		text, _ := colorful.MakeColor(p.text)
		back, _ := colorful.MakeColor(p.back)
		p.text = text.BlendRgb(back, 1.0/3)
	}
	pairs = append(pairs, pair{xterm(p.text), xterm(p.back)})
	if basic, ok := p.text.(ansi.BasicColor); ok && basic < 8 && style.Attrs&uv.AttrBold != 0 {
		pairs = append(pairs, pair{xterm(basic + 8), xterm(p.back)})
	}
	return pairs
}

// xterm is a colour as xterm shows it by default, as far as it is one of the 16.
func xterm(of color.Color) color.Color {
	basic, ok := of.(ansi.BasicColor)
	if !ok {
		return of
	}
	return c([]string{"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
		"#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"}[basic])
}

// All text can be read, whatever the theme, the terminal and its background: 4.5:1
// is what WCAG 2.1 asks for text (1.4.3), 7:1 for high contrast (1.4.6). A colour of
// 16 is that of xterm.
func TestContrast(t *testing.T) {
	blacks := []color.Color{color.Black, c("#1e1e1e"), c("#282828")}
	whites := []color.Color{color.White, c("#eeeeee")}
	grounds := map[Background][]color.Color{Unknown: {color.Black, color.White}, Dark: blacks, Light: whites}
	for _, name := range append([]string{""}, Names...) {
		for _, depth := range []Depth{Mono, Colors16, Colors256, TrueColor} {
			for ground, on := range grounds {
				o := Options{Name: name, Depth: depth, Background: ground}
				switch {
				case name == "dark":
					on = blacks
				case name == "light":
					on = whites
				}
				if (depth == Colors16 || name == "terminal") && on[1] != color.White {
					on = on[:1] // 16 colours are the user's, and so is what they stand on
				}
				want := 4.5
				if name == "high-contrast" && depth >= Colors256 {
					want, on = 7, slices.DeleteFunc(slices.Clone(on), func(back color.Color) bool { return back == whites[1] })
				}
				for what, style := range styles(New(o)) {
					for _, back := range on {
						for _, p := range seen(style, back) {
							assert.GreaterOrEqual(t, contrast(p.text, p.back), want, "%+v: %s on %v", o, what, back)
						}
					}
				}
			}
		}
	}
}

func TestNothingIsYellowOnWhite(t *testing.T) {
	for what, style := range styles(New(Options{Depth: Colors16, Background: Light})) {
		assert.NotRegexp(t, `[39]3m`, style.Render("x"), what)
	}
}

func TestColoursOfTheUser(t *testing.T) {
	o := Options{Depth: Colors256}
	require.NoError(t, o.SetName("light"))
	require.NoError(t, o.SetColor("accent", "#5fafff"))
	require.NoError(t, o.SetColor("selected", "226"))
	th := New(o)
	assert.Equal(t, "\x1b[38;5;75mx\x1b[m", th.Accent.Render("x"))
	assert.Equal(t, "\x1b[38;5;16;48;5;226mx\x1b[m", th.Selected.Render("x"), "text that can be read on it")
	o.Depth = TrueColor
	assert.Equal(t, "\x1b[38;2;95;175;255mx\x1b[m", New(o).Accent.Render("x"))
	o.Depth = Mono
	assert.Equal(t, New(Options{Depth: Mono}).Accent, New(o).Accent)

	assert.ErrorContains(t, o.SetName("solarized"), "dark, light, terminal, high-contrast, mono are known")
	assert.ErrorContains(t, o.SetColor("acent", "1"), `unknown colour "acent"`)
	for _, value := range []string{"blueish", "256", "-1", "#12", ""} {
		assert.ErrorContains(t, o.SetColor("accent", value), "is no colour", value)
	}
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name string
		wish Wish
		env  string
		want Options
	}{
		{"usual", Wish{}, "TERM=xterm-256color LANG=de_DE.UTF-8", Options{Depth: Colors256}},
		{"true colour", Wish{}, "TERM=xterm-256color COLORTERM=truecolor LANG=C.UTF-8", Options{Depth: TrueColor}},
		{"console", Wish{}, "TERM=linux LANG=C.utf8", Options{Depth: Colors16, Background: Dark}},
		{"Konsole", Wish{}, "TERM=xterm LANG=C.utf8 COLORFGBG=0;15", Options{Depth: Colors16, Background: Light}},
		{"rxvt", Wish{}, "TERM=rxvt LANG=C.utf8 COLORFGBG=15;default;0", Options{Depth: Colors16, Background: Dark}},
		{"NO_COLOR any value", Wish{}, "TERM=xterm-256color LANG=C.UTF-8 NO_COLOR=yes", Options{Depth: Mono}},
		{"flag", Wish{NoColor: true, ASCII: true}, "TERM=xterm-256color LANG=C.UTF-8", Options{Depth: Mono, ASCII: true}},
		{"LC_ALL wins", Wish{}, "TERM=xterm LC_ALL=C LANG=C.UTF-8", Options{Depth: Colors16, ASCII: true}},
		{"no locale", Wish{}, "TERM=vt100", Options{Depth: Mono, ASCII: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Detect(tt.wish, io.Discard, append(strings.Fields(tt.env), "TTY_FORCE=1")))
		})
	}
}

// BenchmarkAppend and BenchmarkRender are a cell of a tick, by Style and by lipgloss.
func BenchmarkAppend(b *testing.B) {
	style, dst := New(Options{Depth: Colors256}).Good, []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = style.Append(dst[:0], "99.8")
	}
}

func BenchmarkRender(b *testing.B) {
	style, dst := lipgloss.NewStyle().Foreground(lipgloss.Color("29")), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = append(dst[:0], style.Render("99.8")...)
	}
}

func TestJoin(t *testing.T) {
	th := New(Options{Depth: Colors256})
	dim, strong := th.Dim, th.Strong
	for _, one := range []struct {
		cells []string
		want  string
	}{
		{[]string{dim.Render("0"), dim.Render("OTHER"), dim.Render("S"), "5"}, dim.Render("0 OTHER S") + " 5"},
		{[]string{"7", dim.Render("0"), strong.Render("x"), strong.Render("y")}, "7 " + dim.Render("0") + " " + strong.Render("x y")},
		{[]string{dim.Render("a") + strong.Render("b"), strong.Render("c")}, dim.Render("a") + strong.Render("b") + " " + strong.Render("c")},
		{[]string{strong.Render("b"), dim.Render("a") + strong.Render("b")}, strong.Render("b") + " " + dim.Render("a") + strong.Render("b")},
		{[]string{"", dim.Render("a"), dim.Render("b") + "c"}, " " + dim.Render("a") + " " + dim.Render("b") + "c"},
	} {
		var dst []byte
		run := -1
		for i, c := range one.cells {
			if i > 0 {
				dst = append(dst, ' ')
			}
			start := len(dst)
			dst, run = Join(append(dst, c...), run, start)
		}
		assert.Equal(t, one.want, string(dst))
	}
}
