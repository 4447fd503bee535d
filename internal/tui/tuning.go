package tui

import (
	"cmp"
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
	"piton/internal/place"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
)

// Tuning changes tasks; Tuner is the real one. It is called from commands,
// beside the screen.
type Tuning interface {
	Plan(ctx context.Context, m *model.Model, targets []change.Target, t action.Tuning) (change.Plan, []place.Choice, error)
	// Choose says where a strategy would place the targets, and plans nothing.
	Choose(m *model.Model, targets []change.Target, t action.Tuning) ([]place.Choice, error)
	// PlanRequests plans settings of tasks and of the kernel's files.
	PlanRequests(ctx context.Context, requests []change.Request) (change.Plan, error)
	PlanUndo(ctx context.Context, q change.UndoRequest) (change.Plan, error)
	Carry(ctx context.Context, plan change.Plan, c change.Consent) (change.Outcome, error)
	// Search tries placements, tells how far it is, and keeps one if it is better.
	Search(ctx context.Context, m *model.Model, targets []change.Target, tell func(auto.State)) (auto.State, error)
	Signal(target change.Target, sig syscall.Signal) error
	Cpuset(pid kernel.TID) (cpus cpuset.Set, cgroup string, err error)
	// Value reads an attribute of a thread.
	Value(a attr.Attribute, tid kernel.TID) (attr.Value, error)
	// Autogrouped reports whether nice ranks the process within its session only.
	Autogrouped(pid kernel.TID) bool
	// Leftover is what ordinary tasks get of a CPU beside a busy real-time task.
	Leftover() string
}

// Tuner is the Tuning of this machine.
type Tuner struct{ *change.Tuner }

// Plan finds out what a tuning would change.
func (t Tuner) Plan(ctx context.Context, m *model.Model, targets []change.Target, want action.Tuning) (change.Plan, []place.Choice, error) {
	return action.Plan(ctx, action.Deps{Tuner: t.Tuner, Model: m}, targets, want)
}

// Choose says where a strategy would place the targets.
func (t Tuner) Choose(m *model.Model, targets []change.Target, want action.Tuning) ([]place.Choice, error) {
	return action.Choose(action.Deps{Tuner: t.Tuner, Model: m}, targets, want)
}

// PlanRequests finds out what requests would change.
func (t Tuner) PlanRequests(ctx context.Context, requests []change.Request) (change.Plan, error) {
	return t.Tuner.Plan(ctx, requests)
}

// wish is a change that a key asks for. Its targets were fixed at the keypress: however
// the list moves meanwhile, they stay what they are.
type wish interface {
	head() about
	// plan finds out what it would change; it runs beside the screen.
	plan(ctx context.Context, t Tuning, now *model.Model) proposal
}

// about is what is said of a wish and how it is asked about.
type about struct {
	what    string         // "pin", as messages begin
	subject string         // "nqueens (3641)"
	whole   bool           // it touches more than the tagged or selected rows: its plan is shown first
	then    func() tea.Cmd // what follows once something was changed, and is kept
}

// proposal is what a wish would change.
type proposal struct {
	plan    change.Plan
	choices []place.Choice
	more    []dialog.Line // that the dialog says besides
	err     error
}

// The wishes. Those that a piton with root's rights makes by itself, because they are
// about every task and interrupt, are orderedWishes; see isolate.go.
type (
	// tuneWish sets attributes of tasks, or places them.
	tuneWish struct {
		about
		targets []change.Target
		want    action.Tuning
	}
	// stepWish is a step of nice: the next one waits for it.
	stepWish struct{ tuneWish }
	// requestWish sets what requests say: interrupts, queues.
	requestWish struct {
		about
		requests []change.Request
	}
	// undoWish undoes entries of the journal.
	undoWish struct {
		about
		request change.UndoRequest
	}
	orderedWish interface {
		wish
		order() change.Order
		sentence(change.Outcome) string // what was done
	}
)

func (a about) head() about { return a }

func tune(what, subject string, targets []change.Target, want action.Tuning) tuneWish {
	return tuneWish{about{what: what, subject: subject}, targets, want}
}

func (w tuneWish) plan(ctx context.Context, t Tuning, now *model.Model) (p proposal) {
	p.plan, p.choices, p.err = t.Plan(ctx, now, w.targets, w.want)
	return p
}

func (w requestWish) plan(ctx context.Context, t Tuning, _ *model.Model) (p proposal) {
	p.plan, p.err = t.PlanRequests(ctx, w.requests)
	return p
}

func (w undoWish) plan(ctx context.Context, t Tuning, _ *model.Model) (p proposal) {
	p.plan, p.err = t.PlanUndo(ctx, w.request)
	return p
}

// planned delivers what a wish would change.
type planned struct {
	about
	proposal
	wish wish
	yes  bool // the user was shown the plan, and wants it
}

// applied delivers what became of a plan.
type applied struct {
	planned
	outcome change.Outcome
	root    bool // the change is in root's journal, because sudo made it
	err     error
}

// consent is what the user said of the plan's dangers: with one, it is reverted unless
// it is kept.
func (p *planned) consent() change.Consent {
	if len(p.plan.Needs) == 0 {
		return change.Consent{}
	}
	return change.Consent{Yes: p.yes, RevertAfter: guardTime}
}

// applied looks at what became of the plan.
func (p planned) applied(o change.Outcome, err error, root bool) applied {
	if w, ok := p.wish.(*partitionWish); ok && !w.include && err == nil {
		err = w.partition.Settle(&w.apart, &o)
	}
	return applied{planned: p, outcome: o, root: root, err: err}
}

// begin plans a wish beside the screen. CPUs are chosen by the newest load, also while
// an older one is shown.
func (m *Model) begin(w wish) tea.Cmd {
	tuning, now := m.deps.Tuning, m.newest
	return func() tea.Msg {
		return planned{about: w.head(), proposal: w.plan(context.Background(), tuning, now), wish: w}
	}
}

// carryOut carries a plan out beside the screen.
func (m *Model) carryOut(p planned) tea.Cmd {
	if m.bySudo(&p) {
		return m.elevate(p, p.asOrder())
	}
	tuning := m.deps.Tuning
	return m.beside(func() tea.Msg {
		o, err := tuning.Carry(context.Background(), p.plan, p.consent())
		return p.applied(o, err, false)
	})
}

// checkUndo finds out whether there is something to undo.
func (m *Model) checkUndo() tea.Cmd {
	tuning := m.deps.Tuning
	if m.deps.ReadOnly {
		return nil
	}
	return func() tea.Msg {
		_, err := tuning.PlanUndo(context.Background(), change.UndoRequest{Last: 1})
		return resume(func(m *Model) tea.Cmd {
			m.undoable = err == nil
			return nil
		})
	}
}

// targets are the tagged rows, or the one under the cursor, with their names. A
// thread's row means that thread; a process's row means all of its threads.
func (m *Model) targets() (targets []change.Target, subject string) {
	targets, subject = targetsOf(m.table.Targets())
	return targets, cmp.Or(m.table.Named(), subject)
}

func targetsOf(rows []field.Row) (targets []change.Target, subject string) {
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

func targetOf(r field.Row) change.Target {
	k := proctable.KeyOf(r.Task())
	t := change.Target{TID: k.TID, StartTicks: k.StartTicks, Scope: change.ScopeProcess}
	if !r.Task().IsProcess() {
		t.Scope = change.ScopeThread
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
	targets, subject := m.targets()
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
			return m.begin(stepWish{tune("nice", next.subject, next.targets, action.Tuning{NiceBy: next.by})})
		}
	}
	return nil
}

// over is called when a wish has ended and changed nothing: no sample has to be
// waited for.
func (m *Model) over(w wish) tea.Cmd {
	if _, isStep := w.(stepWish); isStep {
		return m.stepNiceOn()
	}
	return nil
}

// quitTime is how long the end of the program waits for a change under way.
const quitTime = 5 * time.Second

// finished delivers what became of a change, for which the end of the program waits.
type finished struct{ msg tea.Msg }

// beside runs a change beside the screen, one at a time. None begins once the program
// has ended.
func (m *Model) beside(do func() tea.Msg) tea.Cmd {
	m.busy++
	return func() tea.Msg {
		m.gate <- struct{}{}
		defer func() { <-m.gate }()
		return finished{do()}
	}
}

func (m *Model) takeFinished(f finished) tea.Cmd {
	m.busy--
	cmd := m.tuned(f.msg)
	if m.quitting && m.busy == 0 {
		return tea.Quit
	}
	return cmd
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
