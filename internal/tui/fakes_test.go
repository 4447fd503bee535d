package tui

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/detail"
	"piton/internal/tui/tuitest"
	"piton/internal/tune"
)

// fakeSampler gives what the test puts in and remembers what it was asked.
type fakeSampler struct {
	out       chan *sample.Sample
	needs     sample.Needs
	interval  time.Duration
	refreshed int
}

func (f *fakeSampler) Samples() <-chan *sample.Sample { return f.out }
func (f *fakeSampler) SetNeeds(n sample.Needs)        { f.needs = n }
func (f *fakeSampler) SetInterval(d time.Duration)    { f.interval = d }
func (f *fakeSampler) Refresh()                       { f.refreshed++ }
func (f *fakeSampler) watches(tid kernel.TID) bool {
	for _, t := range f.needs.Watch {
		if t == tid {
			return true
		}
	}
	return false
}

// fakeTuning plans a change for every target and says it is done.
type fakeTuning struct {
	machine  *tuitest.Machine
	now      *model.Model // that CPUs were chosen by
	targets  []tune.Target
	want     action.Tuning
	requests []tune.Request
	plans    int
	applied  []tune.Plan
	undone   []tune.UndoRequest
	signals  []tune.Target
	warnings []string
	trial    string
	status   tune.Status // of what is planned; Planned when ""
	reason   string
	err      error // of each change
	canUndo  bool
	// backAlready: an undo finds nothing left to do
	backAlready bool
	// drifted: an undo leaves one target alone, and the only one if allDrifted
	drifted, allDrifted bool

	autogroup bool
}

func (f *fakeTuning) Plan(_ context.Context, now *model.Model, targets []tune.Target, t action.Tuning) (tune.Plan, []place.Choice, error) {
	f.plans++
	f.now, f.targets, f.want = now, targets, t
	p := tune.Plan{Warnings: f.warnings, Trial: f.trial}
	for _, tg := range targets {
		c := tune.Change{PID: tg.TID, TID: tg.TID, StartTicks: tg.StartTicks, Comm: "nqueens", Attribute: tune.Affinity,
			Before: "0-7", After: "5", Status: tune.Planned, Reason: f.reason, Err: f.err}
		if f.status != "" {
			c.Status = f.status
		}
		p.Changes = append(p.Changes, c)
	}
	set := cpuset.Of(5)
	p.Requests = []tune.Request{{Targets: targets, Settings: tune.Settings{Affinity: &set}}}
	if t.Strategy == "" {
		return p, nil, nil
	}
	return p, []place.Choice{{TID: targets[0].TID, CPUs: set, Reason: "cpu 5: 99 % of a CPU expected"}}, nil
}

func (f *fakeTuning) Choose(now *model.Model, targets []tune.Target, t action.Tuning) ([]place.Choice, error) {
	f.now = now
	if t.Strategy == place.SiblingFree {
		return nil, errors.New("every core has a busy sibling")
	}
	var out []place.Choice
	for i, tg := range targets {
		cpu := cpuset.CPU(5 + i)
		out = append(out, place.Choice{TID: tg.TID, CPUs: cpuset.Of(cpu),
			Reason: fmt.Sprintf("cpu %d: 99 %% of a CPU expected (1 %% busy, sibling 13 idle); next cpu 7 (96 %%)", cpu)})
	}
	return out, nil
}

func (f *fakeTuning) PlanRequests(_ context.Context, requests []tune.Request) (tune.Plan, error) {
	f.plans++
	f.requests = requests
	p := tune.Plan{Requests: requests, Warnings: f.warnings}
	for _, r := range requests {
		for _, file := range r.Files {
			p.Changes = append(p.Changes, tune.Change{Attribute: file.Attribute, Path: file.Path, Name: file.Name,
				Before: "0-7", After: file.Value, Status: tune.Planned})
		}
	}
	return p, nil
}

func (f *fakeTuning) Apply(_ context.Context, p tune.Plan) (tune.Result, error) {
	f.applied = append(f.applied, p)
	r := tune.Result{Entry: uint64(6 + len(f.applied)), Undone: p.Undoes}
	for _, c := range p.Changes {
		if c.Status == tune.Refused {
			r.Undone = nil
		} else {
			c.Status = tune.Done
		}
		r.Changes = append(r.Changes, c)
	}
	return r, nil
}

func (f *fakeTuning) PlanUndo(_ context.Context, q tune.UndoRequest) (tune.Plan, error) {
	if !f.canUndo {
		return tune.Plan{}, tune.ErrNothingToUndo
	}
	f.undone = append(f.undone, q)
	c := tune.Change{PID: 3641, TID: 3641, Comm: "nqueens", Attribute: tune.Affinity, Before: "5", After: "0-7", Status: tune.Planned}
	if f.backAlready {
		c.Before, c.Status = c.After, tune.Unchanged
	}
	p := tune.Plan{Changes: []tune.Change{c}, Undoes: q.IDs}
	if f.drifted {
		c.Status, c.Reason = tune.Refused, "somebody else has changed it since"
		p.Changes = append(p.Changes, c)
	}
	if f.allDrifted {
		p.Changes = p.Changes[1:]
	}
	return p, nil
}

func (f *fakeTuning) Signal(t tune.Target, _ syscall.Signal) error {
	f.signals = append(f.signals, t)
	return nil
}

func (f *fakeTuning) Cpuset(kernel.TID) (cpuset.Set, string, error) {
	return cpuset.Set{}, "", errors.New("no cgroup")
}

// Value is that of the machine's task.
func (f *fakeTuning) Value(a tune.Attribute, tid kernel.TID) (string, error) {
	p := f.machine.Proc(tid)
	switch {
	case p == nil:
		return "", tune.ErrGone
	case a == tune.IOPrio:
		return tune.FormatIOPrio(p.Task.IOPrio), nil
	}
	return p.Task.Affinity.String(), nil
}

func (f *fakeTuning) Autogrouped(kernel.TID) bool { return f.autogroup }

type fakeInspector struct{}

func (fakeInspector) Read(pid kernel.TID) detail.Reading {
	return detail.Reading{PID: pid, Total: 1, Threads: []detail.Thread{{TID: pid, Comm: "nqueens", State: 'R', CPU: 1}},
		Confinement: detail.Confinement{Allowed: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1, 2, 3), Owner: "/user.slice"}}
}

func (fakeInspector) Environ(kernel.TID) ([]string, error) {
	return []string{"HOME=/home/balu", "EVIL=\x1b[2J"}, nil
}

type fakeSettings struct {
	saved []Saved
	err   error
}

func (f *fakeSettings) Save(s Saved) error {
	f.saved = append(f.saved, s)
	return f.err
}
