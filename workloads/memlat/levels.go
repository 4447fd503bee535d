package memlat

import (
	"fmt"
	"math"
	"slices"

	"piton/internal/chart"
)

// Level is a flat part of the curve: a cache, or memory.
type Level struct {
	Name   string  `json:"name"` // "L1", "memory"; "step 2" where /sys knows no such cache
	Ns     float64 `json:"ns"`
	Cycles float64 `json:"cycles"` // of the core, 0 = not known
	// UpToBytes is where the curve leaves the level, half way up to the next one on
	// a logarithmic scale; 0 for the last.
	UpToBytes int64 `json:"up_to_bytes"`
	SysBytes  int64 `json:"sys_bytes"` // of the cache of that name by /sys, 0 = none
}

// What makes a level.
const (
	// penalty is what one more segment must save of the sum of squares of log2 ns.
	penalty = 0.15
	// leastStep is how many times slower than a level the next one is at least.
	leastStep = 1.8
	// leastPoints are in a level; fewer are on the way up to the next, and so are
	// those of which the last is steepest times slower than the first.
	leastPoints = 4
	steepest    = 1.6
)

// segment is points first..end-1 and their level, in log2 ns.
type segment struct {
	first, end int
	level      float64
}

// levels finds the flat parts of a curve: its best division into segments of
// constant latency, of which those too short or too like the one before are
// taken for the way between two.
func levels(points []Point, coreHz float64, caches []Cache) []Level {
	y := rising(points)
	flat := plateaus(divide(y), y)
	out := make([]Level, len(flat))
	for i, s := range flat {
		out[i] = Level{Ns: round3(math.Exp2(s.level))}
		out[i].Cycles = math.Round(out[i].Ns*coreHz/1e8) / 10
		if i+1 < len(flat) {
			out[i].UpToBytes = crossing(points, y, s, flat[i+1])
		}
	}
	name(out, caches, points)
	return out
}

// rising is log2 of the latencies, each at most that of any larger size: less
// memory is never slower but when something disturbed the measurement.
func rising(points []Point) []float64 {
	y := make([]float64, len(points))
	least := math.Inf(1)
	for i, p := range slices.Backward(points) {
		least = min(least, math.Log2(max(p.Ns, 0.001)))
		y[i] = least
	}
	return y
}

func round3(x float64) float64 { return math.Round(x*1e3) / 1e3 }

// divide returns the division of y into segments with the least sum of squared
// deviations plus penalty for each segment (optimal partitioning; Jackson et
// al., 2005).
func divide(y []float64) []segment {
	n := len(y)
	sum, squares := make([]float64, n+1), make([]float64, n+1)
	for i, v := range y {
		sum[i+1], squares[i+1] = sum[i]+v, squares[i]+v*v
	}
	cost, from := make([]float64, n+1), make([]int, n+1)
	for end := 1; end <= n; end++ {
		cost[end] = math.Inf(1)
		for first := range end {
			s, m := sum[end]-sum[first], float64(end-first)
			c := cost[first] + squares[end] - squares[first] - s*s/m + penalty
			if c < cost[end] {
				cost[end], from[end] = c, first
			}
		}
	}
	var out []segment
	for end := n; end > 0; end = from[end] {
		out = append(out, segment{from[end], end, chart.Middle(y[from[end]:end])})
	}
	slices.Reverse(out)
	return out
}

// plateaus keeps the segments that are levels. One that is not leastStep above
// the last is more of the same.
func plateaus(segments []segment, y []float64) []segment {
	var out []segment
	for i, s := range segments {
		last := i == len(segments)-1
		few := s.end-s.first < leastPoints && !(last && s.end-s.first > 1)
		if few || y[s.end-1]-y[s.first] > math.Log2(steepest) {
			continue
		}
		if k := len(out) - 1; k >= 0 && s.level < out[k].level+math.Log2(leastStep) {
			out[k].end = s.end
			out[k].level = chart.Middle(y[out[k].first:s.end])
			continue
		}
		out = append(out, s)
	}
	if len(out) == 0 && len(y) > 0 { // too few points to tell
		out = []segment{{0, len(y), chart.Middle(y)}}
	}
	return out
}

// crossing is the size at which the curve is half way from one level to the next.
func crossing(points []Point, y []float64, from, to segment) int64 {
	half := (from.level + to.level) / 2
	for i := from.first + 1; i < len(points); i++ {
		if y[i] < half || y[i-1] >= half {
			continue
		}
		a, b := math.Log2(float64(points[i-1].Bytes)), math.Log2(float64(points[i].Bytes))
		return int64(math.Exp2(a + (b-a)*(half-y[i-1])/(y[i]-y[i-1])))
	}
	return int64(points[from.end-1].Bytes)
}

// name calls the levels by the caches that /sys lists. If their numbers agree
// they belong together one by one; if not, by the nearest size, within a factor
// of two and a half.
func name(found []Level, caches []Cache, points []Point) {
	if len(found) == 0 {
		return
	}
	last := len(found) - 1
	inOrder := last == len(caches) || len(caches) == 0
	for i := range found[:last] {
		l := &found[i]
		switch c, ok := nearest(caches, l.UpToBytes); {
		case inOrder:
			l.Name = fmt.Sprintf("L%d", i+1)
			if i < len(caches) {
				l.Name, l.SysBytes = fmt.Sprintf("L%d", caches[i].Level), caches[i].Bytes
			}
		case ok:
			l.Name, l.SysBytes = fmt.Sprintf("L%d", c.Level), c.Bytes
		default:
			l.Name = fmt.Sprintf("step %d", i+1)
		}
	}
	found[last].Name = "memory"
	if n := len(caches); n > 0 && int64(points[len(points)-1].Bytes) <= caches[n-1].Bytes {
		found[last].Name, found[last].SysBytes = fmt.Sprintf("L%d", caches[n-1].Level), caches[n-1].Bytes
	}
}

func nearest(caches []Cache, bytes int64) (Cache, bool) {
	best, distance := Cache{}, math.Log2(2.5)
	for _, c := range caches {
		if d := math.Abs(math.Log2(float64(c.Bytes) / float64(max(bytes, 1)))); d < distance {
			best, distance = c, d
		}
	}
	return best, best.Bytes > 0
}
