package stream

// scalar is the factor of scale and triad, as in McCalpin's STREAM.
const scalar = 3.0

// kernels are the four loops over a range of the arrays. Slices of one call are
// of equal length.
type kernels struct {
	copy  func(dst, src []float64)
	scale func(dst, src []float64)
	add   func(dst, a, b []float64)
	triad func(dst, a, b []float64) // a + scalar·b
}

// plain are the loops in Go, for every architecture. Four elements a turn cost
// one bounds check less than four, which shows in scale and add.
var plain = kernels{copyPlain, scalePlain, addPlain, triadPlain}

func copyPlain(dst, src []float64) { copy(dst, src) }

func scalePlain(dst, src []float64) {
	src = src[:len(dst)]
	for len(dst) >= 4 {
		d, s := (*[4]float64)(dst), (*[4]float64)(src)
		d[0], d[1], d[2], d[3] = scalar*s[0], scalar*s[1], scalar*s[2], scalar*s[3]
		dst, src = dst[4:], src[4:]
	}
	for i := range dst {
		dst[i] = scalar * src[i]
	}
}

func addPlain(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for len(dst) >= 4 {
		d, x, y := (*[4]float64)(dst), (*[4]float64)(a), (*[4]float64)(b)
		d[0], d[1], d[2], d[3] = x[0]+y[0], x[1]+y[1], x[2]+y[2], x[3]+y[3]
		dst, a, b = dst[4:], a[4:], b[4:]
	}
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func triadPlain(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for len(dst) >= 4 {
		d, x, y := (*[4]float64)(dst), (*[4]float64)(a), (*[4]float64)(b)
		d[0], d[1], d[2], d[3] = x[0]+scalar*y[0], x[1]+scalar*y[1], x[2]+scalar*y[2], x[3]+scalar*y[3]
		dst, a, b = dst[4:], a[4:], b[4:]
	}
	for i := range dst {
		dst[i] = a[i] + scalar*b[i]
	}
}
