package widget

import "piton/internal/tui/theme"

// rateSteps are the rates per second from which a sparkline's next height
// starts: half decades, but for the first, which is what an idle machine does. The
// scale is the same for every CPU and never changes, so heights can be compared
// across the screen and a quiet CPU's cells stay as they are.
var rateSteps = [...]float32{0, 1, 10, 30, 100, 300, 1000, 3000}

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
	if seconds <= 0 {
		seconds = 1
	}
	return appendLevels(dst, th, counts, ticks, width, func(n uint16) int { return RateLevel(float32(n) / seconds) })
}

// AppendSpark adds a sparkline of the newest width counts on a linear scale that ends at
// top; the oldest entries, which are not filled yet, are blank. What rounds to nothing is
// dim.
func AppendSpark[T uint16 | uint32](dst []byte, th *theme.Theme, counts []T, ticks int, top T, width int) []byte {
	most := len(th.Spark) - 1
	return appendLevels(dst, th, counts, ticks, width, func(n T) int {
		if top == 0 {
			return 0
		}
		return min((int(n)*most+int(top)/2)/int(top), most)
	})
}

// appendLevels adds the newest width counts as high as level says; a height of 0 is dim.
func appendLevels[T uint16 | uint32](dst []byte, th *theme.Theme, counts []T, ticks, width int, level func(T) int) []byte {
	filled := max(min(width, ticks, len(counts)), 0)
	dst = AppendSpaces(dst, width-filled)
	var open theme.Style
	for _, n := range counts[len(counts)-filled:] {
		height := level(n)
		style := th.Accent
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
