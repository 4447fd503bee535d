package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/dialog"
	"piton/internal/tune"
)

const (
	// trialTime is how long a change that may take the machine away stays when
	// nobody says to keep it.
	trialTime = 15 * time.Second
	// guardTime is when the guard takes it back: after the screen would have.
	guardTime = trialTime + time.Second
)

// Guard carries out a plan that is taken back after a time unless the Trial is
// kept, by a process that outlives the screen; guard.Launcher is the real one. The
// Trial is nil when nothing was changed.
type Guard func(ctx context.Context, plan tune.Plan, after time.Duration) (tune.Result, Trial, error)

// Trial is a change that a guard takes back.
type Trial interface {
	Keep() error    // the change stays
	Dismiss() error // it has been taken back already
	Leave()         // the guard is left to its own
	Words() []string
}

// trial is a change that is kept only if the user says so.
type trial struct {
	entry uint64 // of the journal; 0 = there is none
	guard Trial  // nil where there are no guards
}

// dangerous reports whether a plan may take the machine away from its user.
func dangerous(p tune.Plan) bool { return p.Trial != "" || p.NeedsYes != "" }

// applyPlan carries a plan out, a dangerous one under guard.
func applyPlan(tuning Tuning, guard Guard, p planned) (tune.Result, Trial, error) {
	ctx := context.Background()
	if dangerous(p.plan) && guard != nil {
		return guard(ctx, p.plan, guardTime)
	}
	result, err := tuning.Apply(ctx, p.plan)
	if err == nil {
		p.back.over(result.Undone)
	}
	return result, nil, err
}

// over ends the guard of a trial if it is among the entries that have been taken
// back. One that has gone has done so itself; one of which something is in force
// goes on.
func (t *trial) over(undone []uint64) {
	switch {
	case t == nil || t.guard == nil:
	case slices.Contains(undone, t.entry):
		_ = t.guard.Dismiss()
	default:
		t.guard.Leave()
	}
}

// left says what becomes of a trial that went wrong half way, and leaves it to its
// guard.
func (a *applied) left() string {
	if a.guard == nil {
		return ""
	}
	a.guard.Leave()
	return fmt.Sprintf("; what was done is taken back in %v", guardTime)
}

// askKeep asks whether to keep a change that may take the machine away, and
// takes it back when no answer comes.
func (m *Model) askKeep(a applied) tea.Cmd {
	danger := a.plan.Trial
	if danger == "" {
		danger = a.plan.NeedsYes
	}
	lines := []dialog.Line{{Tone: dialog.Loud, Text: a.sentence(m.th.Arrow)}, {Tone: dialog.Warning, Text: danger},
		{Tone: dialog.Plain, Text: "Keep it? Without an answer it is taken back."}}
	if a.guard != nil {
		for _, w := range a.guard.Words() {
			lines = append(lines, dialog.Line{Tone: dialog.Quiet, Text: w})
		}
	}
	of := trial{a.result.Entry, a.guard}
	m.trials = append(m.trials, of)
	return m.dialogs.PushUnasked(dialog.NewConfirm("Keep it?", lines, "keep", "take back").Countdown(trialTime), func(o dialog.Outcome) tea.Cmd {
		m.trials = slices.DeleteFunc(m.trials, func(t trial) bool { return t == of })
		switch {
		case o.Canceled:
			return m.begin(job{what: "take back", undo: &tune.UndoRequest{IDs: []uint64{of.entry}}, back: &of})
		case of.guard == nil:
			return m.takeDecided(decided{of: a})
		}
		return func() tea.Msg { return decided{a, of.guard.Keep()} }
	})
}

// decided delivers whether a change could be kept.
type decided struct {
	of  applied
	err error
}

func (m *Model) takeDecided(d decided) tea.Cmd {
	if d.err != nil {
		return m.say(bad, fmt.Sprintf("%s: not kept: %v; the journal says what became of it", d.of.what, d.err))
	}
	said := m.say(good, "kept: "+d.of.sentence(m.th.Arrow))
	if d.of.then == nil {
		return said
	}
	return tea.Batch(said, d.of.then())
}

// takenBack is told of a trial of which nothing can be taken back: its guard was
// faster, or somebody has changed it since, which is told and left to the guard.
func (m *Model) takenBack(p planned) tea.Cmd {
	if count(p.plan.Changes, tune.Refused) > 0 {
		p.back.over(nil)
		return m.nothingToDo(p)
	}
	p.back.over([]uint64{p.back.entry})
	return tea.Batch(m.say(good, p.what+": it has been taken back already"), m.journalChanged(), m.checkUndo())
}

// endTrial takes back at once what nobody has said to keep; for the end of the
// program.
func (m *Model) endTrial() error {
	var q tune.UndoRequest
	for _, of := range m.trials {
		if of.entry != 0 {
			q.IDs = append(q.IDs, of.entry)
		}
	}
	if len(q.IDs) == 0 {
		return nil
	}
	plan, err := m.deps.Tuning.PlanUndo(context.Background(), q)
	var result tune.Result
	if err == nil {
		result, err = m.deps.Tuning.Apply(context.Background(), plan)
	}
	if err != nil {
		return fmt.Errorf("take back journal entries %d, which were on trial: %w", q.IDs, err)
	}
	for _, of := range m.trials {
		of.over(result.Undone)
	}
	m.trials = nil
	return nil
}
