package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/workloads/workload"
)

// sampled is a study of one value a run.
func sampled(arms ...[]float64) bench.Results {
	var r bench.Results
	for a, values := range arms {
		p := bench.Placement([]string{"normal", "least-loaded", "fifo:10"}[a])
		r.Study.Placements = append(r.Study.Placements, p)
		for i, v := range values {
			r.Runs = append(r.Runs, bench.RunResult{Placement: p, Index: i, Seconds: v, Metric: v, MigrationSource: "sched"})
		}
	}
	return r
}

// near are ten values close to one another.
func near(value float64) []float64 {
	out := make([]float64, 10)
	for i := range out {
		out[i] = value * (1 + 0.001*float64(i))
	}
	return out
}

// judgedAs compares two samples of a figure.
func judgedAs(f bench.Figure, base, other []float64) bench.Comparison {
	a, b := sampled(base), sampled(other)
	a.Study.Workload, b.Study.Workload = bench.CommandWorkload, bench.CommandWorkload
	a.Study.Figure, b.Study.Figure = f, f
	return bench.CompareAll([][2]bench.Results{{a, b}})[0]
}

func TestForecast(t *testing.T) {
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	past := sampled([]float64{1, 1, 1})
	past.Study.Workload, past.Conditions.Host = "w", "web-07"
	for i := range past.Runs {
		past.Runs[i].Started, past.Runs[i].Seconds = start.Add(time.Duration(i)*1200*time.Millisecond), 1
	}
	h := History{Studies: []bench.Results{past}}
	s := bench.Study{Workload: "w", Runs: 20, Warmup: 1, Placements: []bench.Placement{"normal", "batch"}}
	f, ok := s.Forecast(h.On("web-07"))
	require.True(t, ok)
	assert.Equal(t, "about 1.2 s a run, 42 runs, 50 s", f.Sentence())
	s.Budget, s.Until = 30*time.Second, 0.01
	f, _ = s.Forecast(h.On("web-07"))
	assert.Equal(t, "about 1.2 s a run, at least 42 runs, 30 s", f.Sentence())
	_, ok = s.Forecast(h.On("elsewhere"))
	assert.False(t, ok)
	assert.Equal(t, "about 2.0 s a run, 42 runs, 1:24 min",
		bench.Study{Workload: "w", Runs: 20, Warmup: 1, Placements: s.Placements}.Paced(2*time.Second, past.Runs[0].Seconds).Sentence())
}

func TestJSONLines(t *testing.T) {
	r := sampleResults("one")
	for i, want := range []string{`"migrations":12`, `"migrations":null`} {
		line, err := RunJSON(r.ID, r.Runs[i])
		require.NoError(t, err)
		assert.Contains(t, string(line), `{"type":"run","v":1,"study":"one","workload":"nqueens","placement":`)
		assert.Contains(t, string(line), want)
		for _, name := range []string{"wall_s", "work_s", "user_s", "sys_s", "answer", "run_delay_ns", "voluntary_switches", "max_rss_bytes", "touched", "error"} {
			assert.Contains(t, string(line), `"`+name+`":`)
		}
	}
	line, err := StudyJSON(r)
	require.NoError(t, err)
	assert.Contains(t, string(line), `"conditions":{"host":"web-07","kernel":"6.18.5"`)

	c := bench.Judge(sampled(near(1), near(0.8), nil)).Comparisons
	line, err = ComparisonJSON("", "one", "nqueens", c[0])
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(line, &fields))
	assert.Equal(t, "comparison", fields["type"])
	assert.Equal(t, "normal", fields["base"])
	assert.Equal(t, true, fields["different"])
	assert.InDelta(t, -0.2, fields["delta"], 0.03)
	assert.Contains(t, string(line), "% faster (")
	assert.Contains(t, string(line), ", p < 0.001)", "as it is read")
	line, err = ComparisonJSON("", "one", "nqueens", c[1])
	require.NoError(t, err)
	assert.Contains(t, string(line), `"delta":null`)
	assert.Contains(t, string(line), `"warnings":[]`)
	assert.NotContains(t, string(line), "base_study")
	line, _ = ComparisonJSON("two", "one", "nqueens", c[1])
	assert.Contains(t, string(line), `"study":"one","workload":"nqueens","base_study":"two","base":"normal"`)
}

func TestMetricInRecords(t *testing.T) {
	run := bench.RunResult{Workload: "w", Placement: "normal", Seconds: 0.5, Metric: 12_345}
	line, err := RunJSON("x", run)
	require.NoError(t, err)
	assert.Contains(t, string(line), `"work_s":0.5,"value":12345,`)
	assert.Equal(t, run.Metric, newRunRecord("x", run).result().Metric)
	assert.Equal(t, run.Seconds, newRunRecord("x", run).result().Seconds)

	run.Metric = run.Seconds
	line, err = RunJSON("x", run)
	require.NoError(t, err)
	assert.NotContains(t, string(line), `"value"`)

	c := judgedAs(bench.Figure{Pattern: "triad", Unit: "MB/s", HigherIsBetter: true}, []float64{2}, []float64{2})
	line, err = ComparisonJSON("", "x", "w", c)
	require.NoError(t, err)
	assert.Contains(t, string(line), `"metric":"triad","unit":"MB/s","higher_is_better":true,"base_median":2,"median":2,"base_median_s":2,"median_s":2`)
}

func TestDifferencesInRecords(t *testing.T) {
	for _, tc := range []struct {
		base       []float64
		delta, abs bool
	}{{make([]float64, 10), false, true}, {near(4), true, false}} {
		line, err := ComparisonJSON("", "x", bench.AttachWorkload, judgedAs(bench.Figure{Pattern: "migrations", Unit: "/s"}, tc.base, near(12)))
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(line, &fields))
		for _, name := range []string{"delta", "delta_low", "delta_high", "smallest_visible"} {
			assert.Equal(t, tc.delta, fields[name] != nil, name)
		}
		for _, name := range []string{"difference", "difference_low", "difference_high"} {
			assert.Equal(t, tc.abs, fields[name] != nil, name)
		}
	}
}

// onDay is a study of a day in November.
func onDay(id string, day int, seconds float64) bench.Results {
	r := sampled(near(seconds))
	r.ID, r.Started, r.Conditions.Host = id, time.Date(2026, 11, day, 9, 0, 0, 0, time.UTC), "web-07"
	r.Study.Workload, r.Study.Runs = "nqueens", 10
	return r
}

func TestBeforeFindsTheLastOfTheSameWork(t *testing.T) {
	other, failed, elsewhere := onDay("x", 11, 1), onDay("y", 11, 1), onDay("z", 11, 1)
	other.Study.Noise = 2
	failed.Runs = nil
	elsewhere.Conditions.Host = "web-08"
	now := onDay("now", 12, 1)
	h := History{Studies: []bench.Results{onDay("a", 9, 1), onDay("b", 10, 1), other, failed, elsewhere, now, onDay("later", 13, 1)}}
	e := h.Before(now)
	require.NotNil(t, e)
	assert.Equal(t, "b", e.Then.ID)
	back := onDay("back", 1, 1)
	e = History{Studies: []bench.Results{now, back}}.Before(back)
	require.NotNil(t, e)
	assert.Equal(t, "now", e.Then.ID, "the clock was set back in between")
	assert.Nil(t, History{Studies: []bench.Results{now}}.Before(now))
	_, ok := bench.Against(bench.Results{}, now)
	assert.False(t, ok)
}

func TestCommandStudiesAreKept(t *testing.T) {
	study := bench.Study{Workload: bench.CommandWorkload, Args: []string{"make", "-j4"}, Figure: bench.Figure{Pattern: "x (.*)", Unit: "MB/s", HigherIsBetter: true}, Placements: []bench.Placement{bench.Normal}, Runs: 1}
	study.Noise, study.Until, study.Budget = 3, 0.01, time.Minute
	line, err := StudyJSON(bench.Results{ID: "1", Study: study})
	require.NoError(t, err)
	past, _, bad := sorted(t, append(line, '\n'))
	require.Empty(t, bad)
	assert.Equal(t, study, past.Studies[0].Study)
	assert.Equal(t, workload.Metric{Name: "x (.*)", Unit: "MB/s", HigherIsBetter: true}, study.Metric())
}
