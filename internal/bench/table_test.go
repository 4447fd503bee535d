package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
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
		assert.Regexp(t, `(?m)^least-loaded.*time saved \+\d[\d.]* % \(.*, p<0\.0\d+\)$`, out.String())
		assert.Regexp(t, `(?m)^fifo:10.* no difference found \(±\d[\d.]* %\)$`, out.String())
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
	assert.NotContains(t, all, "saved")
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

func TestForecast(t *testing.T) {
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	past := study([]float64{1, 1, 1})
	past.Study.Workload, past.Conditions.Host = "w", "web-07"
	for i := range past.Runs {
		past.Runs[i].Started, past.Runs[i].Seconds = start.Add(time.Duration(i)*1200*time.Millisecond), 1
	}
	h := History{Studies: []Results{past}}
	s := Study{Workload: "w", Runs: 20, Warmup: 1, Placements: []Placement{"normal", "batch"}}
	f, ok := h.Forecast(s, "web-07")
	require.True(t, ok)
	assert.Equal(t, "about 50 s for 42 runs (estimate from stored results)", f.Sentence())
	s.Budget, s.Until = 30*time.Second, 0.01
	f, _ = h.Forecast(s, "web-07")
	assert.Equal(t, "at least 30 s for 42 runs (estimate from stored results)", f.Sentence())
	_, ok = h.Forecast(s, "elsewhere")
	assert.False(t, ok)
	assert.Equal(t, "about 1:24 min for 42 runs (estimate from a trial run)",
		Study{Workload: "w", Runs: 20, Warmup: 1, Placements: s.Placements}.Trial(past.Runs[0], 2*time.Second).Sentence())
}

func TestJSONLines(t *testing.T) {
	r := sampleResults("one")
	for i, want := range []string{`"migrations":12`, `"migrations":null`} {
		line, err := RunJSON(r.ID, r.Runs[i])
		require.NoError(t, err)
		assert.Contains(t, string(line), `{"type":"run","study":"one","workload":"nqueens","placement":`)
		assert.Contains(t, string(line), want)
		for _, name := range []string{"wall_s", "work_s", "user_s", "sys_s", "answer", "run_delay_ns", "voluntary_switches", "max_rss_bytes", "touched", "error"} {
			assert.Contains(t, string(line), `"`+name+`":`)
		}
	}
	line, err := StudyJSON(r)
	require.NoError(t, err)
	assert.Contains(t, string(line), `"conditions":{"host":"web-07","kernel":"6.18.5"`)

	rng := rand.New(rand.NewPCG(8, 9))
	c := Judge(study(noisy(rng, 10, 1), noisy(rng, 10, 0.8), nil)).Comparisons
	line, err = ComparisonJSON("one", "nqueens", c[0])
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(line, &fields))
	assert.Equal(t, "comparison", fields["type"])
	assert.Equal(t, "normal", fields["base"])
	assert.Equal(t, true, fields["different"])
	assert.InDelta(t, -0.2, fields["delta"], 0.03)
	assert.Contains(t, string(line), "time saved +")
	assert.Contains(t, string(line), ", p<0.001)", "as it is read")
	line, err = ComparisonJSON("one", "nqueens", c[1])
	require.NoError(t, err)
	assert.Contains(t, string(line), `"delta":null`)
	assert.Contains(t, string(line), `"warnings":[]`)
}
