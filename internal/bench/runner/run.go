package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"piton/internal/bench"
	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/watch"
)

var errTimeout = errors.New("time limit")

// runOne starts one child, places it, lets it go and measures it. The thread that calls is
// locked: the child dies with it; see kernel.DieWithParent.
func (r *Runner) runOne(ctx context.Context, study bench.Study, run *bench.RunResult, started func()) error {
	if study.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, study.Timeout, errTimeout)
		defer cancel()
	}
	// A command's group is killed: other workloads start nothing that outlives their gate.
	p, err := child.Start(ctx, child.Command{Argv: r.command(append([]string{study.Workload}, study.Args...)...), Env: r.Env, Foreign: study.Workload == bench.CommandWorkload})
	if err != nil {
		return err
	}
	run.PID = p.PID
	release := nothing
	if err = p.ExpectReady(); err == nil {
		release, err = r.place(ctx, run)
	}
	if err == nil {
		err = r.measure(ctx, p, study, run, started)
	}
	usage, waitErr := p.End(err != nil)
	err = cmp.Or(err, release())
	run.User, run.System = usage.User, usage.System
	less(run, usage.User+usage.System)
	run.Voluntary, run.Involuntary = usage.Voluntary, usage.Involuntary
	run.MinorFaults, run.MajorFaults, run.MaxRSSBytes = usage.MinorFaults, usage.MajorFaults, usage.MaxRSSBytes
	return failure(ctx, study, err, waitErr, p.Complaint())
}

func nothing() error { return nil }

// place places the process of a run. Release undoes that, and is never nil.
func (r *Runner) place(ctx context.Context, run *bench.RunResult) (release func() error, err error) {
	spec, err := bench.ParsePlacement(string(run.Placement))
	if err != nil {
		return nothing, err
	}
	placed, err := r.Place(ctx, run.PID, spec)
	if err != nil {
		return nothing, fmt.Errorf("placement %s: %w", run.Placement, err)
	}
	run.CPUs, run.Reason = placed.CPUs, placed.Reason
	if placed.Release == nil {
		return nothing, nil
	}
	return placed.Release, nil
}

func (r *Runner) measure(ctx context.Context, p *child.Process, study bench.Study, run *bench.RunResult, started func()) error {
	want, err := r.stateOf(run.PID)
	if err != nil {
		return err
	}
	outside := r.outside(run.PID, want.affinity)
	counted := r.count(run.PID, outside)
	if study.Counters {
		perf := openPerf(r.Proc, run.PID, groups, outside)
		defer func() { perf.into(run) }()
	}
	started()
	host := r.readHost(run.PID)
	if study.Workload == bench.CommandWorkload {
		err := r.follow(ctx, p, study.Figure, run)
		r.besides(host, run)
		return err
	}
	start := time.Now()
	if err := p.Go(); err != nil {
		return err
	}
	var m message
	err = p.Expect(&m)
	run.Wall = time.Since(start)
	if err != nil && m.Error == "" {
		return err
	}
	counted.into(run)
	r.besides(host, run)
	run.TouchedWhat = r.touched(run.PID, want)
	run.Touched = run.TouchedWhat != ""
	run.Answer, run.Seconds, run.Metric, run.Detail = m.Answer, m.Seconds, m.Value, m.Detail
	return err
}

// host is the CPUs' time, and that of the process, when the work began.
type host struct {
	ticks bench.HostTicks
	own   time.Duration
}

func (r *Runner) readHost(pid kernel.TID) host {
	own, _ := kernel.ProcessTime(pid) // 0 when it is gone; then it failed
	return host{bench.ReadHostTicks(r.Proc), time.Duration(own)}
}

// leastWall is the shortest run beside which others are measured: busy time is counted in
// ticks of 10 ms on each CPU, and what starts and places the run is in it.
const leastWall = 50 * time.Millisecond

// besides is what the hypervisor took since then, and what all processes used; less leaves
// out what the run's own used, from its start to its end.
func (r *Runner) besides(then host, run *bench.RunResult) {
	stolen, busy, ok := bench.ReadHostTicks(r.Proc).Since(then.ticks)
	run.StealShare, run.HaveSteal = stolen, ok
	if run.HaveOthers = ok && run.Wall >= leastWall; run.HaveOthers {
		run.Others = (busy + then.own).Seconds() / run.Wall.Seconds()
	}
}

func less(run *bench.RunResult, own time.Duration) {
	if run.HaveOthers {
		run.Others -= own.Seconds() / run.Wall.Seconds()
	}
}

func failure(ctx context.Context, study bench.Study, err, waitErr error, stderr string) error {
	switch {
	case err == nil && waitErr == nil:
		return nil
	case errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Errorf("stopped after the time limit of %s", study.Timeout)
	case err == nil:
		err = waitErr
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("it ended without an answer: %w", waitErr)
	}
	if stderr != "" {
		return fmt.Errorf("%w (%s)", err, stderr)
	}
	return err
}

func (r *Runner) command(words ...string) []string { return slices.Concat(r.Command, words) }

type state struct {
	affinity cpuset.Set
	attr     kernel.SchedAttr
}

func (r *Runner) stateOf(tid kernel.TID) (s state, err error) {
	if s.affinity, err = r.Scheduler.Affinity(tid); err == nil {
		s.attr, err = r.Scheduler.Attr(tid)
	}
	return s, err
}

// touched compares every thread with the state that the process was placed in and returns the
// first difference in words, "" if there is none. A thread that has ended cannot tell.
func (r *Runner) touched(pid kernel.TID, want state) string {
	threads, _ := r.Proc.Threads(pid)
	for _, tid := range threads {
		got, err := r.stateOf(tid)
		if what := want.difference(got); err == nil && what != "" {
			return fmt.Sprintf("%s of thread %d", what, tid)
		}
	}
	return ""
}

func (s state) difference(now state) string {
	switch {
	case !s.affinity.Equal(now.affinity):
		return fmt.Sprintf("affinity %s became %s", s.affinity, now.affinity)
	case s.attr.Policy != now.attr.Policy:
		return fmt.Sprintf("policy %s became %s", s.attr.Policy, now.attr.Policy)
	case s.attr.RTPrio != now.attr.RTPrio:
		return fmt.Sprintf("real-time priority %d became %d", s.attr.RTPrio, now.attr.RTPrio)
	case s.attr.Nice != now.attr.Nice: // of the policies that heed it
		return fmt.Sprintf("nice %d became %d", s.attr.Nice, now.attr.Nice)
	}
	return ""
}

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
	m, err := rate.Open(r.Proc, watch.Targets{IDs: []kernel.TID{run.PID}})
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
	run.Metric = rate.Of(grown, run.Seconds)
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
