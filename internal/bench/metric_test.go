package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
		{bandwidth, "10 % more triad (10 to 10 %, p < 0.001)"},
		{workload.Metric{Name: "throughput", Unit: "messages/s", HigherIsBetter: true}, "10 % more messages/s (10 to 10 %, p < 0.001)"},
		{workload.Metric{Name: "load latency", Unit: "ns"}, "10 % longer load latency (10 to 10 %, p < 0.001)"},
		{workload.Metric{Name: "time lost", Unit: "%"}, "10 % more time lost, worse (10 to 10 %, p < 0.001)"},
		{workload.Metric{}, "10 % slower (10 to 10 %, p < 0.001)"},
	} {
		cs := []Comparison{compare(tc.metric, newArm("normal", base), newArm("spread", other))}
		correct(cs, 0)
		assert.Equal(t, tc.want, cs[0].Verdict)
		assert.Equal(t, tc.metric.HigherIsBetter, cs[0].Better())
	}
}

func TestMetricInTable(t *testing.T) {
	metric := workload.Metric{Name: "triad", Unit: "MB/s", HigherIsBetter: true}
	base := newArm("normal", []RunResult{{Seconds: 2, Metric: 12_345.6}})
	rows := Rows(Report{Metric: metric, Arms: []Arm{base}})
	assert.Equal(t, "12.3 GB/s", rows[0].Median)
	assert.Equal(t, "500 ms", workload.Metric{}.Format(0.5))
}
