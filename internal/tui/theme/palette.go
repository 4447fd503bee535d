package theme

import (
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/lucasb-eyer/go-colorful"
)

// palette is the colours of a theme; nil is the terminal's own foreground. Text of
// every colour has a contrast of 4.5:1 or more with the backgrounds that the palette
// is for (WCAG 2.1, 1.4.3); TestContrast computes it.
type palette struct {
	accent, good, warn, bad, tagged color.Color
	dim                             color.Color    // nil: SGR 2, which terminals draw at two thirds
	selected, both, off             pair           // text with a background of its own
	heat                            [4]color.Color // of the steps above none
	boldBad                         bool           // false: bold would be another colour; terminals make colours 0 to 7 bright
}

type pair struct{ text, back color.Color }

// c is a colour of xterm's 256, or "#rrggbb".
func c(name string) color.Color { return lipgloss.Color(name) }

func heat(names ...string) (out [4]color.Color) {
	for i, name := range names {
		out[i] = c(name)
	}
	return out
}

// The palettes of 256 colours. Colours of the cube are written as indexes also where
// there are more: that is half the bytes over SSH.
var (
	// Only colours of a luminance of 0.175 to 0.183 have a contrast of 4.5:1 with black
	// and with white. The cube has six of them, these, and neither a yellow nor a red.
	bothGrounds = palette{accent: c("63"), good: c("29"), warn: c("131"), bad: c("163"), tagged: c("98"), dim: c("243"),
		selected: pair{c("231"), c("25")}, both: pair{c("231"), c("97")}, off: pair{c("252"), c("240")},
		heat: heat("63", "98", "131", "163"), boldBad: true}

	darkGround = palette{accent: c("75"), good: c("71"), warn: c("179"), bad: c("203"), tagged: c("221"), dim: c("246"),
		selected: pair{c("231"), c("25")}, both: pair{c("16"), c("178")}, off: pair{c("250"), c("238")},
		heat: heat("71", "178", "208", "203"), boldBad: true}

	lightGround = palette{accent: c("25"), good: c("22"), warn: c("94"), bad: c("160"), tagged: c("90"), dim: c("241"),
		selected: pair{c("231"), c("25")}, both: pair{c("231"), c("90")}, off: pair{c("240"), c("252")},
		heat: heat("22", "94", "126", "160"), boldBad: true}

	// High contrast is 7:1 (WCAG 2.1, 1.4.6). No colour has that with black and white.
	darkHigh = palette{accent: c("123"), good: c("120"), warn: c("228"), bad: c("217"), tagged: c("226"), dim: c("252"),
		selected: pair{c("16"), c("231")}, both: pair{c("16"), c("226")}, off: pair{c("252"), c("236")},
		heat: heat("120", "228", "223", "217"), boldBad: true}
	lightHigh = palette{accent: c("18"), good: c("22"), warn: c("54"), bad: c("88"), tagged: c("53"), dim: c("238"),
		selected: pair{c("231"), c("16")}, both: pair{c("231"), c("53")}, off: pair{c("238"), c("255")},
		heat: heat("22", "54", "53", "88"), boldBad: true}
	bothHigh = palette{selected: pair{c("231"), c("18")}, both: pair{c("231"), c("53")}, boldBad: true}
)

// The palettes of 16 colours, which are the user's; xterm's are reckoned with. Of
// those none can be read on black and on white.
var (
	dark16 = palette{accent: c("6"), good: c("2"), warn: c("3"), bad: c("9"), tagged: c("11"),
		selected: pair{c("0"), c("6")}, both: pair{c("0"), c("3")}, boldBad: true}
	light16 = palette{accent: c("4"), warn: c("5"), bad: c("1"), tagged: c("4"),
		selected: pair{c("15"), c("4")}, both: pair{c("15"), c("5")}}
	both16 = palette{selected: pair{c("0"), c("6")}, both: pair{c("0"), c("3")}, boldBad: true}
)

// Names are the themes that a user can choose; none of them is the one that follows
// the background.
var Names = []string{"dark", "light", "terminal", "high-contrast", "mono"}

func (o Options) palette() (p palette) {
	ground := o.Background
	switch o.Name {
	case "dark":
		ground = Dark
	case "light":
		ground = Light
	}
	of := func(both, dark, light palette) palette { return [...]palette{both, dark, light}[ground] }
	switch {
	case o.Depth <= Mono || o.Name == "mono":
		return palette{}
	case o.Depth < Colors256 || o.Name == "terminal":
		p = of(both16, dark16, light16)
	case o.Name == "high-contrast":
		p = of(bothHigh, darkHigh, lightHigh)
	default:
		p = of(bothGrounds, darkGround, lightGround)
	}
	colours := p.colours()
	for name, colour := range o.Colors {
		*colours[name] = o.Depth.Convert(colour)
	}
	for name, text := range map[string]*color.Color{"selected": &p.selected.text, "both": &p.both.text} {
		if o.Colors[name] != nil {
			*text = readable(*colours[name])
		}
	}
	return p
}

// colours are those that a user can set, by name.
func (p *palette) colours() map[string]*color.Color {
	return map[string]*color.Color{"accent": &p.accent, "good": &p.good, "warn": &p.warn, "bad": &p.bad,
		"dim": &p.dim, "tagged": &p.tagged, "selected": &p.selected.back, "both": &p.both.back}
}

// readable is black or white, whichever has more contrast with the background.
func readable(back color.Color) color.Color {
	if contrast(back, c("16")) > contrast(back, c("231")) {
		return c("16")
	}
	return c("231")
}

// contrast is that of two colours, 1 to 21 (WCAG 2.1, relative luminance).
func contrast(a, b color.Color) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(of color.Color) float64 {
	rgb, _ := colorful.MakeColor(of)
	r, g, b := rgb.LinearRgb()
	return 0.2126*r + 0.7152*g + 0.0722*b
}

// SetColor sets a colour of the theme: "#rrggbb", "#rgb" or a number of xterm's 256.
func (o *Options) SetColor(name, value string) error {
	if known := new(palette).colours(); known[name] == nil {
		return fmt.Errorf("unknown colour %q: %s are known", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	colour := lipgloss.Color(value)
	if n, err := strconv.Atoi(value); colour == (lipgloss.NoColor{}) || err == nil && (n < 0 || n > 255) {
		return fmt.Errorf("%s = %q is no colour: use \"#rrggbb\" or a number from 0 to 255", name, value)
	}
	if o.Colors == nil {
		o.Colors = map[string]color.Color{}
	}
	o.Colors[name] = colour
	return nil
}

// SetName chooses a theme.
func (o *Options) SetName(name string) error {
	if name != "" && !slices.Contains(Names, name) {
		return fmt.Errorf("unknown theme %q: %s are known", name, strings.Join(Names, ", "))
	}
	o.Name = name
	return nil
}
