package chart

import (
	"math"
	"strconv"
)

// axis maps values to coordinates, linear or logarithmic.
type axis struct {
	low, high float64 // values at the two ends
	from, to  float64 // coordinates of them
	log       bool
	format    func(float64) string
}

func newAxis(values []float64, log bool) axis {
	a := axis{low: math.Inf(1), high: math.Inf(-1), log: log, format: Short}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 {
			continue
		}
		a.low, a.high = min(a.low, v), max(a.high, v)
	}
	if a.low > a.high {
		a.low, a.high = 1, 1
	}
	return a.stretched()
}

// stretched has two ends that differ.
func (a axis) stretched() axis {
	if a.low == a.high && a.log {
		a.low, a.high = a.low/2, a.high*2
	} else if a.low == a.high {
		a.high = a.low + max(math.Abs(a.low), 1)
	}
	return a
}

// fromZero begins a linear axis at 0, if that does not waste most of it or if it must.
func (a axis) fromZero(must bool) axis {
	if !a.log && (must || a.low > 0 && a.low < 0.6*a.high) {
		a.low, a.high = min(a.low, 0), max(a.high, 0)
	}
	return a.stretched()
}

func (a axis) onto(from, to float64) axis { a.from, a.to = from, to; return a }

func (a axis) at(v float64) float64 {
	share := (v - a.low) / (a.high - a.low)
	if a.log {
		share = math.Log(max(v, 1e-300)/a.low) / math.Log(a.high/a.low)
	}
	return a.from + min(max(share, -0.05), 1.05)*(a.to-a.from)
}

// ticks are about n round values between low and high.
func (a axis) ticks(n int) []float64 {
	if a.log {
		return a.logTicks(n)
	}
	step := niceStep((a.high - a.low) / float64(n))
	var out []float64
	for i := math.Ceil(a.low/step - 1e-9); i*step <= a.high+step*1e-9; i++ {
		out = append(out, i*step+0) // which makes 0 of -0
	}
	return out
}

// logTicks are powers of 2 or of a power of 2, which suit sizes and times alike.
func (a axis) logTicks(n int) []float64 {
	octaves := math.Log2(a.high / a.low)
	step := max(math.Ceil(octaves/float64(n)), 1)
	var out []float64
	for e := math.Ceil(math.Log2(a.low)/step-1e-9) * step; e <= math.Log2(a.high)+1e-9; e += step {
		out = append(out, math.Exp2(e))
	}
	return out
}

// niceStep is the next 1, 2 or 5 times a power of ten.
func niceStep(raw float64) float64 {
	if raw <= 0 || math.IsInf(raw, 0) || math.IsNaN(raw) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*0.999 {
			return m * power
		}
	}
	return 10 * power
}

// Short prints a value in few digits: 0.25, 3.4, 120, 12,000.
func Short(v float64) string {
	if math.Abs(v) >= 10_000 {
		return Group(strconv.FormatFloat(math.Round(v), 'f', 0, 64))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Group puts a comma between each three digits.
func Group(digits string) string {
	out := ""
	for len(digits) > 3 && digits[len(digits)-4] != '-' {
		out = "," + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	return digits + out
}
