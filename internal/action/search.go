package action

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/procfs"
	"piton/internal/search"
	"piton/internal/watch"
)

// partnerWindow is how long wakeups are counted.
const partnerWindow = 300 * time.Millisecond

// mostTargets is how many processes are placed together: each of their threads is a part of
// the trial's record.
const mostTargets = 64

// SearchAsk is a search for the placement of processes, which are placed together.
type SearchAsk struct {
	Targets []change.Target
	Places  []bench.Spec // to try beside what load and topology suggest
	System  bool         // settings of the kernel as well

	Metric   string            // a name for auto.OpenMetric,
	Written  *auto.Output      // or what a command writes
	NotWorse []*auto.Guardrail // not opened yet
	Budget   time.Duration     // 0 is what the candidates take
	Memory   bool              // as auto.Job has it
	By       string            // as auto.Job has it
}

// Search is a search that is prepared.
type Search struct {
	Job  auto.Job         // without a Metric until Open
	Left []auto.Candidate // that are not tried, with the reason
	// Warning says what could not be looked at, "" if all was.
	Warning string
}

// PrepareSearch chooses what is tried by the load of now. It takes as long as wakeups are
// counted, 300 ms.
func PrepareSearch(ctx context.Context, d Deps, ask SearchAsk) (out Search, err error) {
	if len(ask.Targets) > mostTargets {
		return out, attr.Usagef("piton auto places %d processes at most together; these are %d", mostTargets, len(ask.Targets))
	}
	situation := auto.Situation{}
	if situation.Request, err = Ask(d, ask.Targets, Tuning{}); err != nil {
		return out, err
	}
	out.Job = auto.Job{Tuner: d.Tuner, Targets: ask.Targets, Budget: ask.Budget, Memory: ask.Memory, By: ask.By}
	var now cpuset.Set
	for _, t := range ask.Targets {
		if t.TID == kernel.TID(os.Getpid()) {
			return out, attr.Usagef("%d is this piton, which would judge itself", t.TID)
		}
		its, err := d.Tuner.Sched.Affinity(t.TID)
		if err != nil {
			return out, fmt.Errorf("process %d: %w", t.TID, err)
		}
		situation.Now, now = append(situation.Now, its), now.Or(its)
	}
	for _, spec := range ask.Places {
		c, err := candidate(d, ask.Targets, spec)
		if err != nil {
			return out, err
		}
		situation.More = append(situation.More, c)
	}
	if ask.System {
		situation.More = append(situation.More, auto.System(d.Tuner.Files, situation.Request.Topology)...)
	}
	if d.Rate != nil {
		// A made-up process has no partners.
	} else if situation.Partners, err = watch.Partners(ctx, out.Job.PIDs(), partnerWindow); err != nil {
		if ctx.Err() != nil {
			return out, err
		}
		out.Warning = fmt.Sprintf("placements beside a wake partner are not tried: %v", err)
	}
	situation.Partners = slices.DeleteFunc(situation.Partners, func(p model.Partner) bool {
		k, err := d.Tuner.Look(p.TGID, p.TGID)
		return err != nil || k.Flags&procfs.FlagKernelThread != 0 || p.TGID == kernel.TID(os.Getpid()) // piton may read its output
	})
	out.Job.Caches, out.Job.Yes = auto.Caches(situation.Request.Topology, now), len(situation.More) > 0
	out.Job.Candidates, out.Left = auto.Candidates(situation)
	return out, nil
}

// Open opens what is judged by; Close ends that, also after an error.
func (s *Search) Open(ctx context.Context, d Deps, ask SearchAsk) (err error) {
	job, pids := &s.Job, s.Job.PIDs()
	if least := job.LeastBudget(); job.Budget > 0 && job.Budget < least {
		return attr.Usagef("a budget of %v is too short for %d candidates: at least %v are needed", job.Budget, len(job.Candidates), least)
	}
	switch {
	case d.Rate != nil:
		job.Metric = auto.NewMetric("steps", "/s", d.Rate(pids))
	case ask.Written != nil:
		job.Metric = ask.Written.Metric()
	default:
		if job.Metric, err = auto.OpenMetric(ctx, procfs.New("/"), pids, ask.Metric); err != nil {
			return err
		}
	}
	for _, g := range ask.NotWorse {
		if err := g.Open(ctx, procfs.New("/"), pids); err != nil {
			return fmt.Errorf("--not-worse %s: %w", g, err)
		}
		job.NotWorse = append(job.NotWorse, g)
	}
	return nil
}

// Close closes what was opened.
func (s *Search) Close() {
	if s.Job.Metric != nil {
		s.Job.Metric.Close()
	}
	for _, g := range s.Job.NotWorse {
		g.Close()
	}
}

// RunSearch prepares a search and runs it, and tells its steps; what is better is kept.
func RunSearch(ctx context.Context, d Deps, ask SearchAsk, tell func(auto.State)) (s auto.State, err error) {
	prepared, err := PrepareSearch(ctx, d, ask)
	if err != nil {
		return s, err
	}
	job := &prepared.Job
	s.Job, s.Candidates, s.Left, s.Warning = job, job.Candidates, prepared.Left, prepared.Warning
	tell(s)
	defer prepared.Close()
	if err := prepared.Open(ctx, d, ask); err != nil {
		return s, err
	}
	s.Metric, s.Caveat = job.Metric.Name(), job.Metric.Caveat()
	tell(s)
	found, err := job.Run(ctx, func(e search.Event) {
		s.Now = e.Now
		tell(s)
	})
	s.Found = &found
	return s, err
}

// SearchCommand is the command line that searches for the same processes.
func SearchCommand(targets []change.Target) string {
	var pids []string
	for _, t := range targets {
		pids = append(pids, fmt.Sprint(t.TID))
	}
	return command([]string{"auto"}, pids)
}

// candidate is what a placement asks for, for a search.
func candidate(d Deps, targets []change.Target, spec bench.Spec) (auto.Candidate, error) {
	c := auto.Candidate{Name: string(spec.Name()), Reason: "as asked"}
	bad := func(format string, args ...any) (auto.Candidate, error) {
		return c, attr.Usagef("placement %s: %s", c.Name, fmt.Sprintf(format, args...))
	}
	want, err := ofSpec(spec, d.Model.Topology)
	switch {
	case err != nil:
		return bad("%v", err)
	case spec.Aggregate:
		return bad("a search tries no aggregation")
	case want.Empty():
		return bad("it is what everything is compared with")
	}
	for _, s := range want.Set {
		if s.Attribute != attr.Affinity {
			c.Set = append(c.Set, s)
			continue
		}
		for _, t := range targets {
			c.Give(t.TID, attr.CPUs(s.Value))
		}
	}
	if want.Strategy != "" {
		var choices []place.Choice
		if choices, err = Choose(d, targets, Tuning{Strategy: want.Strategy}); err != nil {
			return bad("%v", err)
		}
		for _, is := range choices {
			c.Give(is.TID, is.CPUs)
		}
		c.Reason += ": " + choices[0].Reason
	}
	if spec.Policy.RealTime() && (c.CPUs.Empty() || d.Model.Topology.Online.SubsetOf(c.CPUs)) {
		return bad("a search tries a real-time policy only on CPUs that leave one to all others, as cpu:0+fifo:10 does")
	}
	return c, nil
}
