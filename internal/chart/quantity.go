package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Scale is the unit that a range of values is printed in: seconds around 0.006
// are read in ms. Values of one axis or column share one.
type Scale struct {
	Unit   string  // "ms"; may be empty
	factor float64 // of the values' own unit
}

// units are families of units, smallest first, with their size in the first
// family member's base. A unit is used from its least value on.
var units = [][]struct {
	name        string
	size, least float64
}{
	{{"ns", 1e-9, 0}, {"µs", 1e-6, 1e-6}, {"ms", 1e-3, 1e-3}, {"s", 1, 1}, {"min", 60, 120}, {"h", 3600, 7200}},
	{{"B/s", 1, 0}, {"kB/s", 1e3, 1e4}, {"MB/s", 1e6, 1e6}, {"GB/s", 1e9, 1e10}},
}

// ScaleFor is the scale of values up to largest, which are in unit. Units that
// are not known get k, M and G in front from 10,000 on.
func ScaleFor(largest float64, unit string) Scale {
	largest = math.Abs(largest)
	for _, family := range units {
		for _, own := range family {
			if own.name != unit {
				continue
			}
			s := Scale{own.name, 1}
			for _, u := range family {
				// A value that rounds up to the next unit is printed in that one.
				if largest > 0 && largest*own.size*1.0005 >= u.least {
					s = Scale{u.name, u.size / own.size}
				}
			}
			return s
		}
	}
	for _, prefix := range []struct {
		name string
		size float64
	}{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if largest >= prefix.size && largest >= 1e4 {
			if strings.HasPrefix(unit, "/") {
				return Scale{prefix.name + unit, prefix.size}
			}
			return Scale{strings.TrimSpace(prefix.name + " " + unit), prefix.size}
		}
	}
	return Scale{unit, 1}
}

// Of is a value in the scale's unit.
func (s Scale) Of(v float64) float64 { return v / s.factor }

// Number prints a value with three significant digits, without the unit.
func (s Scale) Number(v float64) string { return Digits(s.Of(v)) }

// Format prints a value with three significant digits and the unit: "6.54 ms".
func (s Scale) Format(v float64) string { return strings.TrimSpace(s.Number(v) + " " + s.Unit) }

// Quantity prints one value for people: three significant digits, and the unit that suits it.
func Quantity(v float64, unit string) string { return ScaleFor(v, unit).Format(v) }

// Digits prints a number with three significant digits: 6.54, 0.0123, 1,230. A
// whole one, such as a count, has no decimals.
func Digits(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if whole := math.Round(v); math.Abs(v) < 1000 && math.Abs(v-whole) <= 1e-9*math.Abs(v) {
		return strconv.FormatFloat(whole, 'f', 0, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	if power := math.Pow(10, float64(decimals)); decimals >= 0 && math.Abs(math.Round(v*power)) >= 1000 {
		decimals-- // 9.999 is 10.0
	}
	if decimals < 0 {
		power := math.Pow(10, float64(-decimals))
		return Group(strconv.FormatFloat(math.Round(v/power)*power, 'f', 0, 64))
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Percent prints a share: "58 %", "3.4 %", "0.62 %".
func Percent(share float64) string {
	p := share * 100
	decimals := 0
	switch a := math.Abs(p); {
	case a < 0.00005:
		return "0 %"
	case a < 0.095:
		return strconv.FormatFloat(p, 'g', 2, 64) + " %"
	case a < 0.995:
		decimals = 2
	case a < 9.95:
		decimals = 1
	}
	text := strconv.FormatFloat(p, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

// Middle is the median of some values, the mean of the two in the middle of an even number,
// and 0 of none.
func Middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Mean is the mean of some values, and 0 of none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// Regression is the least squares line through points, and the share of the variance that it explains.
func Regression(xs, ys []float64) (intercept, slope, r2 float64) {
	x, y := Mean(xs), Mean(ys)
	var xx, xy, yy float64
	for i := range xs {
		dx, dy := xs[i]-x, ys[i]-y
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	slope = xy / xx
	return y - slope*x, slope, slope * xy / yy
}

// Clock prints how long something takes, to the second: "38 s", "1:38 min", "2:05:00 h".
func Clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case s >= 3600:
		return fmt.Sprintf("%d:%02d:%02d h", s/3600, s/60%60, s%60)
	case s >= 60:
		return fmt.Sprintf("%d:%02d min", s/60, s%60)
	case s < 10:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d s", s)
}

// Cut shortens a line to width cells.
func Cut(line string, width int) string { return ansi.Truncate(line, max(width, 0), "") }

// CutAll shortens lines to width cells.
func CutAll(lines []string, width int) []string {
	for i, l := range lines {
		lines[i] = Cut(l, width)
	}
	return lines
}

// ASCII spells what charts, figures and verdicts have beyond ASCII.
var ASCII = strings.NewReplacer("█", "#", "▏", " ", "▎", " ", "▍", " ", "▌", " ", "▋", "#", "▊", "#", "▉", "#", "▓", "%", "▒", "+", "░", ":", "╷", "|", "▇", "#", "▆", "#", "▅", "+", "▄", "+", "▃", "-", "▂", "-", "▁", "_",
	"µ", "u", "±", "+-", "–", "-", "−", "-", "…", "...", "·", "-", "×", "x", "≥", ">=", "²", "2",
	"●", "O", "○", "o", "◉", "@", "├", "[", "┤", "]", "─", "-", "│", "|", "‹", "<", "›", ">", "←", "<-", "→", "->")
