package tui

import (
	"context"
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
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/partition"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/proctable"
)

// Tuning changes tasks; Tuner is the real one. It is called from commands,
// beside the screen.
type Tuning interface {
	Plan(ctx context.Context, now *model.Model, r action.Request) (action.Proposal, error)
	change.Checker
	// Choose says where a strategy would place the targets, and plans nothing.
	Choose(now *model.Model, targets []change.Target, t action.Tuning) ([]place.Choice, error)
	Apply(ctx context.Context, plan change.Plan, c change.Confirmation) (change.Outcome, error)
	// Settle looks at isolated CPUs once their plan was carried out.
	Settle(out *partition.Isolation, result *change.Outcome) error
	// Search tries placements, tells how far it is, and keeps one if it is better.
	Search(ctx context.Context, now *model.Model, targets []change.Target, tell func(auto.State)) (auto.State, error)
	Signal(target change.Target, sig syscall.Signal) error
	Cpuset(pid kernel.TID) (cpus cpuset.Set, cgroup string, err error)
	// Value reads an attribute of a thread.
	Value(a attr.Attribute, tid kernel.TID) (attr.Value, error)
	// Autogrouped reports whether nice ranks the process within its session only.
	Autogrouped(pid kernel.TID) bool
	// Leftover is what ordinary tasks get of a CPU beside a busy real-time task.
	Leftover() string
}

// Tuner is the Tuning of a machine.
type Tuner struct{ action.Deps }

func (t Tuner) at(now *model.Model) action.Deps { t.Model = now; return t.Deps }

// Plan finds out what a request would change.
func (t Tuner) Plan(ctx context.Context, now *model.Model, r action.Request) (action.Proposal, error) {
	return t.at(now).Plan(ctx, r)
}

// Choose says where a strategy would place the targets.
func (t Tuner) Choose(now *model.Model, targets []change.Target, want action.Tuning) ([]place.Choice, error) {
	return action.Choose(t.at(now), targets, want)
}

// Search tries placements of processes, which are placed together, as piton auto does.
func (t Tuner) Search(ctx context.Context, now *model.Model, targets []change.Target, tell func(auto.State)) (auto.State, error) {
	return action.RunSearch(ctx, t.at(now), action.SearchAsk{Targets: targets}, tell)
}

// request is a Request of a key, and what the user was asked about it.
type request struct {
	action.Request
	whole bool           // it touches more than the tagged or selected rows: its plan is shown first
	step  bool           // of nice: the next one waits for it
	then  func() tea.Cmd // what follows once something was changed, and is kept

	action.Proposal      // once it is planned
	yes             bool // the user was shown the plan, and wants it
}

// result is what became of a request.
type result struct {
	request
	outcome change.Outcome
	root    bool // the change is in root's journal, because sudo made it
	err     error
}

func tune(what, subject string, targets []change.Target, want action.Tuning) request {
	return request{Request: action.Request{What: what, Subject: subject, Targets: targets, Tuning: want}}
}

// ordered is a request for an order.
func ordered(what, subject string, o change.Order) request {
	return request{Request: action.Request{What: what, Subject: subject, Order: o}}
}

// confirmation is what the user said of the plan's dangers: with one, it is reverted unless
// it is kept.
func (r *request) confirmation() change.Confirmation {
	if len(r.Needs) == 0 {
		return change.Confirmation{}
	}
	return change.Confirmation{Yes: r.yes, RevertAfter: guardTime}
}

// begin plans a request beside the screen. CPUs are chosen by the newest load, also while
// an older one is shown.
func (m *Model) begin(r request) tea.Cmd {
	tuning, now := m.deps.Tuning, m.newest
	return func() tea.Msg {
		var err error
		r.Proposal, err = tuning.Plan(context.Background(), now, r.Request)
		return func() tea.Cmd { return m.takePlan(r, err) }
	}
}

func (m *Model) applyPlan(r request) tea.Cmd {
	if m.bySudo(&r) {
		return m.elevate(r, r.asOrder())
	}
	m.busy++
	return func() tea.Msg {
		m.gate <- struct{}{} // none begins once the program has ended
		defer func() { <-m.gate }()
		o, err := m.deps.Tuning.Apply(context.Background(), r.Plan, r.confirmation())
		return m.became(r, o, err, false)
	}
}

// became goes on with what became of a plan, after a look at what it has isolated.
func (m *Model) became(r request, o change.Outcome, err error, root bool) tea.Msg {
	if r.Isolate != "" && err == nil {
		err = m.deps.Tuning.Settle(&r.Isolation, &o)
	}
	return m.finished(func() tea.Cmd { return m.takeOutcome(result{r, o, root, err}) })
}

func (m *Model) checkUndo() tea.Cmd {
	tuning := m.deps.Tuning
	if m.deps.ReadOnly {
		return nil
	}
	return func() tea.Msg {
		_, err := tuning.PlanUndo(context.Background(), change.UndoRequest{Last: 1})
		return func() tea.Cmd {
			m.undoable = err == nil
			return nil
		}
	}
}

func targetsOf(rows []field.Row) (targets []change.Target, subject string) {
	for _, r := range rows {
		targets = append(targets, targetOf(r))
	}
	switch len(rows) {
	case 0:
		return nil, "nothing"
	case 1:
		return targets, nameOf(rows[0].Task().TID, rows[0].Task())
	}
	return targets, fmt.Sprintf("%d tagged rows", len(rows))
}

func targetOf(r field.Row) change.Target {
	k := proctable.KeyOf(r.Task())
	t := change.Target{TID: k.TID, StartTicks: k.StartTicks, Scope: change.ScopeProcess}
	if !r.Task().IsProcess() {
		t.Scope = change.ScopeThread
	}
	return t
}

// nameOf is a task as messages name it: "nqueens (3641)".
func nameOf(tid kernel.TID, t *sample.Task) string {
	name := "task"
	if t != nil && t.ID != nil {
		name = field.Clean(t.ID.Comm)
	}
	return fmt.Sprintf("%s (%d)", name, tid)
}

// stepping is the steps of nice under way. One is made at a time, because the
// next starts from what the kernel says then.
type stepping struct {
	busy bool    // one is under way
	done bool    // it has been made; the next sample shows it
	more []steps // asked for meanwhile
}

// steps are presses of the keys that meant the same rows.
type steps struct {
	targets []change.Target
	subject string
	by      int
}

// stepNice changes the nice value by one. Further presses on the same rows add
// up while the change is under way.
func (m *Model) stepNice(by int) tea.Cmd {
	targets, subject := m.procs.targets()
	more := m.nice.more
	if last := len(more) - 1; last >= 0 && slices.Equal(more[last].targets, targets) {
		more[last].by += by
		return nil
	}
	m.nice.more = append(more, steps{targets, subject, by})
	if m.nice.busy {
		return nil
	}
	return m.stepNiceOn()
}

// stepNiceOn goes on with the presses that came meanwhile.
func (m *Model) stepNiceOn() tea.Cmd {
	m.nice.busy, m.nice.done = false, false
	for len(m.nice.more) > 0 {
		next := m.nice.more[0]
		m.nice.more = m.nice.more[1:]
		if next.by != 0 {
			m.nice.busy = true
			r := tune("nice", next.subject, next.targets, action.Tuning{NiceBy: next.by})
			r.step = true
			return m.begin(r)
		}
	}
	return nil
}

// over is called when a request has ended and changed nothing: no sample has to be
// waited for.
func (m *Model) over(r *request) tea.Cmd {
	if r.step {
		return m.stepNiceOn()
	}
	return nil
}

// quitTime is how long the end of the program waits for a change under way.
const quitTime = 5 * time.Second

// finished goes on with what became of a change, for which the end of the program waits.
func (m *Model) finished(goOn func() tea.Cmd) tea.Msg {
	return func() tea.Cmd {
		m.busy--
		if cmd := goOn(); !m.quitting || m.busy > 0 {
			return cmd
		}
		return tea.Quit
	}
}

// quit ends the program once no change is under way; a search ends first.
func (m *Model) quit() tea.Cmd {
	if m.busy == 0 {
		return tea.Quit
	}
	m.quitting = true
	m.race.Restore()
	return tea.Batch(m.say(info, "finishing the change"+m.th.Ellipsis), tea.Tick(quitTime, func(time.Time) tea.Msg { return tea.Quit() }))
}

// finish waits for the change under way when the screen is gone, by q or by a signal.
func (m *Model) finish() error {
	most := quitTime
	if m.quitting { // that long has been waited
		most = time.Millisecond
	}
	select {
	case m.gate <- struct{}{}:
		return nil
	case <-time.After(most):
		return errors.New("a change was still under way at the end; piton journal shows what became of it")
	}
}
