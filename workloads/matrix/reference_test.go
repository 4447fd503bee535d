package matrix

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/chart"
	"piton/workloads/internal/reference"
)

// program is both kernels in C, on one thread. It prints the checksum and the
// time of the multiplication.
const program = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int min(int a, int b) { return a < b ? a : b; }
static void naive(const double *a, const double *b, double *c, int n) {
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0;
			for (int k = 0; k < n; k++) sum += a[i*n+k] * b[k*n+j];
			c[i*n+j] = sum;
		}
}
static void blocked(const double *a, const double *b, double *restrict c, int n) {
	for (int i0 = 0; i0 < n; i0 += 32)
		for (int k0 = 0; k0 < n; k0 += 64)
			for (int j0 = 0; j0 < n; j0 += 256)
				for (int i = i0; i < min(i0 + 32, n); i++)
				{
					int k = k0, k1 = min(k0 + 64, n), j1 = min(j0 + 256, n);
					for (; k + 4 <= k1; k += 4) {
						double x0 = a[i*n+k], x1 = a[i*n+k+1], x2 = a[i*n+k+2], x3 = a[i*n+k+3];
						const double *b0 = b + k*n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
						for (int j = j0; j < j1; j++) c[i*n+j] += x0*b0[j] + x1*b1[j] + x2*b2[j] + x3*b3[j];
					}
					for (; k < k1; k++)
						for (int j = j0; j < j1; j++) c[i*n+j] += a[i*n+k] * b[k*n+j];
				}
}
int main(int argc, char **argv) {
	int n = atoi(argv[2]);
	double *a = malloc(8L*n*n), *b = malloc(8L*n*n), *c = calloc(n*n, 8);
	long long total = 0;
	struct timespec s, e;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) { a[i*n+j] = (3*i + 5*j) % 7; b[i*n+j] = (2*i + 7*j) % 5; c[i*n+j] = 0; }
	clock_gettime(CLOCK_MONOTONIC, &s);
	if (strcmp(argv[1], "naive") == 0) naive(a, b, c, n); else blocked(a, b, c, n);
	clock_gettime(CLOCK_MONOTONIC, &e);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) total += (i % 3 + 1) * (j % 5 + 1) * (long long)c[i*n+j];
	printf("%lld %.9f\n", total, e.tv_sec - s.tv_sec + (e.tv_nsec - s.tv_nsec) / 1e9);
	return 0;
}
`

func runReference(tb testing.TB, binary string, k Kernel, n int) (checksum int64, seconds float64) {
	tb.Helper()
	out, err := exec.Command(binary, string(k), fmt.Sprint(n)).Output()
	require.NoError(tb, err)
	_, err = fmt.Sscan(string(out), &checksum, &seconds)
	require.NoError(tb, err)
	return checksum, seconds
}

func TestReferenceAgrees(t *testing.T) {
	binary := reference.Compile(t, program, "-O2")
	for _, k := range Kernels {
		sum, _ := runReference(t, binary, k, 130)
		require.Equal(t, expected(130), sum, k)
	}
}

// BenchmarkAgainstGCC runs both in turn on one thread and reports the ratio of
// their medians, Go over gcc -O2.
func BenchmarkAgainstGCC(b *testing.B) {
	const n = 500
	binary := reference.Compile(b, program, "-O2")
	for _, k := range Kernels {
		b.Run(string(k), func(b *testing.B) {
			var inC, inGo []float64
			for b.Loop() {
				_, seconds := runReference(b, binary, k, n)
				inC = append(inC, seconds)
				r, err := Run(b.Context(), Options{N: n, Threads: 1, Mapping: ByKernel, Kernel: k})
				require.NoError(b, err)
				inGo = append(inGo, r.Seconds)
			}
			b.ReportMetric(chart.Middle(inGo), "go-s")
			b.ReportMetric(chart.Middle(inC), "gcc-s")
			b.ReportMetric(chart.Middle(inGo)/chart.Middle(inC), "go/gcc")
		})
	}
}
