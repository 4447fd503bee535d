package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func TestOrderInterleavesAndRotates(t *testing.T) {
	s := bench.Study{Placements: []bench.Placement{"a", "b", "c"}, Warmup: 1, Runs: 2}
	assert.Equal(t, 3, rounds(s))
	assert.Equal(t, []slot{{"a", -1}, {"b", -1}, {"c", -1}}, round(s, 0))
	assert.Equal(t, []slot{{"b", 0}, {"c", 0}, {"a", 0}}, round(s, 1))
	assert.Equal(t, []slot{{"c", 1}, {"a", 1}, {"b", 1}}, round(s, 2))
}

func TestEstimateIsTheMeanOfTheRunsSoFar(t *testing.T) {
	e := estimate{study: bench.Study{Placements: []bench.Placement{"a", "b"}, Runs: 3}}
	_, have := e.remaining()
	assert.False(t, have, "nothing is known before the first run")
	e.add(time.Second)
	e.add(3 * time.Second)
	left, have := e.remaining()
	assert.True(t, have)
	assert.Equal(t, 8*time.Second, left)
}

func TestRunsRealWorkloads(t *testing.T) {
	r := newRunner(t)
	for _, tc := range []struct {
		workload string
		args     []string
		answer   string
		threads  int
	}{
		{"nqueens", []string{"-n", "12"}, "14200", 1},
		{"nqueens", []string{"-n", "10", "--threads", "3"}, "724", 3},
		{"matrix", []string{"-n", "100", "--threads", "50"}, "", 50},
		{"matrix", []string{"-n", "64", "--threads=8", "--mapping=manual", "--kernel=blocked"}, "", 8},
	} {
		study := bench.Study{Workload: tc.workload, Args: tc.args, Placements: []bench.Placement{bench.Normal}, Runs: 1}
		require.NoError(t, study.Validate())
		res, err := r.Run(t.Context(), study, nil)
		require.NoError(t, err)
		require.Len(t, res.Runs, 1)
		run := res.Runs[0]
		require.Empty(t, run.Err)
		if tc.answer != "" {
			assert.Equal(t, tc.answer, run.Answer)
		}
		assert.Positive(t, run.Metric)
		assert.GreaterOrEqual(t, run.Wall.Seconds(), run.Metric)
		assert.Positive(t, run.User+run.System)
		assert.Greater(t, run.MaxRSSBytes, uint64(1<<20))
		assert.Positive(t, run.MinorFaults)
		assert.GreaterOrEqual(t, run.Threads, tc.threads, "threads live until they were counted")
		assert.Equal(t, "sched", run.MigrationSource)
		assert.True(t, run.HaveRunDelay)
		assert.False(t, run.Touched, run.TouchedWhat)
		assert.True(t, run.Valid())
		assert.Contains(t, string(run.Detail), `"n":`)
		assert.True(t, gone(run.PID))
	}
}

func TestFailedRunsAreKeptAndTheOthersGoOn(t *testing.T) {
	for workload, want := range map[string]string{
		"wrong":   "found 41 where there are 42",
		"panics":  "out of its depth",
		"exits":   "exit status 7",
		"garbage": "no JSON",
		"killed":  "killed",
		"nothing": `unknown workload "nothing"`,
	} {
		t.Run(workload, func(t *testing.T) {
			res, err := newRunner(t).Run(t.Context(), bench.Study{Workload: workload, Placements: []bench.Placement{bench.Normal}, Runs: 2}, nil)
			require.NoError(t, err)
			require.Len(t, res.Runs, 2)
			for _, run := range res.Runs {
				assert.Contains(t, run.Err, want)
				assert.False(t, run.Valid())
				assert.True(t, gone(run.PID))
			}
			rep := bench.Judge(res)
			assert.Equal(t, 2, rep.Arms[0].Failed)
		})
	}
}

func TestWrongAnswerIsKept(t *testing.T) {
	res, err := newRunner(t).Run(t.Context(), bench.Study{Workload: "wrong", Placements: []bench.Placement{bench.Normal}, Runs: 1}, nil)
	require.NoError(t, err)
	assert.Equal(t, "41", res.Runs[0].Answer)
}

func TestTimeLimit(t *testing.T) {
	study := bench.Study{Workload: "sleep", Args: []string{"--ms", "600000"}, Placements: []bench.Placement{bench.Normal}, Runs: 1, Timeout: 300 * time.Millisecond}
	res, err := newRunner(t).Run(t.Context(), study, nil)
	require.NoError(t, err)
	assert.Equal(t, "stopped after the time limit of 300ms", res.Runs[0].Err)
	assert.True(t, gone(res.Runs[0].PID))
}

func TestCancelLeavesNoProcessAndKeepsTheResults(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pid kernel.TID
	study := bench.Study{Workload: "sleep", Args: []string{"--ms", "0"}, Placements: []bench.Placement{bench.Normal}, Runs: 5}
	res, err := newRunner(t).Run(ctx, study, func(e bench.Event) {
		if !e.Ended && e.Done == 2 {
			pid = e.Run.PID
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, res.Runs, 2)
	require.Positive(t, pid)
	assert.True(t, gone(pid))
}

func TestCancelStopsABusyChildOfManyThreads(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pid kernel.TID
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "18", "--threads", "4"}, Placements: []bench.Placement{bench.Normal}, Runs: 1}
	_, err := newRunner(t).Run(ctx, study, func(e bench.Event) {
		pid = e.Run.PID
		time.AfterFunc(50*time.Millisecond, cancel)
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, gone(pid))
}

func TestEventsTellTheProgress(t *testing.T) {
	var events []bench.Event
	study := bench.Study{Workload: "sleep", Placements: []bench.Placement{bench.Normal, "batch"}, Runs: 1, Warmup: 1}
	res, err := newRunner(t).Run(t.Context(), study, func(e bench.Event) { events = append(events, e) })
	require.NoError(t, err)
	require.Len(t, events, 8)
	for i, e := range events {
		assert.Equal(t, 4, e.Total)
		assert.Equal(t, res.ID, e.Study)
		assert.Positive(t, e.Run.PID)
		assert.Equal(t, i%2 == 1, e.Ended)
		assert.Equal(t, (i+1)/2, e.Done)
		assert.Equal(t, i > 0, e.HaveLeft)
	}
	assert.Equal(t, bench.WarmupIndex, events[0].Run.Index)
	assert.Zero(t, events[7].Left)
}

func TestPlacesBeforeTheWorkBeginsAndReleasesAfter(t *testing.T) {
	r := newRunner(t)
	cpu := mustAffinity(t).First()
	var released int
	r.Place = func(_ context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		assert.Equal(t, "1", spec.CPUs)
		threads, err := r.Proc.Threads(pid)
		require.NoError(t, err)
		for _, tid := range threads {
			require.NoError(t, kerneltest.Of(t, pid, tid).SetAffinity(cpuset.Of(cpu)))
		}
		return bench.Placed{CPUs: "1", Reason: "asked for", Release: func() error {
			assert.True(t, gone(pid), "released once the process has ended")
			released++
			return nil
		}}, nil
	}
	res, err := r.Run(t.Context(), bench.Study{Workload: "nqueens", Args: []string{"-n", "8", "--threads", "3"}, Placements: []bench.Placement{"cpu:1"}, Runs: 2}, nil)
	require.NoError(t, err)
	for _, run := range res.Runs {
		assert.Empty(t, run.Err)
		assert.False(t, run.Touched, run.TouchedWhat)
		assert.Equal(t, "1", run.CPUs)
		assert.Equal(t, "asked for", run.Reason)
	}
	assert.Equal(t, 2, released)
}

func TestPlacementThatDidNotHoldFailsTheRun(t *testing.T) {
	r := newRunner(t)
	r.Place = func(context.Context, kernel.TID, bench.Spec) (bench.Placed, error) {
		return bench.Placed{Release: func() error { return errors.New("the scheduler was taken away") }}, nil
	}
	res, err := r.Run(t.Context(), bench.Study{Workload: "nqueens", Args: []string{"-n", "6"}, Placements: []bench.Placement{"aggregate"}, Runs: 1}, nil)
	require.NoError(t, err)
	assert.Equal(t, "the scheduler was taken away", res.Runs[0].Err)
}

func TestRefusedPlacementFailsTheRun(t *testing.T) {
	r := newRunner(t)
	r.Place = func(context.Context, kernel.TID, bench.Spec) (bench.Placed, error) {
		return bench.Placed{}, errors.New("not permitted")
	}
	res, err := r.Run(t.Context(), bench.Study{Workload: "sleep", Placements: []bench.Placement{"fifo:10"}, Runs: 1}, nil)
	require.NoError(t, err)
	assert.Equal(t, "placement fifo:10: not permitted", res.Runs[0].Err)
	assert.True(t, gone(res.Runs[0].PID))
}

func TestTouchedRunsAreSeen(t *testing.T) {
	for name, touch := range map[string]func(*testing.T, kernel.Task) error{
		"policy":   func(_ *testing.T, task kernel.Task) error { return task.SetPolicy(kernel.Batch, 0, false) },
		"nice":     raiseNice,
		"affinity": pinToFirst,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t)
			study := bench.Study{Workload: "sleep", Args: []string{"--ms", "1"}, Placements: []bench.Placement{bench.Normal}, Runs: 1}
			res, err := r.Run(t.Context(), study, func(e bench.Event) {
				if !e.Ended {
					require.NoError(t, touch(t, kerneltest.Of(t, e.Run.PID, e.Run.PID)))
				}
			})
			require.NoError(t, err)
			run := res.Runs[0]
			require.Empty(t, run.Err)
			assert.True(t, run.Touched)
			assert.Contains(t, run.TouchedWhat, name)
			assert.False(t, run.Valid())
			assert.Equal(t, 1, bench.Judge(res).Arms[0].Touched)
		})
	}
}

func pinToFirst(t *testing.T, task kernel.Task) error {
	allowed := mustAffinity(t)
	if allowed.Len() < 2 {
		t.Skip("one CPU: no other affinity to set")
	}
	return task.SetAffinity(cpuset.Of(allowed.First()))
}

func raiseNice(t *testing.T, task kernel.Task) error {
	own, err := kernel.System().Nice(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	if own == 19 {
		t.Skip("needs room to raise nice, which is 19 already")
	}
	return task.SetNice(own + 1)
}

func mustAffinity(t *testing.T) cpuset.Set {
	t.Helper()
	s, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	return s
}

func TestMissingProgramFailsTheRun(t *testing.T) {
	r := newRunner(t)
	r.Command = []string{filepath.Join(t.TempDir(), "no-such-program")}
	res, err := r.Run(t.Context(), bench.Study{Workload: "sleep", Placements: []bench.Placement{bench.Normal}, Runs: 1}, nil)
	require.NoError(t, err)
	assert.Contains(t, res.Runs[0].Err, "no such file")
}

func TestNoDescriptorLeaks(t *testing.T) {
	r := newRunner(t)
	study := bench.Study{Workload: "sleep", Placements: []bench.Placement{bench.Normal}, Runs: 1}
	_, err := r.Run(t.Context(), study, nil) // opens what stays open
	require.NoError(t, err)
	before := descriptors(t)
	study.Runs = 3
	_, err = r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	assert.Equal(t, before, descriptors(t))
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
