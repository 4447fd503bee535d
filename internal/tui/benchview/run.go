package benchview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/tui/live"
	"piton/workloads"
)

// run is a study, or published ones, of this session. Update alone touches it.
type run struct {
	step
	ended   bool
	failure string // why it could not be run, or not to its end
	job     *job
}

// step is how far a run is.
type step struct {
	study
	at, left string  // "run 3 of 44", "about 1:38 min left"
	share    float32 // of the whole
	what     string  // runs now; "" between runs
	where    string  // in the whole that is; why nothing runs
	now      bench.RunResult
	remark   string
}

// job is a run's share of the commands. Its steps are judged beside the screen, so that
// the screen never computes.
type job = live.Job[func() step]

// begin has work run in a command until it ends or ctx does. It tells its steps, which are shown
// at once, and returns the last one.
func (v *View) begin(first step, work func(ctx context.Context, tell func(func() step)) (step, error)) tea.Cmd {
	v.shown = ""
	j := live.New[func() step]()
	v.run = &run{step: first, job: j}
	return tea.Batch(func() (msg tea.Msg) {
		j.Work(func(ctx context.Context, tell func(func() step)) {
			last, err := work(ctx, tell)
			msg = func() tea.Cmd { return v.end(j, last, err) }
		})
		return msg
	}, v.next(j))
}

// next is the command that waits for the next step, and shows it.
func (v *View) next(j *job) tea.Cmd {
	return func() tea.Msg {
		judge, ok := j.Next()
		if !ok {
			return nil
		}
		s := judge()
		return func() tea.Cmd {
			if v.run.job == j && !v.run.ended {
				v.run.step = s
			}
			return v.next(j)
		}
	}
}

// start runs a study, by its placements in the spelling that the runner gives its runs.
func (v *View) start(s bench.Study) tea.Cmd {
	s = s.Canonical()
	v.last = s
	runner, soFar, left, fit := v.o.Runner, bench.Results{Study: s}, "trial run, to estimate the time", false
	if f, known := s.Forecast(v.known()); known {
		left = "about " + chart.Clock(f.Total()) + " left"
	} else if w, err := workloads.Find(s.Workload); err == nil { // the form was answered before its trial run had ended
		fit = slices.Equal(s.Args, w.Args(nil))
	}
	first := studyStep(soFar, bench.Event{Ended: true, Total: s.Total()}, left)
	return v.begin(first, func(ctx context.Context, tell func(func() step)) (step, error) {
		if fit {
			if r, err := runner.Trial(ctx, s); err == nil {
				s, _ = s.Fitted([]bench.Results{r})
				soFar.Study = s
			}
		}
		results, err := runner.Run(ctx, s, follow(soFar, left, tell))
		return step{study: judged(results)}, err
	})
}

// follow tells the steps of a study from what there is of it.
func follow(soFar bench.Results, left string, tell func(func() step)) func(bench.Event) {
	return func(e bench.Event) {
		soFar.ID = e.Study
		if e.Ended {
			soFar.Runs = append(soFar.Runs, e.Run)
		}
		now := soFar
		tell(func() step { return studyStep(now, e, left) })
	}
}

// How narrow the intervals are to be that e makes, as a share of the median, and for how
// long it tries.
const (
	narrowShare  = 0.01
	narrowBudget = 5 * time.Minute
)

// ExtendStudy adds runs to the study that is shown where its intervals are wide.
func (v *View) ExtendStudy() tea.Cmd {
	s, _, _ := v.subject()
	r := s.results
	r.Study.Until, r.Study.Budget = cmp.Or(r.Study.Until, narrowShare), cmp.Or(r.Study.Budget, narrowBudget)
	limit := chart.Percent(r.Study.Until)
	switch is := v.o.Host; {
	case v.o.Refused != "":
		return v.say("More runs", v.o.Refused)
	case v.Running():
		return v.refuseSecond()
	case s.report.Short != "":
		return v.say("More runs", "No run added: more of them give no verdict. "+s.report.Short)
	case s.id() == "" || s.published():
		return v.say("More runs", "No study is shown that runs could be added to.")
	case r.Study.Workload == bench.AttachWorkload:
		return v.say("More runs", "A study of a live process takes no more runs.")
	case r.Conditions.Host != is:
		return v.say("More runs", fmt.Sprintf("The study was made on %s; runs on %s would not be alike.", r.Conditions.Host, is))
	case r.Narrow(r.Study.Until):
		return v.say("More runs", fmt.Sprintf("No run added: every interval is within %s of its median already.", limit))
	}
	runner, left := v.o.Runner, "until every interval is within "+limit+" of its median"
	first := studyStep(r, bench.Event{Ended: true, Study: r.ID, Done: len(r.Runs), Total: len(r.Runs)}, left)
	return v.begin(first, func(ctx context.Context, tell func(func() step)) (step, error) {
		results, err := runner.Extend(ctx, r, follow(r, left, tell))
		return step{study: judged(results)}, err
	})
}

// studyStep is what there is of a study after an event; left is what was estimated of
// its time before its first run.
func studyStep(soFar bench.Results, e bench.Event, left string) step {
	s := step{study: judged(soFar), left: left, share: float32(e.Done) / float32(max(e.Total, 1)), where: "starting the next run",
		at: fmt.Sprintf("run %d of %d", min(e.Done+1, e.Total), e.Total)}
	if soFar.Study.Until > 0 && e.Done >= e.Total { // as many as it takes
		s.at = fmt.Sprintf("run %d", e.Done+1)
	}
	if e.HaveLeft {
		s.left = "about " + chart.Clock(e.Left) + " left"
	}
	if !e.Ended {
		s.now, s.what, s.where = e.Run, string(e.Run.Placement), runName(e.Run, soFar.Study)
	}
	return s
}

// end takes the final results, and reads the history anew, which has them too.
func (v *View) end(j *job, last step, err error) tea.Cmd {
	r := v.run
	if r.job != j {
		return nil
	}
	r.ended, r.now, r.remark = true, bench.RunResult{}, last.remark
	r.job.End(nil)
	if last.id() != "" {
		r.study = last.study
	}
	switch {
	case errors.Is(err, context.Canceled) && r.published():
		r.failure = "canceled; results so far. p with the same study resumes it."
	case errors.Is(err, context.Canceled):
		r.failure = "canceled; results so far"
	case err != nil:
		r.failure = err.Error()
	}
	return v.read
}

// Stop ends what runs, if anything, and waits until its process is gone. It is called
// when the program ends, after the screen has closed.
func (v *View) Stop() {
	if v.run != nil {
		v.run.job.Stop()
	}
}
