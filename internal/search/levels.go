package search

import (
	"math"
	"slices"

	"piton/internal/chart"
)

// period is one reading as the regression needs it.
type period struct {
	candidate int
	rate      float64
}

// levels are the log ratios of candidates to the default, estimated from all periods so
// far. They select; they decide nothing.
type levels struct {
	of      []float64 // by candidate; 0 for the default, NaN without a period
	row     []int     // by candidate; -1 without a period
	rho     float64   // lag-1 autocorrelation of the noise
	scale   float64   // of an innovation, log rate
	score   float64   // minus twice the log likelihood
	inverse []float64 // of the normal equations' matrix
}

// correlations are the lag-1 autocorrelations tried for the noise; 0 to 0.83 was
// measured (FACTS §8).
var correlations = []float64{0, 0.3, 0.6, 0.85}

const (
	// huber is where innovations begin to count less, in standard deviations: 95 % as
	// efficient as least squares in normal noise.
	huber = 1.345
	// firstPasses are those of the first correlation, from least squares; the others start
	// from the weights before.
	firstPasses, laterPasses = 4, 2
	// smallestScale keeps weights defined where all rates are equal.
	smallestScale = 1e-6
)

// fit estimates the levels by regression with first-order autocorrelated errors, the
// correlation chosen by likelihood (Hildreth & Lu, 1960; the first period as Prais &
// Winsten, 1954) and large innovations weighted down (Huber, 1964): a burst of interference
// over several periods costs those where it starts and ends. Unlike ratios to the
// default of the same round it uses all neighbours in time, whichever candidates they are.
func fit(periods []period, n int) levels {
	f := fitter{logs: logarithms(periods), rows: make([]int, len(periods)), weights: make([]float64, len(periods))}
	row := make([]int, n)
	for c := range row {
		row[c] = -1
	}
	for t, p := range periods {
		if row[p.candidate] < 0 {
			row[p.candidate] = f.size
			f.size++
		}
		f.rows[t], f.weights[t] = row[p.candidate], 1
	}
	best := f.at(correlations[0], firstPasses)
	for _, rho := range correlations[1:] {
		if l := f.at(rho, laterPasses); l.score < best.score {
			best = l
		}
	}
	of := make([]float64, n)
	for c, r := range row {
		of[c] = math.NaN()
		if r >= 0 {
			of[c] = best.of[r] - best.of[row[0]]
		}
	}
	best.of, best.row = of, row
	return best
}

// errorOf is the standard error of the difference of two candidates' levels.
func (l *levels) errorOf(a, b int) float64 {
	i, j, n, of := l.row[a], l.row[b], 1+slices.Max(l.row), l.inverse
	return l.scale * math.Sqrt(max(of[i*n+i]+of[j*n+j]-2*of[i*n+j], 0))
}

// pairSD is the standard deviation of the difference of adjacent periods.
func (l *levels) pairSD() float64 { return l.scale * math.Sqrt(2/(1+l.rho)) }

// fitter holds one regression: of each period the log rate, the row of its candidate and
// the weight.
type fitter struct {
	logs    []float64
	rows    []int
	weights []float64
	size    int // rows
}

// at is the fit at one correlation.
func (f *fitter) at(rho float64, passes int) levels {
	residuals, level := make([]float64, len(f.logs)), make([]float64, f.size)
	l := levels{of: level, rho: rho}
	for range passes {
		normal, right := f.equations(rho)
		invert(normal, f.size)
		l.inverse = normal
		for i := range level {
			level[i] = 0
			for j, r := range right {
				level[i] += normal[i*f.size+j] * r
			}
		}
		f.innovations(rho, level, residuals)
		l.scale = spread(residuals, f.size)
		for t, r := range residuals {
			f.weights[t] = min(1, huber*l.scale/max(math.Abs(r), smallestScale))
		}
	}
	for t, r := range residuals {
		residuals[t] = math.Abs(r)
	}
	l.score = 2*float64(len(residuals))*math.Log(chart.Mean(residuals)+smallestScale) - math.Log(1-rho*rho)
	return l
}

// equations are the normal equations of the whitened regression
// y[t] - rho·y[t-1] = level[t] - rho·level[t-1]. Every candidate has a period and rho is below 1:
// the matrix is positive definite.
func (f *fitter) equations(rho float64) (normal, right []float64) {
	normal, right = make([]float64, f.size*f.size), make([]float64, f.size)
	for t, w := range f.weights {
		i := f.rows[t]
		if t == 0 {
			w *= 1 - rho*rho
			normal[i*f.size+i] += w
			right[i] += w * f.logs[0]
			continue
		}
		j, z := f.rows[t-1], f.logs[t]-rho*f.logs[t-1]
		normal[i*f.size+i] += w
		normal[j*f.size+j] += w * rho * rho
		normal[i*f.size+j] -= w * rho
		normal[j*f.size+i] -= w * rho
		right[i] += w * z
		right[j] -= w * rho * z
	}
	return normal, right
}

// invert replaces a positive definite matrix of n rows by its inverse (Gauss and Jordan, who need
// no pivoting there).
func invert(m []float64, n int) {
	for k := range n {
		pivot := m[k*n : (k+1)*n]
		scale := 1 / pivot[k]
		pivot[k] = 1
		for j := range pivot {
			pivot[j] *= scale
		}
		for i := range n {
			if i == k {
				continue
			}
			row := m[i*n : (i+1)*n]
			factor := row[k]
			row[k] = 0
			for j, p := range pivot {
				row[j] -= factor * p
			}
		}
	}
}

// innovations are the residuals of the whitened regression.
func (f *fitter) innovations(rho float64, level, into []float64) {
	before := 0.0
	for t, y := range f.logs {
		r := y - level[f.rows[t]]
		into[t] = r - rho*before
		if t == 0 {
			into[t] = math.Sqrt(1-rho*rho) * r
		}
		before = r
	}
}

// spread is the scale of the residuals of a regression with so many parameters: the mean
// of the smaller nine tenths of their sizes, as the standard deviation of a normal sample
// with that mean (1.52: 0.9/(2·(φ(0)-φ(1.645)))) and corrected for the parameters.
func spread(residuals []float64, parameters int) float64 {
	sizes := make([]float64, len(residuals))
	for i, r := range residuals {
		sizes[i] = math.Abs(r)
	}
	slices.Sort(sizes)
	sizes = sizes[:len(sizes)-len(sizes)/10]
	free := math.Sqrt(float64(len(residuals)) / float64(max(len(residuals)-parameters, 1)))
	return max(chart.Mean(sizes)*1.52*free, smallestScale)
}
