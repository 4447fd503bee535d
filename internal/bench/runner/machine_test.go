package runner

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/workloads"
	"piton/workloads/stream"
	"piton/workloads/workload"
)

// The workloads of memory, activity and switches run small as children, are left
// as they were placed, and their results can be drawn.
func TestStudiesRunAsChildren(t *testing.T) {
	for _, tc := range []struct {
		workload string
		args     []string
		answer   string
	}{
		{"stream", []string{"--size", "1", "--reps", "3", "--threads", "2"}, "6750,1350,1800"},
		{"stream", []string{"--size", "1", "--reps", "3", "--matrix", "cpus", "--loops", "plain"}, "6750,1350,1800"},
		{"memlat", []string{"--size", "1"}, "16384"},
		{"activity", []string{"--ms", "30"}, "30"},
		{"activity", []string{"--ms", "30", "--counter", "clock"}, "30"},
		{"ctxswitch", []string{"--rounds", "200"}, "400"},
		{"ctxswitch", []string{"--rounds", "100", "--procs", "3", "--kib", "16", "--mode", "futex"}, "300"},
	} {
		t.Run(tc.workload, func(t *testing.T) {
			w, err := workloads.Find(tc.workload)
			require.NoError(t, err)
			study := bench.Study{Workload: tc.workload, Args: tc.args, Placements: []bench.Placement{bench.Normal}, Runs: 2, Timeout: time.Minute}
			require.NoError(t, study.Validate())
			results, err := newRunner(t).Run(t.Context(), study, nil)
			require.NoError(t, err)
			for _, run := range results.Runs {
				require.Empty(t, run.Err)
				assert.Equal(t, tc.answer, run.Answer)
				assert.True(t, run.Valid(), "%s", run.TouchedWhat)
				assert.Positive(t, run.Seconds)
				assert.GreaterOrEqual(t, run.Metric, 0.0)
				drawn, err := w.Result(run.Detail)
				require.NoError(t, err)
				lines := drawn.Picture(80)
				assert.NotEmpty(t, lines)
				for _, l := range lines {
					assert.LessOrEqual(t, utf8.RuneCountInString(l), 80)
				}
			}
			lines, err := results.Picture(80)
			require.NoError(t, err)
			assert.Equal(t, "normal, run 2 of 2:", lines[0])
			rep := bench.Judge(results)
			assert.Equal(t, w.Metric.Format(rep.Arms[0].Median), bench.Rows(rep)[0].Median)
		})
	}
}

func TestPictureOfBrokenDetail(t *testing.T) {
	_, err := workload.ReadAs[stream.Result](json.RawMessage(`{"mib":"x"}`))
	assert.ErrorContains(t, err, "read the result to draw")
	lines, err := bench.Results{Study: bench.Study{Workload: "stream", Placements: []bench.Placement{bench.Normal}}}.Picture(80)
	assert.NoError(t, err)
	assert.Empty(t, lines, "no run")
}
