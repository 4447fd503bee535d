package matrix

import "fmt"

// The factors hold small integers with periods that have no common divisor, so
// that rows and columns differ, every product and sum is an integer, and
// float64 adds them without rounding in any order.

func leftAt(i, k int) int  { return (3*i + 5*k) % 7 }
func rightAt(k, j int) int { return (2*k + 7*j) % 5 }

func left(n int) []float64  { return fill(n, leftAt) }
func right(n int) []float64 { return fill(n, rightAt) }

func fill(n int, at func(row, col int) int) []float64 {
	m := make([]float64, n*n)
	for i := range n {
		for j := range n {
			m[i*n+j] = float64(at(i, j))
		}
	}
	return m
}

// The checksum weighs rows and columns, so that a row put in another's place
// shows. It is at most 16384³·6·4·3·5 < 2^53.
func rowWeight(i int) int64 { return int64(i%3 + 1) }
func colWeight(j int) int64 { return int64(j%5 + 1) }

// checksum is Σ rowWeight(i)·colWeight(j)·c[i][j].
func checksum(c []float64, n int) int64 {
	var total int64
	for i := range n {
		var sum int64
		for j, x := range c[i*n : i*n+n] {
			sum += colWeight(j) * int64(x)
		}
		total += rowWeight(i) * sum
	}
	return total
}

// expected is the checksum that a right product has, from the factors alone:
// Σₖ (Σᵢ rowWeight(i)·a[i][k])·(Σⱼ colWeight(j)·b[k][j]).
func expected(n int) int64 {
	var total int64
	for k := range n {
		var a, b int64
		for i := range n {
			a += rowWeight(i) * int64(leftAt(i, k))
			b += colWeight(i) * int64(rightAt(k, i))
		}
		total += a * b
	}
	return total
}

// Check compares the checksum with the known one.
func (r Result) Check() error {
	if want := expected(r.N); r.Checksum != want {
		return fmt.Errorf("the checksum of the %d×%d product is %d where it must be %d", r.N, r.N, r.Checksum, want)
	}
	return nil
}
