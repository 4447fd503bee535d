package stream

import "golang.org/x/sys/cpu"

// haveVector reports whether the CPU and the kernel have what vector needs.
func haveVector() bool { return cpu.X86.HasAVX2 }

// vector are the loops with AVX2 and stores that pass the caches by. Such a store
// does not read the line first that it is going to overwrite, a third or a
// quarter of what goes over the memory bus otherwise. 512-bit loads and stores
// were a tenth slower than these on a Zen 4.
var vector = kernels{
	copy: func(dst, src []float64) {
		n := inVectors(dst)
		if n > 0 {
			copyAVX2(&dst[0], &src[0], n)
		}
		copyPlain(dst[n:], src[n:])
	},
	scale: func(dst, src []float64) {
		n := inVectors(dst)
		if n > 0 {
			scaleAVX2(&dst[0], &src[0], scalar, n)
		}
		scalePlain(dst[n:], src[n:])
	},
	add: func(dst, a, b []float64) {
		n := inVectors(dst)
		if n > 0 {
			addAVX2(&dst[0], &a[0], &b[0], n)
		}
		addPlain(dst[n:], a[n:], b[n:])
	},
	triad: func(dst, a, b []float64) {
		n := inVectors(dst)
		if n > 0 {
			triadAVX2(&dst[0], &a[0], &b[0], scalar, n)
		}
		triadPlain(dst[n:], a[n:], b[n:])
	},
}

// inVectors is how many elements whole turns of the assembly loops take.
func inVectors(s []float64) int { return len(s) &^ 15 }

// The loops take a multiple of 16 elements; dst must be aligned to 32 bytes.

//go:noescape
func copyAVX2(dst, src *float64, n int)

//go:noescape
func scaleAVX2(dst, src *float64, s float64, n int)

//go:noescape
func addAVX2(dst, a, b *float64, n int)

//go:noescape
func triadAVX2(dst, a, b *float64, s float64, n int)
