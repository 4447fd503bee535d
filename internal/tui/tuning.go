package tui

import (
	"context"
	"fmt"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
	"piton/internal/tune"
)

// Tuning changes tasks; Tuner is the real one. It is called from commands,
// beside the screen.
type Tuning interface {
	Plan(ctx context.Context, m *model.Model, targets []tune.Target, t action.Tuning) (tune.Plan, []place.Choice, error)
	// Choose says where a strategy would place the targets, and plans nothing.
	Choose(m *model.Model, targets []tune.Target, t action.Tuning) ([]place.Choice, error)
	// PlanRequests plans settings of tasks and of the kernel's files.
	PlanRequests(ctx context.Context, requests []tune.Request) (tune.Plan, error)
	Apply(ctx context.Context, plan tune.Plan) (tune.Result, error)
	PlanUndo(ctx context.Context, q tune.UndoRequest) (tune.Plan, error)
	Signal(target tune.Target, sig syscall.Signal) error
	Cpuset(pid kernel.TID) (cpus cpuset.Set, cgroup string, err error)
	// Value reads an attribute of a thread, in the notation of plans.
	Value(a tune.Attribute, tid kernel.TID) (string, error)
	// Autogrouped reports whether nice ranks the process within its session only.
	Autogrouped(pid kernel.TID) bool
}

// Tuner is the Tuning of this machine.
type Tuner struct{ *tune.Tuner }

// Plan finds out what a tuning would change.
func (t Tuner) Plan(ctx context.Context, m *model.Model, targets []tune.Target, want action.Tuning) (tune.Plan, []place.Choice, error) {
	return action.Plan(ctx, action.Deps{Tuner: t.Tuner, Model: m}, targets, want)
}

// Choose says where a strategy would place the targets.
func (t Tuner) Choose(m *model.Model, targets []tune.Target, want action.Tuning) ([]place.Choice, error) {
	return action.Choose(action.Deps{Tuner: t.Tuner, Model: m}, targets, want)
}

// PlanRequests finds out what requests would change.
func (t Tuner) PlanRequests(ctx context.Context, requests []tune.Request) (tune.Plan, error) {
	return t.Tuner.Plan(ctx, requests)
}

// job is one change on its way: planned, perhaps asked about, applied.
type job struct {
	what    string // "pin", as messages begin
	subject string // "nqueens (3641)"
	targets []tune.Target
	want    action.Tuning
	undo    *tune.UndoRequest // instead of want
	// prepare plans, instead of want; with what the dialog is to say besides.
	prepare func(ctx context.Context, t Tuning) (tune.Plan, []dialog.Line, error)
	command []string // of piton, that does what is prepared; nil: there is none
	// settle looks again once the plan was applied, and words says what was done;
	// nil for what any plan says of itself.
	settle func(*tune.Result) error
	words  func(tune.Result) string
	then   func() tea.Cmd // what follows once something was changed, and is kept
	nice   bool           // a step of nice: the next one waits for it
	back   *trial         // not nil: undo takes this back
	ask    bool           // show the plan before it is applied, however small
}

// planned delivers what a job would change.
type planned struct {
	job
	plan    tune.Plan
	more    []dialog.Line // that the dialog says besides
	choices []place.Choice
	err     error
}

// applied delivers what a job changed.
type applied struct {
	planned
	result tune.Result
	guard  Trial // nil: the change is not on trial
}

// undoable delivers whether the journal holds something to undo.
type undoable struct{ yes bool }

// begin plans a job beside the screen. Its targets were fixed by the caller at
// the keypress: however the list moves meanwhile, they stay what they are. CPUs
// are chosen by the newest load, also while an older one is shown.
func (m *Model) begin(j job) tea.Cmd {
	tuning, now := m.deps.Tuning, m.newest
	return func() tea.Msg {
		p := planned{job: j}
		switch {
		case j.undo != nil:
			p.plan, p.err = tuning.PlanUndo(context.Background(), *j.undo)
		case j.prepare != nil:
			p.plan, p.more, p.err = j.prepare(context.Background(), tuning)
		default:
			p.plan, p.choices, p.err = tuning.Plan(context.Background(), now, j.targets, j.want)
		}
		return p
	}
}

// carryOut applies a plan beside the screen.
func (m *Model) carryOut(p planned) tea.Cmd {
	tuning, guard := m.deps.Tuning, m.deps.Guard
	return func() tea.Msg {
		a := applied{planned: p}
		a.result, a.guard, a.err = applyPlan(tuning, guard, p)
		if a.err == nil && p.settle != nil {
			a.err = p.settle(&a.result)
		}
		return a
	}
}

// checkUndo finds out whether there is something to undo.
func (m *Model) checkUndo() tea.Cmd {
	tuning := m.deps.Tuning
	if m.deps.ReadOnly {
		return nil
	}
	return func() tea.Msg {
		_, err := tuning.PlanUndo(context.Background(), tune.UndoRequest{Last: 1})
		return undoable{err == nil}
	}
}

// targets are the tagged rows, or the one under the cursor, with their names. A
// thread's row means that thread; a process's row means all of its threads.
func (m *Model) targets() (targets []tune.Target, subject string) {
	return targetsOf(m.table.Targets())
}

func targetsOf(rows []field.Row) (targets []tune.Target, subject string) {
	for _, r := range rows {
		targets = append(targets, targetOf(r))
	}
	switch len(rows) {
	case 0:
		return nil, "nothing"
	case 1:
		return targets, nameOf(rows[0])
	}
	return targets, fmt.Sprintf("%d tagged rows", len(rows))
}

func targetOf(r field.Row) tune.Target {
	k := proctable.KeyOf(r.Task())
	t := tune.Target{TID: k.TID, StartTicks: k.StartTicks, Scope: tune.ScopeProcess}
	if !r.Task().IsProcess() {
		t.Scope = tune.ScopeThread
	}
	return t
}

// nameOf is a task as messages name it: "nqueens (3641)".
func nameOf(r field.Row) string {
	name := "task"
	if id := r.Task().ID; id != nil {
		name = field.Clean(id.Comm)
	}
	return fmt.Sprintf("%s (%d)", name, r.Task().TID)
}
