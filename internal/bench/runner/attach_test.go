package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/kernel"
	"piton/workloads/workload"
)

// attachable starts a process that counts in a file for as long as it is let. It opens
// the file with <>, which does not truncate it: a reader never finds it empty.
func attachable(t *testing.T) (pid kernel.TID, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "count")
	require.NoError(t, os.WriteFile(file, []byte("0"), 0o600))
	cmd := exec.Command("sh", "-c", `i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); echo $i 1<>"$0"; done`, file)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return kernel.TID(cmd.Process.Pid), file
}

func attachStudy(t *testing.T, pid kernel.TID, rate string) bench.Study {
	t.Helper()
	figure, err := RateFigure(rate)
	require.NoError(t, err)
	return bench.Study{Workload: bench.AttachWorkload, Args: []string{fmt.Sprint(pid), "sh"}, Figure: figure,
		Placements: []bench.Placement{bench.Normal, "nice:5"}, Runs: 2, Period: 100 * time.Millisecond}
}

func TestAttachMeasuresRatesAndTakesPlacementsBack(t *testing.T) {
	pid, file := attachable(t)
	r := newRunner(t)
	in := false
	r.Place = func(_ context.Context, got kernel.TID, spec bench.Spec) (bench.Placed, error) {
		assert.Equal(t, pid, got)
		if spec.Name() == bench.Normal {
			assert.False(t, in, "normal is how it was found")
			return bench.Placed{}, nil
		}
		in = true
		return bench.Placed{Release: func() error { in = false; return nil }}, nil
	}
	for _, rate := range []string{"cpu", "run-delay", "migrations", "switches", "preemptions", "bytes", "wait-share", workload.CounterFile + file} {
		study, runs := attachStudy(t, pid, rate), 4
		grows := rate == "cpu" || rate == "bytes" || rate == workload.CounterFile+file
		if grows { // on a loaded machine the process does not run all the time
			study.Period, study.Runs, runs = 500*time.Millisecond, 1, 2
		}
		require.NoError(t, study.Validate())
		res, err := r.Run(t.Context(), study, nil)
		require.NoError(t, err)
		require.Len(t, res.Runs, runs)
		for _, run := range res.Runs {
			require.Empty(t, run.Err, rate)
			assert.GreaterOrEqual(t, run.Metric, 0.0, rate)
		}
		assert.True(t, !grows || slices.ContainsFunc(res.Runs, func(r bench.RunResult) bool { return r.Metric > 0 }), rate)
		assert.False(t, in, "taken back")
		assert.Equal(t, rate, res.Study.Metric().Name)
	}
}

func TestAttachOutlivesItsProcess(t *testing.T) {
	pid, _ := attachable(t)
	r := newRunner(t)
	runs := 0
	res, err := r.Run(t.Context(), attachStudy(t, pid, "cpu"), func(e bench.Event) {
		if e.Ended {
			if runs++; runs == 2 {
				require.NoError(t, killAndReap(pid))
			}
		}
	})
	require.NoError(t, err)
	require.Len(t, res.Runs, 4)
	assert.Empty(t, res.Runs[1].Err, "what was measured is kept")
	assert.NotEmpty(t, res.Runs[2].Err)
}

func TestAttachRefuses(t *testing.T) {
	_, err := RateFigure("speed")
	assert.ErrorContains(t, err, `unknown rate "speed"; rates are run-delay, cpu,`)
	study := attachStudy(t, 1, "cpu")
	study.Args = []string{"x", "y"}
	assert.ErrorContains(t, study.Validate(), "is not a PID")
	study = attachStudy(t, 1, "cpu")
	study.Period = 0
	assert.ErrorContains(t, study.Validate(), "period")
}

// TestAttachRefusesARateBeforeItPlaces: at the start of a study, and in each run of one
// that was read from a file.
func TestAttachRefusesARateBeforeItPlaces(t *testing.T) {
	const unknown = `unknown rate "speed"; rates are run-delay, cpu,`
	r := newRunner(t)
	r.Place = func(context.Context, kernel.TID, bench.Spec) (bench.Placed, error) {
		t.Error("it was placed")
		return bench.Placed{}, nil
	}
	study := attachStudy(t, kernel.TID(os.Getpid()), "cpu")
	study.Figure.Pattern = "speed"
	require.NoError(t, study.Validate(), "which does not know the rates")
	_, err := r.Run(t.Context(), study, nil)
	assert.ErrorContains(t, err, unknown)
	_, err = r.Begin(study)
	assert.ErrorContains(t, err, unknown)
	stored := bench.Results{Study: study}
	require.NoError(t, r.Round(t.Context(), &stored, nil))
	require.NotEmpty(t, stored.Runs)
	for _, run := range stored.Runs {
		assert.Contains(t, run.Err, unknown)
	}
}

func TestCounterFilesHoldANumber(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	for text, ok := range map[string]bool{"12\n": true, "-0.5": true, "nan\n": false, "Infinity": false, "1e999": false, "many": false} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := ReadNumber(file)
		assert.Equal(t, ok, err == nil, "%q: %v", text, err)
	}
}
