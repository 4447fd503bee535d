package widget

import (
	"fmt"
	"math"
	"slices"
	"time"

	"piton/internal/tui/theme"
)

// Ticks are the lengths of the last three ticks.
type Ticks []time.Duration

// Note adds the length of a tick.
func (t *Ticks) Note(tick time.Duration) {
	if tick > 0 {
		*t = append(*t, tick)[max(0, len(*t)-2):]
	}
}

// Usual is the usual length of a tick, 0 while that is not known. A single sample between
// two others, taken because of a key, must not stretch the scale of all sparklines.
func (t Ticks) Usual() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(t))[len(t)/2]
}

// calm is the rate of migrations up to which a machine counts as quiet: sparklines do not
// stretch what is below it.
const calm = 20

// Scale is the top of the sparklines of migrations a tick, the fullest of which has most,
// and the words for it: "peak 510/s".
func (t Ticks) Scale(most int, none string) (top int, words string) {
	seconds := t.Usual().Seconds()
	if seconds <= 0 {
		return calm, "peak " + none
	}
	if top = max(int(math.Round(calm*seconds)), 1); most < top {
		return top, fmt.Sprintf("peak <%d/s", calm)
	}
	return most, fmt.Sprintf("peak %.0f/s", float64(most)/seconds)
}

// AppendSpark adds a sparkline of the newest width counts on a linear scale that ends at
// top, at least 1; the oldest entries, which are not filled yet, are blank. What rounds to
// nothing is dim.
func AppendSpark[T uint16 | uint32](dst []byte, th *theme.Theme, counts []T, ticks, top, width int) []byte {
	most := len(th.Spark) - 1
	filled := max(min(width, ticks, len(counts)), 0)
	dst = AppendSpaces(dst, width-filled)
	var open theme.Style
	for _, n := range counts[len(counts)-filled:] {
		height, style := min((int(n)*most+top/2)/top, most), th.Accent
		if height == 0 {
			style = th.Dim
		}
		if style != open {
			dst = style.Open(open.Close(dst))
			open = style
		}
		dst = append(dst, th.Spark[height]...)
	}
	return open.Close(dst)
}

// SparkCell is the height for a share 0..1; NaN is blank.
func SparkCell(th *theme.Theme, share float32) string {
	if share != share {
		return " "
	}
	return th.Spark[max(0, min(int(share*8), 7))]
}
