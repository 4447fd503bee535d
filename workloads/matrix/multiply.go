package matrix

// Tile sizes of the blocked kernel: tileRows rows of c, tileDepth rows of b and
// tileCols columns, so that a tile of b (64×256 doubles, 128 KiB) stays in the
// second-level cache and a row of it in the first.
const (
	tileRows  = 32
	tileDepth = 64
	tileCols  = 256
)

// rowsNaive computes rows first..end-1 of c = a·b, all n×n and stored by rows.
func rowsNaive(a, b, c []float64, n, first, end int) {
	for i := first; i < end; i++ {
		row := a[i*n : i*n+n]
		for j := range n {
			var sum float64
			at := j
			for _, x := range row {
				sum += x * b[at]
				at += n
			}
			c[i*n+j] = sum
		}
	}
}

// rowsBlocked does the same tile by tile. c must be zero.
func rowsBlocked(a, b, c []float64, n, first, end int) {
	for k0 := 0; k0 < n; k0 += tileDepth {
		k1 := min(k0+tileDepth, n)
		for j0 := 0; j0 < n; j0 += tileCols {
			j1 := min(j0+tileCols, n)
			for i := first; i < end; i++ {
				out := c[i*n+j0 : i*n+j1]
				k := k0
				for ; k+4 <= k1; k += 4 {
					x := (*[4]float64)(a[i*n+k:])
					at := k*n + j0
					addFour(out, b[at:], b[at+n:], b[at+2*n:], b[at+3*n:], x)
				}
				for ; k < k1; k++ {
					addOne(out, b[k*n+j0:], a[i*n+k])
				}
			}
		}
	}
}

// addFour adds x[i] times the i-th row to out. Four rows at once need a quarter
// of the loads and stores of out, which is where Go, unlike gcc, spends its time.
func addFour(out, b0, b1, b2, b3 []float64, x *[4]float64) {
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	b0, b1, b2, b3 = b0[:len(out)], b1[:len(out)], b2[:len(out)], b3[:len(out)]
	for j := range out {
		out[j] += x0*b0[j] + x1*b1[j] + x2*b2[j] + x3*b3[j]
	}
}

// addOne adds x times the row to out.
func addOne(out, b []float64, x float64) {
	b = b[:len(out)]
	for j := range out {
		out[j] += x * b[j]
	}
}
