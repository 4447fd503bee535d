package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piton/internal/bench"
	"piton/internal/kernel"
)

// settle is the share of a period that is not counted, so that caches are warm
// and the scheduler has done what a new placement asks of it.
const settle = 0.1

// validate is Study.ValidateCounts, and of a study of a process also whether its rate
// is known.
func validate(study bench.Study) error {
	if err := study.ValidateCounts(); err != nil || study.Workload != bench.AttachWorkload {
		return err
	}
	_, err := FindRate(study.Figure.Pattern)
	return err
}

// attach measures a live process for one period under a placement, and takes the
// placement back. What goes wrong is in the result's Err.
func (r *Runner) attach(ctx context.Context, study bench.Study, s slot, started func(bench.RunResult)) bench.RunResult {
	run := bench.RunResult{Workload: study.Workload, Placement: s.placement, Index: s.index, Started: time.Now()}
	pid, err := study.Attached()
	if err == nil {
		run.PID = pid
		err = r.period(ctx, study, &run, started)
	}
	if err != nil {
		run.Err = err.Error()
	}
	return run
}

func (r *Runner) period(ctx context.Context, study bench.Study, run *bench.RunResult, started func(bench.RunResult)) (err error) {
	rate, err := FindRate(study.Figure.Pattern)
	if err != nil {
		return err
	}
	// The process keeps its number as long as this is held.
	held, err := kernel.SystemWriter().Hold(run.PID, 0)
	if err != nil {
		return err
	}
	defer held.Close()
	spec, err := bench.ParsePlacement(string(run.Placement))
	if err != nil {
		return err
	}
	placed, err := r.Place(ctx, run.PID, spec)
	if placed.Release != nil {
		defer func() { err = errors.Join(err, placed.Release()) }()
	}
	if err != nil {
		return fmt.Errorf("placement %s: %w", run.Placement, err)
	}
	run.CPUs, run.Reason = placed.CPUs, placed.Reason
	started(*run)
	if err := Pause(ctx, time.Duration(settle*float64(study.Period))); err != nil {
		return err
	}
	m, err := rate.Open(r.Proc, run.PID)
	if err != nil {
		return err
	}
	defer m.Close()
	counted, host := r.count(run.PID, nil), r.readHost(run.PID)
	began := time.Now()
	if err := Pause(ctx, study.Period-time.Duration(settle*float64(study.Period))); err != nil {
		return err
	}
	grown, err := m.Grown()
	run.Wall = time.Since(began)
	if err := errors.Join(err, held.Alive()); err != nil {
		return fmt.Errorf("it ended: %w", err)
	}
	run.Seconds = run.Wall.Seconds()
	run.Metric = grown / run.Seconds
	counted.into(run)
	own, err := kernel.ProcessTime(run.PID)
	r.besides(host, run)
	less(run, time.Duration(own))
	run.HaveOthers = run.HaveOthers && err == nil
	return nil
}

// Pause waits for a time, or returns why ctx ended before.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
