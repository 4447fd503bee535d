package widget

import (
	"math"
	"strings"

	"piton/internal/tui/theme"
)

// BarEighths is the filled part of a bar of width cells in eighths of a cell.
// Below half an eighth it is 0, so that the noise of an idle CPU draws nothing;
// an unknown share (NaN) is 0 too.
func BarEighths(share float32, width int) int {
	if !(share > 0) {
		return 0
	}
	return min(int(share*float32(width*8)+0.5), width*8)
}

// AppendBar adds a bar of width cells that is filled to share, 0..1. The filled
// part has the style of its load, the rest is dim.
func AppendBar(dst []byte, th *theme.Theme, share float32, width int) []byte {
	if width <= 0 {
		return dst
	}
	n := BarEighths(share, width)
	filled := strings.Repeat(th.Bar[7], n/8)
	if n%8 > 0 {
		filled += th.Bar[n%8-1]
	}
	return appendRun(th.Load(share).Append(dst, filled), th.Dim, th.Blank, width-(n+7)/8)
}

func appendRun(dst []byte, style theme.Style, glyph string, n int) []byte {
	if n <= 0 {
		return dst
	}
	dst = style.Open(dst)
	for range n {
		dst = append(dst, glyph...)
	}
	return style.Close(dst)
}

// Parts is a CPU's time in the order in which a split bar shows it, as shares 0..1 of
// the interval: user, nice, system, irq with softirq, steal.
type Parts = [5]float32

// partNames are the words for Parts, and what is left of them where room is short.
var partNames, partLetters = [...]string{"user", "nice", "system", "irq", "steal"}, [...]string{"us", "ni", "sy", "ir", "st"}

// The glyphs of Parts differ, so that a split bar needs no colour.
var (
	partGlyphs = [...]string{"█", "▄", "▓", "▒", "░"}
	partASCII  = [...]string{"|", "-", "#", "+", "%"}
)

// part is how one of Parts looks. Without colour the glyph alone says it: the weights
// of a monochrome terminal would draw over it.
func part(th *theme.Theme, i int) (theme.Style, string) {
	glyphs, style := &partGlyphs, [...]theme.Style{th.Good, th.Accent, th.Bad, th.Warn, th.Strong}[i]
	if th.ASCII {
		glyphs = &partASCII
	}
	if th.Depth == theme.Mono {
		style = theme.Style{}
	}
	return style, glyphs[i]
}

// PartsLegend names the glyphs of a split bar in at most width cells; "" where they do
// not fit.
func PartsLegend(th *theme.Theme, width int) string {
	for _, names := range [...]*[5]string{&partNames, &partLetters} {
		cells := len(names) - 1
		for _, name := range names {
			cells += 1 + len(name)
		}
		if cells > width {
			continue
		}
		text := make([]byte, 0, 8*cells)
		for i, name := range names {
			style, glyph := part(th, i)
			if i > 0 {
				text = append(text, ' ')
			}
			text = th.Dim.Append(style.Append(text, glyph), name)
		}
		return string(text)
	}
	return ""
}

// barSteps is how finely a split bar shows a share, where it has cells for that: the
// figure stands beside it, and a bar that trembles each second says no more. Less than
// 1/20 is none, so that an idle CPU's bar rests.
const barSteps = 20

// splitCells is how many of width cells a split bar fills for a share, at most all.
func splitCells(share float32, width int) int {
	if !(share >= 1.0/barSteps) || width <= 0 {
		return 0
	}
	steps := float64(min(width, barSteps))
	return int(math.Round(math.Round(float64(min(share, 1))*steps) / steps * float64(width)))
}

// leastFramed is the width from which a frame leaves enough of a bar.
const leastFramed = 6

// AppendFramed adds a bar of width cells whose filled part is divided as parts are. It is
// as long as their sum, up to 100 %, where the bar's edges are; an unknown part (NaN) draws
// nothing. The edges are part of the width; a narrow bar has none.
func AppendFramed(dst []byte, th *theme.Theme, parts *Parts, width int) []byte {
	left, right := "", ""
	if width >= leastFramed {
		left, right, width = "▕", "▏", width-2
		if th.ASCII {
			left, right = "[", "]"
		}
	}
	dst = th.Dim.Append(dst, left)
	at, sum := 0, float32(0)
	for i, share := range parts {
		if !(share > 0) {
			continue
		}
		sum += share
		if end := splitCells(sum, width); end > at {
			style, glyph := part(th, i)
			dst = appendRun(dst, style, glyph, end-at)
			at = end
		}
	}
	return th.Dim.Append(appendRun(dst, th.Dim, th.Blank, width-at), right)
}

// Progress is a bar in a colour that does not mean load.
func Progress(share float32, width int, th *theme.Theme) []byte {
	full := BarEighths(share, width) / 8
	dst := th.Accent.Append(nil, strings.Repeat(th.Bar[7], full))
	return th.Dim.Append(dst, strings.Repeat(th.Blank, width-full))
}
