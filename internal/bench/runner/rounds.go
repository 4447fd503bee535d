package runner

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"piton/internal/bench"
)

// Begin keeps a study that is made round by round.
func (r *Runner) Begin(study bench.Study) (bench.Results, error) {
	if err := validate(study); err != nil {
		return bench.Results{}, err
	}
	return r.Open(study), nil
}

// Round makes the next round of a study that Begin began, or what is missing of
// it. It is Run's round: failed runs do not end it, and when ctx ends the process
// that runs is killed and ctx's error returned.
func (r *Runner) Round(ctx context.Context, results *bench.Results, on func(bench.Event)) error {
	return r.loaded(results.Study, func() error {
		left := estimate{study: results.Study, done: len(results.Runs)}
		for _, slot := range missing(results, results.Rounds()) {
			if err := r.next(ctx, results, slot, &left, on); err != nil {
				return fmt.Errorf("cell %s: %w", results.Study.Cell, err)
			}
		}
		return nil
	})
}

// loaded calls a function that makes runs while the study's background load is there.
func (r *Runner) loaded(study bench.Study, runs func() error) error {
	runtime.LockOSThread() // see startNoise
	defer runtime.UnlockOSThread()
	load, err := r.startNoise(study.Noise)
	if err != nil {
		return err
	}
	defer load.stop()
	return runs()
}

// missing are the runs of a round that have not been made.
func missing(r *bench.Results, n int) []slot {
	return slices.DeleteFunc(round(r.Study, n), func(s slot) bool {
		return s.index >= 0 && slices.ContainsFunc(r.Runs, func(run bench.RunResult) bool { return run.Placement == s.placement && run.Index == s.index })
	})
}
