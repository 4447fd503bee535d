package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	r := study(noisy(rng, 10, 1), noisy(rng, 10, 0.9), noisy(rng, 10, 1), nil)
	r.Runs[0].Migrations = 100
	r.Runs = append(r.Runs, RunResult{Placement: "rr:10", Err: "not permitted"})
	rep := Judge(r)
	for _, width := range []int{80, 120, 200} {
		var out strings.Builder
		require.NoError(t, WriteTable(&out, rep, TableOptions{Width: width}))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, l := range lines {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), width)
		}
		assert.Regexp(t, `^placement +median +.*│2\d\d ms`, lines[0])
		assert.Regexp(t, `^normal +2\d\d ms .*├.*●.*┤`, lines[1])
		assert.Regexp(t, `^least-loaded +2\d\d ms .*├.*●.*┤`, lines[2])
		assert.Regexp(t, `^rr:10 +– `, lines[4]+" ")
		assert.Regexp(t, `(?m)^least-loaded.*\d[\d.]* % faster \(.*, p (<|=) 0\.0\d+\)$`, out.String())
		assert.Regexp(t, `(?m)^fifo:10.* no difference ±\d[\d.]* %$`, out.String())
		assert.Regexp(t, `(?m)^rr:10.* every run failed$`, out.String())
		assert.Equal(t, "note: rr:10: 1 run failed and left out", lines[len(lines)-1])
	}
}

// TestARunningStudyHasNoWinner: while runs are coming there are runs to see and no
// verdict.
func TestARunningStudyHasNoWinner(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	rep := Judge(study(noisy(rng, 10, 1), noisy(rng, 10, 0.5)))
	rep.Asked = 20
	lines, below := rep.Table(TableOptions{Width: 120, Running: true})
	assert.Empty(t, below)
	all := fmt.Sprint(lines)
	assert.NotContains(t, all, "faster")
	assert.NotContains(t, all, "├")
	assert.NotContains(t, all, "base")
	assert.Equal(t, 2, strings.Count(all, "10 of 20"))
	assert.Equal(t, 2, strings.Count(all, "●"))
}

func TestASCIITable(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	lines, _ := Judge(study(noisy(rng, 10, 1), noisy(rng, 10, 1))).Table(TableOptions{Width: 120, ASCII: true})
	for _, line := range lines {
		for _, s := range line {
			if s.Part == StripPart {
				assert.Regexp(t, `^[\[\]\-.:O ]+$`, s.Text)
			}
		}
	}
}

func TestRowsShareAUnit(t *testing.T) {
	rows := Rows(Judge(study([]float64{1.5, 1.5, 1.5}, []float64{0.05, 0.05, 0.05})))
	assert.Equal(t, "1.50 s", rows[0].Median)
	assert.Equal(t, "0.0500 s", rows[1].Median)
	assert.Equal(t, "base", rows[0].Verdict)
}

func TestRowsOfNothing(t *testing.T) {
	assert.Empty(t, Rows(Report{}))
	assert.NoError(t, WriteTable(nil, Report{}, TableOptions{}))
	rows := Rows(Judge(study(nil, nil)))
	assert.Equal(t, None, rows[0].Median)
	assert.Equal(t, None, rows[0].Verdict)
	assert.Contains(t, rows[1].Verdict, "nothing to compare")
}
