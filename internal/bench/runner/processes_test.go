package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/workloads"
)

// The workloads of several processes run small under each of their mappings, give
// the same answer under all, and can be drawn.
func TestWorkloadsOfProcessesRunAsChildren(t *testing.T) {
	for _, tc := range []struct {
		workload string
		mapped   string // the parameter
		args     []string
	}{
		{"chat", "mapping", []string{"--rooms", "2", "--pairs", "2", "--messages", "3"}},
		{"stripio", "mapping", []string{"--apps", "2", "--mode", "processes", "--size", "2"}},
		{"stripio", "mode", []string{"--size", "2", "--mapping", "source"}},
	} {
		w, err := workloads.Find(tc.workload)
		require.NoError(t, err)
		answer := ""
		for _, p := range w.Params {
			if p.Name != tc.mapped {
				continue
			}
			for _, mapping := range p.Choices {
				t.Run(fmt.Sprint(tc.workload, "/", mapping), func(t *testing.T) {
					study := bench.Study{Workload: tc.workload, Args: append(tc.args, p.Flag(), mapping), Placements: []bench.Placement{bench.Normal}, Runs: 1, Timeout: time.Minute}
					require.NoError(t, study.Validate())
					results, err := newRunner(t).Run(t.Context(), study, nil)
					require.NoError(t, err)
					run := results.Runs[0]
					require.Empty(t, run.Err)
					assert.True(t, run.Valid(), "%s", run.TouchedWhat)
					assert.Positive(t, run.Metric)
					if answer == "" {
						answer = run.Answer
					}
					assert.Equal(t, answer, run.Answer)
					drawn, err := w.Result(run.Detail)
					require.NoError(t, err)
					lines := drawn.Picture(80)
					assert.Greater(t, len(lines), 1)
				})
			}
		}
		assert.NotEmpty(t, answer)
	}
}
