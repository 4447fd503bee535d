package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/partition"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/taskfacts"
	"piton/internal/tui/detail"
	"piton/internal/tuitest"
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
	return slices.Contains(f.needs.Watch, tid)
}

// all8 is what every task may use before it is changed.
var all8 = cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7)

// fakeTuning plans a change for every target and says it is done.
type fakeTuning struct {
	machine       *tuitest.Machine
	now           *model.Model // that CPUs were chosen by
	targets       []change.Target
	want          action.Tuning
	requests      []change.Request
	plans         int
	chosen        int // how often it was asked to choose
	carried       []change.Plan
	confirmations []change.Confirmation
	undone        []change.UndoRequest
	signals       []change.Target
	warnings      []change.Warning
	needs         []change.Need
	status        attr.Status // of what is planned; Planned when ""
	reason        string
	err           error // of each change
	canUndo       bool
	// backAlready: an undo finds nothing left to do
	backAlready bool
	// drifted: an undo leaves the only target alone
	drifted bool
	guards  []*fakeGuard
	// applyErr is Apply's error, after what it did; slow is how long it takes.
	applyErr error
	slow     time.Duration

	autogroup bool
	partition fakePartition

	race     auto.State        // what a search tells
	raceErr  error             // of a search; without it, and without race.Found, it waits for a hand
	searched [][]change.Target // what searches were for
}

// fakeGuard counts what a guard is told.
type fakeGuard struct {
	entry uint64
	kept  int
	err   error
}

func (f *fakeGuard) Tell([]byte) error { return nil }
func (f *fakeGuard) Keep() error       { f.kept++; return f.err }
func (f *fakeGuard) Stands() error     { return nil }
func (f *fakeGuard) Dismiss() error    { return nil }
func (f *fakeGuard) Words() []string   { return []string{"Process 4711 reverts it."} }
func (f *fakeGuard) Status() change.GuardStatus {
	return change.GuardStatus{PID: 4711, Entry: f.entry, After: guardTime}
}

// pinned is what the fake changes of a task.
func pinned(t change.Target, status attr.Status) change.Change {
	return change.Change{Object: attr.Object{PID: t.TID, TID: t.TID, StartTicks: t.StartTicks, Comm: "nqueens"},
		Attribute: attr.Affinity, Before: all8, After: cpuset.Of(5), Status: status}
}

func (f *fakeTuning) Plan(ctx context.Context, now *model.Model, r action.Request) (p action.Proposal, err error) {
	switch {
	case r.Undo != nil:
		p.Plan, err = f.PlanUndo(ctx, *r.Undo)
	case r.Isolate != "":
		return f.partition.isolate(r.Isolate)
	case r.Include != "":
		p.Plan, err = f.partition.include(r.Include)
	case len(r.Targets) > 0:
		p = f.tune(now, r.Targets, r.Tuning)
	default:
		p.Plan = f.planRequests(r.Requests)
	}
	return p, err
}

func (f *fakeTuning) tune(now *model.Model, targets []change.Target, t action.Tuning) (p action.Proposal) {
	f.plans++
	f.now, f.targets, f.want = now, targets, t
	p.Warnings, p.Needs = f.warnings, f.needs
	for _, tg := range targets {
		c := pinned(tg, cmp.Or(f.status, attr.Planned))
		c.Reason, c.Err = f.reason, f.err
		p.Changes = append(p.Changes, c)
	}
	set := cpuset.Of(5)
	p.Requests = []change.Request{{Targets: targets, Set: []attr.Setting{attr.SetAffinity(set)}}}
	if t.Strategy != "" {
		p.Choices = []place.Choice{{TID: targets[0].TID, CPUs: set, Reason: "cpu 5: 99 % of a CPU expected"}}
	}
	return p
}

// Settle counts.
func (f *fakeTuning) Settle(*partition.Isolation, *change.Outcome) error {
	f.partition.settled++
	return nil
}

func (f *fakeTuning) Choose(now *model.Model, targets []change.Target, t action.Tuning) ([]place.Choice, error) {
	f.now = now
	f.chosen++
	if t.Strategy == place.SiblingFree {
		return nil, errors.New("every core has a busy sibling")
	}
	var out []place.Choice
	for i, tg := range targets {
		cpu := cpuset.CPU(5 + i)
		out = append(out, place.Choice{TID: tg.TID, CPUs: cpuset.Of(cpu), Share: 0.99, Busy: 0.01, Near: "same L3 as now",
			Reason: fmt.Sprintf("cpu %d: 99 %% of a CPU expected (others use 1 %%, sibling 13 idle); next cpu 7 (96 %%)", cpu)})
	}
	return out, nil
}

func (f *fakeTuning) planRequests(requests []change.Request) change.Plan {
	f.plans++
	f.requests = requests
	p := change.Plan{Order: change.Order{Requests: requests}, Warnings: f.warnings}
	for _, r := range requests {
		for _, file := range r.Files {
			p.Changes = append(p.Changes, change.Change{Object: attr.Object{Path: file.Path, Name: file.Name}, Attribute: file.Attribute,
				Before: all8, After: file.Value, Status: attr.Planned})
		}
	}
	return p
}

func (f *fakeTuning) Apply(_ context.Context, p change.Plan, c change.Confirmation) (change.Outcome, error) {
	time.Sleep(f.slow)
	f.carried, f.confirmations = append(f.carried, p), append(f.confirmations, c)
	o := done(uint64(6+len(f.carried)), p)
	if c.RevertAfter > 0 {
		f.guards = append(f.guards, &fakeGuard{entry: o.Entry})
		o.Guard = f.guards[len(f.guards)-1]
	}
	return o, f.applyErr
}

// done is the outcome of a plan of which all comes about.
func done(entry uint64, p change.Plan) change.Outcome {
	o := change.Outcome{Entry: entry, Undone: p.Undoes, Warnings: p.Warnings}
	for _, c := range p.Changes {
		c.Status = attr.Done
		o.Changes = append(o.Changes, c)
	}
	return o
}

func (f *fakeTuning) PlanUndo(_ context.Context, q change.UndoRequest) (change.Plan, error) {
	if !f.canUndo {
		return change.Plan{}, change.ErrNothingToUndo
	}
	f.undone = append(f.undone, q)
	c := pinned(change.Target{TID: 3641}, attr.Planned)
	c.Before, c.After = c.After, c.Before
	switch {
	case f.backAlready:
		c.Before, c.Status = c.After, attr.Unchanged
	case f.drifted:
		c.Status, c.Reason = attr.Refused, "somebody else has changed it since"
	}
	return change.Plan{Changes: []change.Change{c}, Undoes: q.IDs}, nil
}

func (f *fakeTuning) Signal(t change.Target, _ syscall.Signal) error {
	f.signals = append(f.signals, t)
	return nil
}

func (f *fakeTuning) Cpuset(kernel.TID) (cpuset.Set, string, error) {
	return cpuset.Set{}, "", errors.New("no cgroup")
}

// Value is that of the machine's task.
func (f *fakeTuning) Value(a attr.Attribute, tid kernel.TID) (attr.Value, error) {
	p := f.machine.Proc(tid)
	switch {
	case p == nil:
		return nil, attr.ErrGone
	case a == attr.IOPrio:
		return attr.IOPrioValue(p.Task.IOPrio), nil
	}
	return p.Task.Affinity, nil
}

// wanted is the CPUs that were asked for.
func (f *fakeTuning) wanted() string { return attr.Text(f.want.Set[0].Value) }

// Search tells one state, and ends as the test says or as the user does.
func (f *fakeTuning) Search(ctx context.Context, _ *model.Model, targets []change.Target, tell func(auto.State)) (auto.State, error) {
	f.searched = append(f.searched, targets)
	s := f.race
	tell(s)
	if s.Found != nil || f.raceErr != nil {
		return s, f.raceErr
	}
	<-ctx.Done()
	now := auto.KeepNow{}
	if !errors.As(context.Cause(ctx), &now) {
		return s, context.Cause(ctx)
	}
	o := done(uint64(60+len(f.searched)), change.Plan{Changes: []change.Change{pinned(targets[0], attr.Planned)}})
	s.Found = &auto.Found{Result: s.Now, Kept: s.Candidates[now.Candidate], ByHand: true, Outcome: &o}
	s.Found.Result.Kept = now.Candidate
	return s, nil
}

func (f *fakeTuning) Autogrouped(kernel.TID) bool { return f.autogroup }
func (f *fakeTuning) Leftover() string            { return "5 % of it" }

// fakeRoot is a piton with root's rights.
type fakeRoot struct {
	orders []change.Order
	reply  change.Reply
}

// elevate runs at once, and sends the order and the reply as data.
func (f *fakeRoot) elevate(o change.Order, done func(change.Outcome, error) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		var got change.Order
		b, err := json.Marshal(o)
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		f.orders = append(f.orders, got)
		var reply change.Reply
		if b, jsonErr := json.Marshal(f.reply); err == nil && jsonErr == nil {
			err = json.Unmarshal(b, &reply)
		}
		return done(reply.Outcome, errors.Join(err, reply.Err()))
	}
}

type fakeInspector struct{}

func (fakeInspector) Read(pid kernel.TID) detail.Reading {
	thread := func(tid kernel.TID, name string, cpu int32) *sample.Task {
		return &sample.Task{TID: tid, ID: &sample.Identity{Comm: name}, State: 'R', LastCPU: cpu}
	}
	threads := []*sample.Task{thread(pid, "nqueens", 1)}
	if pid == 3642 {
		threads = append(threads, thread(3650, "matrix-1", 2), thread(3651, "matrix-2", 3))
	}
	return detail.Reading{PID: pid, At: time.Now(), Total: len(threads), Threads: threads,
		Confinement: detail.Confinement{Allowed: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1, 2, 3), Owner: "/user.slice"}}
}

func (fakeInspector) Facts(pid kernel.TID) taskfacts.Facts {
	return taskfacts.Facts{PID: pid, Exe: taskfacts.Known[string]{Value: "/home/balu/nqueens"},
		Files: taskfacts.Known[[]taskfacts.File]{Value: []taskfacts.File{{FD: 3, Path: "/tmp/evil\x1b[2J"}}}}
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
