package bench

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text are the lines of a study.
func text(lines []Line) []string {
	var out []string
	for _, line := range lines {
		all := ""
		for _, s := range line {
			all += s.Text
		}
		out = append(out, strings.TrimRight(all, " "))
	}
	return out
}

func TestLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	r := study(noisy(rng, 10, 1), noisy(rng, 10, 0.9), noisy(rng, 10, 1), nil)
	for i := range r.Runs {
		r.Runs[i].Wall, r.Runs[i].RunDelay, r.Runs[i].HaveRunDelay = time.Second, 12*time.Millisecond, true
	}
	r.Runs = append(r.Runs, RunResult{Placement: "rr:10", Err: "not permitted"})
	for _, width := range []int{80, 120, 200} {
		lines := text(Judge(r).Lines(TableOptions{Width: width}))
		for _, l := range lines {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), width)
		}
		all := strings.Join(lines, "\n")
		assert.Regexp(t, `^least-loaded is \d+ % faster than normal \(`, lines[0])
		assert.Regexp(t, `(?m)^PLACEMENT +TIME  AGAINST normal .* % .* 0 .* % .*faster`, all)
		assert.Regexp(t, `(?m)^normal +2\d\d ms  base +●`, all)
		assert.Regexp(t, `(?m)^least-loaded +2\d\d ms  \d+ % faster +│ +├─*●─*┤`, all)
		assert.Regexp(t, `(?m)^fifo:10 +2\d\d ms  no difference ±\d`, all)
		assert.Regexp(t, `(?m)^rr:10 +–  every run failed`, all)
		assert.Regexp(t, `(?m)^RUN BY RUN, 2\d\d to 2\d\d ms$`, all)
		assert.Regexp(t, `(?m)^normal +[▁▂▃▄▅▆▇]{10}`, all)
		assert.Equal(t, width > 80, strings.Contains(all, "MIG   WAIT"), "80 columns have no room beside the axis")
		assert.Equal(t, width > 80, strings.Contains(all, "1.2 %"))
	}
	narrow := text(Judge(r).Lines(TableOptions{Width: 50}))
	assert.Contains(t, narrow[0], "faster than normal", "the answer is never left out")
	assert.NotContains(t, strings.Join(narrow, "\n"), "●")

	var out strings.Builder
	require.NoError(t, WriteText(&out, r, TableOptions{Width: 120}))
	assert.Contains(t, out.String(), "note: rr:10: 1 run failed and left out: not permitted\n")
}

// TestARunningStudyHasNoWinner: while runs are coming there are runs to see and no
// verdict.
func TestARunningStudyHasNoWinner(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	rep := Judge(study(noisy(rng, 10, 1), noisy(rng, 10, 0.5)))
	rep.Asked = 20
	all := strings.Join(text(rep.Lines(TableOptions{Width: 120, Running: true})), "\n")
	for _, no := range []string{"faster", "├", "base", "●"} {
		assert.NotContains(t, all, no)
	}
	assert.Equal(t, 2, strings.Count(all, "10 of 20"))
	assert.Contains(t, all, "RUN BY RUN")
}

func TestASCIILines(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, line := range Judge(study(noisy(rng, 10, 1), noisy(rng, 10, 1))).Lines(TableOptions{Width: 120, ASCII: true}) {
		for _, s := range line {
			if s.Part == EffectPart && !strings.Contains(s.Text, "%") { // not the axis
				assert.Regexp(t, `^[\[\]\-|O ]+$`, s.Text)
			}
		}
	}
}

// TestWaitIsAtMostAllOfTheTime, also of many threads.
func TestWaitIsAtMostAllOfTheTime(t *testing.T) {
	run := RunResult{Seconds: 1, Wall: time.Second, RunDelay: 90 * time.Second, User: 2 * time.Second, HaveRunDelay: true}
	assert.InDelta(t, 90.0/92, newArm(Normal, []RunResult{run}).Wait, 1e-9)
	run.RunDelay, run.User = 12*time.Millisecond, 900*time.Millisecond
	assert.InDelta(t, 0.012, newArm(Normal, []RunResult{run}).Wait, 1e-9)
}

func TestNotesAreAtMostTwo(t *testing.T) {
	shown, rest := Report{Warnings: []string{"a", "b", "c"}}.Notes()
	assert.Equal(t, []string{"a", "b"}, shown)
	assert.Equal(t, []string{"c"}, rest)
	shown, rest = Report{}.Notes()
	assert.Empty(t, append(shown, rest...))
}

func TestRowsShareAUnit(t *testing.T) {
	rows := Rows(Judge(study([]float64{1.5, 1.5, 1.5}, []float64{0.05, 0.05, 0.05})))
	assert.Equal(t, "1.50 s", rows[0].Median)
	assert.Equal(t, "0.0500 s", rows[1].Median)
	assert.Equal(t, "base", rows[0].Verdict)
}

func TestRowsOfNothing(t *testing.T) {
	assert.Empty(t, Rows(Report{}))
	assert.NoError(t, WriteText(nil, Results{}, TableOptions{}))
	rows := Rows(Judge(study(nil, nil)))
	assert.Equal(t, None, rows[0].Median)
	assert.Equal(t, None, rows[0].Verdict)
	assert.Contains(t, rows[1].Verdict, "nothing to compare")
}
