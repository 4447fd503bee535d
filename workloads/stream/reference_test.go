package stream

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/chart"
	"piton/workloads/internal/reference"
)

// compileReference builds testdata/reference.c with arrays of that size.
func compileReference(tb testing.TB, mib int) string {
	tb.Helper()
	text, err := os.ReadFile("testdata/reference.c")
	require.NoError(tb, err)
	return reference.Compile(tb, string(text), "-O3", fmt.Sprintf("-DMIB=%dL", mib))
}

func runReference(tb testing.TB, binary string, reps int) (mbs [4]float64, answer string) {
	tb.Helper()
	out, err := exec.Command(binary, fmt.Sprint(reps)).Output()
	require.NoError(tb, err)
	_, err = fmt.Sscan(string(out), &mbs[0], &mbs[1], &mbs[2], &mbs[3], &answer)
	require.NoError(tb, err)
	return mbs, answer
}

func TestReferenceAgrees(t *testing.T) {
	_, answer := runReference(t, compileReference(t, 1), 7)
	r, err := Run(t.Context(), options(func(o *Options) { o.Reps = 7 }))
	require.NoError(t, err)
	require.Equal(t, answer, r.Answer)
}

// BenchmarkAgainstGCC runs STREAM of gcc -O3 and both kinds of loops in turn, on
// one thread, and reports the ratios of the medians of their best bandwidths.
// -benchtime 11x gives eleven rounds.
func BenchmarkAgainstGCC(b *testing.B) {
	const mib, reps = 128, 10
	binary := compileReference(b, mib)
	var inC [4][]float64
	inGo := map[Loops]*[4][]float64{Plain: {}, Vector: {}}
	for b.Loop() {
		mbs, _ := runReference(b, binary, reps)
		for i, v := range mbs {
			inC[i] = append(inC[i], v)
		}
		for loops, figures := range inGo {
			if loops == Vector && !haveVector() {
				continue
			}
			r, err := Run(b.Context(), options(func(o *Options) { o.MiB, o.Reps, o.Loops = mib, reps, loops }))
			require.NoError(b, err)
			for i, op := range r.Ops {
				figures[i] = append(figures[i], op.BestMBs)
			}
		}
	}
	for i, name := range opNames {
		c := chart.Middle(inC[i])
		b.ReportMetric(c, "gcc-"+name+"-MB/s")
		for loops, figures := range inGo {
			if len(figures[i]) > 0 {
				b.ReportMetric(chart.Middle(figures[i])/c, string(loops)+"-"+name+"/gcc")
			}
		}
	}
}
