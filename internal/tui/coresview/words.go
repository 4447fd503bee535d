package coresview

import (
	"strconv"
	"time"

	"piton/internal/chart"
	"piton/internal/tui/theme"
)

// heatStep is the shade of a rate: steps begin above 0, at 1, 10 and 100 a second.
// The scale never changes, so that maps can be compared.
func heatStep(perS float64) int {
	switch {
	case perS <= 0:
		return 0
	case perS < 1:
		return 1
	case perS < 10:
		return 2
	case perS < 100:
		return 3
	}
	return 4
}

// heatLegend names the steps.
var heatLegend = [...]string{"0", "<1", "1", "10", "100"}

// heat is a step's look. Where the theme has no shades, weight helps the glyph.
func heat(th *theme.Theme, step int) (theme.Style, string) {
	style, glyph := th.Heat(step)
	if step == 0 {
		return th.Dim, glyph
	}
	if style.Plain() {
		style = [...]theme.Style{th.Dim, th.Dim, th.Text, th.Warn, th.Bad}[step]
	}
	return style, glyph
}

// rate writes a rate in at most four cells.
func rate(perS float64) string {
	switch {
	case perS <= 0:
		return "0"
	case perS < 0.005:
		return "~0"
	case perS < 0.095:
		return strconv.FormatFloat(perS, 'f', 2, 64)[1:] // .02
	case perS < 9.95:
		return strconv.FormatFloat(perS, 'f', 1, 64)
	case perS < 999.5:
		return strconv.FormatFloat(perS, 'f', 0, 64)
	case perS < 9950:
		return strconv.FormatFloat(perS/1e3, 'f', 1, 64) + "k"
	case perS < 999500:
		return strconv.FormatFloat(perS/1e3, 'f', 0, 64) + "k"
	}
	return strconv.FormatFloat(perS/1e6, 'f', 1, 64) + "M"
}

// duration writes a time: "1.23 ms".
func duration(d time.Duration) string { return chart.Quantity(d.Seconds(), "s") }

// lastSpan names a window by what it really covers: "last 10 s".
func lastSpan(d time.Duration) string {
	if d >= 950*time.Millisecond {
		d = d.Round(time.Second)
	}
	return "last " + duration(d)
}

func perSecond(n uint64, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(n) / span.Seconds()
}
