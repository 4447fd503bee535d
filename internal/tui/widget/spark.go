package widget

import "piton/internal/tui/theme"

// rateSteps are the rates per second from which a sparkline's next height
// starts: half decades, but for the first, which is what an idle machine does. The
// scale is the same for every CPU and never changes, so heights can be compared
// across the screen and a quiet CPU's cells stay as they are.
var rateSteps = [...]float32{0, 1, 10, 30, 100, 300, 1000, 3000}

// RateLegend says what the heights of a rate sparkline mean.
const RateLegend = "0 1 10 30 100 300 1000 3000/s"

// RateLevel is the height, 0..7, of a rate per second.
func RateLevel(perS float32) int {
	level := 0
	for i := 1; i < len(rateSteps); i++ {
		if perS >= rateSteps[i] {
			level = i
		}
	}
	return level
}

// AppendRateSpark adds a sparkline of the last width entries of counts, which
// were gathered over seconds each; only the newest ticks of them are filled, the
// cells before are blank. Quiet cells are dim, busy ones stand out.
func AppendRateSpark(dst []byte, th *theme.Theme, counts []uint16, ticks int, seconds float32, width int) []byte {
	if width <= 0 {
		return dst
	}
	width, pad := min(width, len(counts)), max(0, width-len(counts))
	dst = AppendSpaces(dst, pad)
	if seconds <= 0 {
		seconds = 1
	}
	open := theme.Style{}
	for i := len(counts) - width; i < len(counts); i++ {
		if i < len(counts)-ticks {
			dst = append(dst, ' ')
			continue
		}
		level := RateLevel(float32(counts[i]) / seconds)
		style := th.Accent
		if level == 0 {
			style = th.Dim
		}
		if style != open {
			dst = style.Open(open.Close(dst))
			open = style
		}
		dst = append(dst, th.Spark[level]...)
	}
	return open.Close(dst)
}

// AppendSpark adds a sparkline of the newest width counts on a linear scale that ends at
// top; the oldest entries, which are not filled yet, are blank. What rounds to nothing is
// dim.
func AppendSpark[T uint16 | uint32](dst []byte, th *theme.Theme, counts []T, ticks int, top T, width int) []byte {
	filled := min(width, ticks, len(counts))
	dst = AppendSpaces(dst, width-filled)
	most := len(th.Spark) - 1
	var open theme.Style
	for _, n := range counts[len(counts)-max(filled, 0):] {
		level := 0
		if top > 0 {
			level = min((int(n)*most+int(top)/2)/int(top), most)
		}
		style := th.Accent
		if level == 0 {
			style = th.Dim
		}
		if style != open {
			dst = style.Open(open.Close(dst))
			open = style
		}
		dst = append(dst, th.Spark[level]...)
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
