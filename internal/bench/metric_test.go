package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/workloads/workload"
)

func TestMoreBandwidthIsBetter(t *testing.T) {
	bandwidth := workload.Metric{Name: "triad", Unit: "MB/s", HigherIsBetter: true}
	var base, other []RunResult
	for i := range 10 {
		base = append(base, RunResult{Index: i, Seconds: 1, Metric: 10_000 + float64(i)})
		other = append(other, RunResult{Index: i, Seconds: 1, Metric: 11_000 + float64(i)})
	}
	for _, tc := range []struct {
		metric workload.Metric
		want   string
	}{
		{bandwidth, "triad +10 %, better (10–10 %, p<0.001)"},
		{workload.Metric{Name: "load latency", Unit: "ns"}, "load latency +10 %, worse (10–10 %, p<0.001)"},
		{workload.Metric{}, "time added +10 % (10–10 %, p<0.001)"},
	} {
		cs := []Comparison{compare(tc.metric, newArm("normal", base), newArm("spread", other))}
		correct(cs)
		assert.Equal(t, tc.want, cs[0].Verdict)
		assert.Equal(t, tc.metric.HigherIsBetter, cs[0].Better())
	}
}

func TestMetricInRecordsAndTable(t *testing.T) {
	run := RunResult{Workload: "w", Placement: "normal", Seconds: 0.5, Metric: 12_345}
	line, err := RunJSON("x", run)
	require.NoError(t, err)
	assert.Contains(t, string(line), `"work_s":0.5,"value":12345,`)
	assert.Equal(t, run.Metric, newRunRecord("x", run).result().Metric)
	assert.Equal(t, run.Seconds, newRunRecord("x", run).result().Seconds)

	run.Metric = run.Seconds
	line, err = RunJSON("x", run)
	require.NoError(t, err)
	assert.NotContains(t, string(line), `"value"`)

	metric := workload.Metric{Name: "triad", Unit: "MB/s", HigherIsBetter: true}
	base := newArm("normal", []RunResult{{Seconds: 2, Metric: 12_345.6}})
	c := compare(metric, base, base)
	line, err = ComparisonJSON("x", "w", c)
	require.NoError(t, err)
	assert.Contains(t, string(line), `"metric":"triad","unit":"MB/s","higher_is_better":true,"base_median":12345.6,"median":12345.6,"base_median_s":2,"median_s":2`)
	rows := Rows(Report{Metric: metric, Arms: []Arm{base}})
	assert.Equal(t, "12.3 GB/s", rows[0].Median)
	assert.Equal(t, "500 ms", workload.Metric{}.Format(0.5))
}
