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
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/partition"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/journalview"
	"piton/internal/tui/proctable"
	"piton/internal/tui/race"
	"piton/internal/tui/whyview"
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
	shown string         // the command line that the user chose, "" for none
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

// changes are what was asked of the machine in this session, and what became of it.
type changes struct {
	*shared
	race     *race.View
	why      *whyview.View
	journal  *journalview.View
	command  string // that does the last change again
	undoable bool   // the journal has something to undo
	made     []made // in this session and not undone, oldest first
	unkept   []made // what is not confirmed yet
	guards   []history.GuardState
	busy     int           // changes under way
	gate     chan struct{} // holds one: the change under way, or the end of the program
	quitting bool          // as soon as none is under way
	nice     stepping
}

// begin plans a request beside the screen. CPUs are chosen by the newest load, also while
// an older one is shown.
func (cs *changes) begin(r request) tea.Cmd {
	tuning, now := cs.deps.Tuning, cs.newest
	return func() tea.Msg {
		var err error
		r.Proposal, err = tuning.Plan(context.Background(), now, r.Request)
		return func() tea.Cmd { return cs.takePlan(r, err) }
	}
}

func (cs *changes) applyPlan(r request) tea.Cmd {
	if cs.bySudo(&r) {
		return cs.elevate(r, r.asOrder())
	}
	cs.busy++
	return func() tea.Msg {
		cs.gate <- struct{}{} // none begins once the program has ended
		defer func() { <-cs.gate }()
		o, err := cs.deps.Tuning.Apply(context.Background(), r.Plan, r.confirmation())
		return cs.became(r, o, err, false)
	}
}

// became goes on with what became of a plan, after a look at what it has isolated.
func (cs *changes) became(r request, o change.Outcome, err error, root bool) tea.Msg {
	if r.Isolate != "" && err == nil {
		err = cs.deps.Tuning.Settle(&r.Isolation, &o)
	}
	return cs.finished(func() tea.Cmd { return cs.takeOutcome(result{r, o, root, err}) })
}

func (cs *changes) checkUndo() tea.Cmd {
	tuning := cs.deps.Tuning
	if cs.deps.ReadOnly {
		return nil
	}
	return func() tea.Msg {
		_, err := tuning.PlanUndo(context.Background(), change.UndoRequest{Last: 1})
		return func() tea.Cmd {
			cs.undoable = err == nil
			return nil
		}
	}
}

func targetsOf(rows []field.Row) (targets []change.Target, subject string) {
	targets = group.Each(rows, targetOf)
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
func (cs *changes) stepNice(s steps) tea.Cmd {
	more := cs.nice.more
	if last := len(more) - 1; last >= 0 && slices.Equal(more[last].targets, s.targets) {
		more[last].by += s.by
		return nil
	}
	cs.nice.more = append(more, s)
	if cs.nice.busy {
		return nil
	}
	return cs.stepNiceOn()
}

// stepNiceOn goes on with the presses that came meanwhile.
func (cs *changes) stepNiceOn() tea.Cmd {
	cs.nice.busy, cs.nice.done = false, false
	for len(cs.nice.more) > 0 {
		next := cs.nice.more[0]
		cs.nice.more = cs.nice.more[1:]
		if next.by != 0 {
			cs.nice.busy = true
			r := tune("nice", next.subject, next.targets, action.Tuning{NiceBy: next.by})
			r.step = true
			return cs.begin(r)
		}
	}
	return nil
}

// over is called when a request has ended and changed nothing: no sample has to be
// waited for.
func (cs *changes) over(r *request) tea.Cmd {
	if r.step {
		return cs.stepNiceOn()
	}
	return nil
}

// quitTime is how long the end of the program waits for a change under way.
const quitTime = 5 * time.Second

// finished goes on with what became of a change, for which the end of the program waits.
func (cs *changes) finished(goOn func() tea.Cmd) tea.Msg {
	return func() tea.Cmd {
		cs.busy--
		if cmd := goOn(); !cs.quitting || cs.busy > 0 {
			return cmd
		}
		return tea.Quit
	}
}

// quit ends the program once no change is under way; a search ends first.
func (cs *changes) quit() tea.Cmd {
	if cs.busy == 0 {
		return tea.Quit
	}
	cs.quitting = true
	cs.race.Restore()
	return tea.Batch(cs.say(info, "finishing the change"+cs.th.Ellipsis), tea.Tick(quitTime, func(time.Time) tea.Msg { return tea.Quit() }))
}

// finish waits for the change under way when the screen is gone, by q or by a signal.
func (cs *changes) finish() error {
	most := quitTime
	if cs.quitting { // that long has been waited
		most = time.Millisecond
	}
	select {
	case cs.gate <- struct{}{}:
		return nil
	case <-time.After(most):
		return errors.New("a change was still under way at the end; piton journal shows what became of it")
	}
}
