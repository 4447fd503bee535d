package runner

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
)

func command(figure bench.Figure, argv ...string) bench.Study {
	return bench.Study{Workload: bench.CommandWorkload, Args: argv, Figure: figure, Placements: []bench.Placement{bench.Normal}, Runs: 1}
}

func TestCommandsAreRun(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name   string
		study  bench.Study
		metric float64 // 0: its time
		err    string
	}{
		{"its time", command(bench.Figure{}, "sleep", "0.05"), 0, ""},
		{"its figure", command(bench.Figure{Pattern: `rate ([0-9.]+)`, HigherIsBetter: true}, "echo", "rate 12.5 rate 13.5"), 13.5, ""},
		{"all that matches", command(bench.Figure{Pattern: `[0-9,]+`}, "echo", "1,234,567"), 1234567, ""},
		{"the end of a long output", command(bench.Figure{Pattern: `last (\d+)`}, "sh", "-c", "echo last 1; seq 1 400000; echo last 2"), 2, ""},
		{"no figure", command(bench.Figure{Pattern: `rate (\d+)`}, "echo", "nothing"), 0, "no output matches rate"},
		{"no number", command(bench.Figure{Pattern: `rate (\w+)`}, "echo", "rate high"), 0, `"high" matches rate (\w+) but is not a number`},
		{"nothing to rank", command(bench.Figure{Pattern: `rate (\w+)`}, "echo", "rate nan"), 0, `"nan" matches rate (\w+) but is not a number`},
		{"nothing to keep", command(bench.Figure{Pattern: `rate (\S+)`}, "echo", "rate -Inf"), 0, `"-Inf" matches rate (\S+) but is not a number`},
		{"a status", command(bench.Figure{}, "sh", "-c", "echo why >&2; exit 7"), 0, "exit status 7 (why)"},
		{"a signal", command(bench.Figure{}, "sh", "-c", "kill -SEGV $$"), 0, "signal: segmentation fault"},
		{"none there", command(bench.Figure{}, filepath.Join(dir, "missing")), 0, "no such file"},
		{"a terminal's stop signals", command(bench.Figure{}, "sh", "-c", "while read k v; do case $k$v in SigIgn:*[37bf]?????) exit 0;; esac; done </proc/self/status; exit 1"), 0, ""},
		{"standard input", command(bench.Figure{}, "sh", "-c", "read line && exit 9; exit 0"), 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, tc.study.Validate())
			res, err := newRunner(t).Run(t.Context(), tc.study, nil)
			require.NoError(t, err)
			require.Len(t, res.Runs, 1)
			run := res.Runs[0]
			if tc.err != "" {
				assert.Contains(t, run.Err, tc.err)
				return
			}
			require.Empty(t, run.Err)
			assert.Positive(t, run.Wall)
			if tc.metric == 0 {
				assert.InDelta(t, run.Wall.Seconds(), run.Metric, 1e-9)
			} else {
				assert.InDelta(t, tc.metric, run.Metric, 1e-9)
			}
			assert.False(t, run.HaveMigrations(), "its threads took what they counted along")
			assert.True(t, gone(run.PID))
		})
	}
}

// A command is placed before its first instruction, and is killed at the time
// limit with nothing left behind.
func TestCommandsArePlacedAndEnded(t *testing.T) {
	r := newRunner(t)
	self, err := os.Executable()
	require.NoError(t, err)
	r.Command = []string{self, childMode}
	study := command(bench.Figure{Pattern: `pid (\d+)`}, "sh", "-c", "echo pid $$")
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	require.Empty(t, res.Runs[0].Err)
	assert.InDelta(t, float64(res.Runs[0].PID), res.Runs[0].Metric, 0, "it is the process that was placed")

	study = command(bench.Figure{}, "sleep", "600")
	study.Timeout = 100 * time.Millisecond
	res, err = r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	assert.Contains(t, res.Runs[0].Err, "stopped after the time limit of 100ms")
	assert.True(t, gone(res.Runs[0].PID))
}

// TestWhatAFailedCommandStartedEndsWithIt: it would go on through the runs that
// follow, and be measured with them.
func TestWhatAFailedCommandStartedEndsWithIt(t *testing.T) {
	for name, tc := range map[string]struct{ script, err string }{
		"cancel": {`sleep 600 >/dev/null 2>&1 & echo $! >"$0"; wait`, ""},
		"status": {`sleep 600 >/dev/null 2>&1 & echo $! >"$0"; exit 7`, "exit status 7"},
		"output": {`sleep 600 & echo $! >"$0"`, "a child process of it keeps its output open"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			background := func() (pid int) {
				text, _ := os.ReadFile(file)
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return pid
			}
			if tc.err == "" {
				go func() {
					for background() == 0 && ctx.Err() == nil {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			}
			res, err := newRunner(t).Run(ctx, command(bench.Figure{}, "sh", "-c", tc.script, file), nil)
			if tc.err == "" {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.NoError(t, err)
				assert.Contains(t, res.Runs[0].Err, tc.err)
			}
			pid := background()
			require.Positive(t, pid)
			assert.Eventually(t, func() bool { return ended(pid) }, time.Minute, 5*time.Millisecond)
		})
	}
}

func TestFiguresAreRefused(t *testing.T) {
	for pattern, want := range map[string]string{"(": "not a regular expression", "(a)(b)": "2 groups; use one"} {
		assert.ErrorContains(t, command(bench.Figure{Pattern: pattern}, "ls").Validate(), want)
	}
	assert.ErrorContains(t, command(bench.Figure{Unit: "s"}, "ls").Validate(), "needs a metric")
	assert.ErrorContains(t, command(bench.Figure{}).Validate(), "a command is missing")
}

func FuzzFigure(f *testing.F) {
	f.Add(`([0-9.]+)`, "12.5 x")
	f.Add(`rate (.*)`, "rate 1,2")
	f.Fuzz(func(t *testing.T, pattern, output string) {
		figure := bench.Figure{Pattern: pattern}
		if pattern == "" || figure.Validate() != nil {
			return
		}
		if v, err := figure.Find([]byte(output)); err == nil {
			_, err := store.RunJSON("x", bench.RunResult{Metric: v})
			require.NoError(t, err)
		} else if !strings.Contains(err.Error(), pattern) {
			t.Fatalf("%v does not name %q", err, pattern)
		}
	})
}
