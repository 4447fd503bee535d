package nqueens

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/chart"
	"piton/workloads/internal/reference"
)

// program is count in C. It prints the solutions and the time taken.
const program = `
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static uint64_t count(uint32_t full, uint32_t cols, uint32_t left, uint32_t right) {
	struct { uint32_t free, cols, left, right; } stack[32];
	uint64_t n = 0;
	int depth = 0;
	uint32_t fre = full & ~(cols | left | right);
	if (cols == full) return 1;
	if (!fre) return 0;
	for (;;) {
		uint32_t queen = fre & -fre, rest = fre ^ queen;
		uint32_t c = cols | queen, l = (left | queen) << 1, r = (right | queen) >> 1;
		uint32_t below = full & ~(c | l | r);
		if (below) {
			if (rest) {
				stack[depth].free = rest; stack[depth].cols = cols;
				stack[depth].left = left; stack[depth].right = right;
				depth++;
			}
			fre = below; cols = c; left = l; right = r;
			continue;
		}
		if (c == full) n++;
		if (rest) { fre = rest; continue; }
		if (!depth) return n;
		depth--;
		fre = stack[depth].free; cols = stack[depth].cols;
		left = stack[depth].left; right = stack[depth].right;
	}
}
int main(int argc, char **argv) {
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	uint64_t n = count((1u << atoi(argv[1])) - 1, 0, 0, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%llu %.9f\n", (unsigned long long)n, b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9);
	return 0;
}
`

func runReference(tb testing.TB, binary string, n int) (solutions uint64, seconds float64) {
	tb.Helper()
	out, err := exec.Command(binary, fmt.Sprint(n)).Output()
	require.NoError(tb, err)
	_, err = fmt.Sscan(string(out), &solutions, &seconds)
	require.NoError(tb, err)
	return solutions, seconds
}

func TestReferenceAgrees(t *testing.T) {
	binary := reference.Compile(t, program, "-O2")
	for n := MinN; n <= 12; n++ {
		found, _ := runReference(t, binary, n)
		require.Equal(t, solutions[n], found, "N=%d", n)
	}
}

// BenchmarkAgainstGCC runs both in turn and reports the ratio of their medians,
// Go over gcc -O2, both by the wall clock.
func BenchmarkAgainstGCC(b *testing.B) {
	const n = 14
	binary := reference.Compile(b, program, "-O2")
	var inC, inGo []float64
	for b.Loop() {
		_, seconds := runReference(b, binary, n)
		inC = append(inC, seconds)
		start := time.Now()
		require.Equal(b, solutions[n], count(1<<n-1, 0, 0, 0))
		inGo = append(inGo, time.Since(start).Seconds())
	}
	b.ReportMetric(chart.Middle(inGo), "go-s")
	b.ReportMetric(chart.Middle(inC), "gcc-s")
	b.ReportMetric(chart.Middle(inGo)/chart.Middle(inC), "go/gcc")
}
