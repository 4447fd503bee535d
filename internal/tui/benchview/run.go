package benchview

import (
	"context"
	"errors"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
)

// current is a study of this session. Update alone touches it, but for job.
type current struct {
	results bench.Results
	report  bench.Report
	now     bench.RunResult // what runs; its PID is 0 between runs
	event   bench.Event     // the last one
	ended   bool
	cancel  context.CancelFunc
	job     *job
}

// job is the study's share of the commands: one runs it, one at a time waits for
// its steps and judges them, so that the screen never computes.
type job struct {
	serial  int
	events  chan bench.Event
	started atomic.Bool
	done    chan struct{}
	results bench.Results // so far; belongs to the waiting command
}

// stepMsg is what changed since the last one.
type stepMsg struct {
	serial  int
	event   bench.Event
	results bench.Results
	report  bench.Report
}

// endMsg is the end of a study.
type endMsg struct {
	serial  int
	results bench.Results
	report  bench.Report
	err     error
}

// start runs a study. Its results are shown at once: by its placements in the
// spelling that the runner gives its runs.
func (v *View) start(study bench.Study) tea.Cmd {
	study = study.Canonical()
	ctx, cancel := context.WithCancel(context.Background())
	v.serial++
	v.last, v.shown, v.failure, v.papers = study, "", "", nil
	results := bench.Results{Study: study}
	j := &job{serial: v.serial, events: make(chan bench.Event, 8), done: make(chan struct{}), results: results}
	v.current = &current{results: results, report: bench.Judge(results), cancel: cancel, job: j,
		event: bench.Event{Total: study.Total()}}
	return tea.Batch(j.run(ctx, v.o.Runner, study), j.wait)
}

// run is the command that runs the study. A step is never lost: the runner waits
// while the screen is behind, between runs only.
func (j *job) run(ctx context.Context, r Runner, study bench.Study) tea.Cmd {
	return func() tea.Msg {
		j.started.Store(true)
		defer close(j.done)
		defer close(j.events)
		if ctx.Err() != nil { // the screen closed before this began
			return nil
		}
		results, err := r.Run(ctx, study, func(e bench.Event) {
			select {
			case j.events <- e:
			case <-ctx.Done():
			}
		})
		return endMsg{j.serial, results, bench.Judge(results), err}
	}
}

// wait is the command that waits for the next step, and takes those that have
// piled up with it.
func (j *job) wait() tea.Msg {
	e, ok := <-j.events
	if !ok {
		return nil
	}
	j.add(e)
	for len(j.events) > 0 {
		next, ok := <-j.events
		if !ok {
			break
		}
		e = next
		j.add(e)
	}
	return stepMsg{j.serial, e, j.results, bench.Judge(j.results)}
}

func (j *job) add(e bench.Event) {
	j.results.ID = e.Study
	if e.Kind == bench.RunEnded {
		j.results.Runs = append(j.results.Runs, e.Run)
	}
}

// step takes what a running study did, and waits for the next.
func (v *View) step(msg stepMsg) tea.Cmd {
	if msg.serial != v.serial || v.current == nil || v.current.ended {
		return nil
	}
	c := v.current
	c.event, c.results, c.report = msg.event, msg.results, msg.report
	c.now = bench.RunResult{}
	if msg.event.Kind == bench.RunStarted {
		c.now = msg.event.Run
	}
	return c.job.wait
}

// end takes the final results, and reads the history anew, which has them too.
func (v *View) end(msg endMsg) tea.Cmd {
	if msg.serial != v.serial || v.current == nil {
		return nil
	}
	c := v.current
	c.ended, c.now = true, bench.RunResult{}
	c.cancel()
	if msg.results.ID != "" {
		c.results, c.report = msg.results, msg.report
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		v.failure = "canceled; results so far"
	case msg.err != nil:
		v.failure = msg.err.Error()
	}
	return v.read
}

// Stop ends the running study, if any, and waits until its process is gone. It is
// called when the program ends, after the screen has closed.
func (v *View) Stop() {
	v.cancel()
	if v.current != nil && v.current.job.started.Load() {
		<-v.current.job.done
	}
	if v.papers != nil && v.papers.job.started.Load() {
		<-v.papers.job.done
	}
}
