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

// validate is Study.ValidateCounts, and of a study of a process also whether its rate is known.
func validate(study bench.Study) error {
	if err := study.ValidateCounts(); err != nil || study.Workload != bench.AttachWorkload {
		return err
	}
	_, err := FindRate(study.Figure.Pattern)
	return err
}

// attach measures a live process for one period under a placement, and takes the
// placement back.
func (r *Runner) attach(ctx context.Context, study bench.Study, run *bench.RunResult, started func()) (err error) {
	rate, err := FindRate(study.Figure.Pattern)
	if err != nil {
		return err
	}
	if run.PID, err = study.Attached(); err != nil {
		return err
	}
	// The process keeps its number as long as this is held.
	held, err := kernel.SystemWriter().Hold(run.PID, 0)
	if err != nil {
		return err
	}
	defer held.Close()
	release, err := r.place(ctx, run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	started()
	settling := time.Duration(settle * float64(study.Period))
	if err := Pause(ctx, settling); err != nil {
		return err
	}
	m, err := rate.Open(r.Proc, run.PID)
	if err != nil {
		return err
	}
	defer m.Close()
	counted, host := r.count(run.PID, nil), r.readHost(run.PID)
	began := time.Now()
	if err := Pause(ctx, study.Period-settling); err != nil {
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
