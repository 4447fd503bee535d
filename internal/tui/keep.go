package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/history"
	"piton/internal/tui/dialog"
)

const (
	// keepTime is how long a change that may take the machine away stays when
	// it is not confirmed.
	keepTime = 15 * time.Second
	// guardTime is when its guard reverts it: after the screen would have.
	guardTime = keepTime + time.Second
)

// made is a change of this session.
type made struct {
	entry uint64
	root  bool // of root's journal, which is spoken to through sudo
}

// note remembers what was made, for undo, and forgets what was undone.
func (m *Model) note(a result) {
	if a.Undo != nil && a.err == nil { // also what was left alone: the next undo is about the one before
		m.forget(a.Undo.IDs, a.root)
	}
	m.forget(a.outcome.Undone, a.root)
	if len(a.Undoes) == 0 && a.Undo == nil && a.outcome.Entry != 0 && a.outcome.Changed() {
		m.made = append(m.made, made{a.outcome.Entry, a.root})
	}
}

func (m *Model) forget(entries []uint64, root bool) {
	m.made = slices.DeleteFunc(m.made, func(of made) bool { return of.root == root && slices.Contains(entries, of.entry) })
}

// undo undoes the last change of this session, else the last of the journal; first of
// all one whose guard cannot revert it.
func (m *Model) undo() tea.Cmd {
	if m.race.Running() {
		return m.say(info, searching)
	}
	for _, g := range m.guards {
		if g.Lost || g.Stopped {
			return m.undoMade(made{entry: g.Entry}, "undo")
		}
	}
	if n := len(m.made); n > 0 {
		return m.undoMade(m.made[n-1], "undo")
	}
	return m.undoThese(change.UndoRequest{Last: 1})
}

func (m *Model) undoMade(of made, what string) tea.Cmd {
	r := ordered(what, "", change.Order{Undo: &change.UndoRequest{IDs: []uint64{of.entry}}})
	if of.root {
		return m.elevate(r, r.Order)
	}
	return m.begin(r)
}

func (m *Model) undoThese(q change.UndoRequest) tea.Cmd {
	if m.deps.ReadOnly {
		return nil
	}
	r := ordered("undo", "", change.Order{Undo: &q})
	r.whole = q.All
	return m.begin(r)
}

// askKeep asks whether to keep a change that may take the machine away, and
// reverts it when no answer comes.
func (m *Model) askKeep(a result) tea.Cmd {
	lines := append([]dialog.Line{{Tone: dialog.Loud, Text: a.sentence(m.th.Arrow)}}, dialog.NeedLines(a.Needs)...)
	lines = append(lines, dialog.Line{Tone: dialog.Plain, Text: "Keep it? Without an answer it is reverted."})
	for _, w := range a.outcome.Guard.Words() {
		lines = append(lines, dialog.Line{Tone: dialog.Quiet, Text: w})
	}
	if why := a.outcome.Guard.Status().Fails(a.outcome.Changes); why != "" {
		lines = append(lines, dialog.Line{Tone: dialog.Loud, Text: strings.ToUpper(why[:1]) + why[1:] + "."})
	}
	of := made{a.outcome.Entry, a.root}
	m.unkept = append(m.unkept, of)
	return m.dialogs.PushUnasked(dialog.NewConfirm("Keep it?", lines, "keep", "revert").Countdown(keepTime), func(o dialog.Outcome) tea.Cmd {
		m.unkept = slices.DeleteFunc(m.unkept, func(u made) bool { return u == of })
		switch {
		case !o.Canceled:
			return m.confirm(a)
		case o.Expired && a.root: // sudo might wait for a password
			return m.say(info, fmt.Sprintf("not kept: process %d reverts it now", a.outcome.Guard.Status().PID))
		}
		return m.undoMade(of, "revert")
	})
}

// confirm tells the guard to let the change stay.
func (m *Model) confirm(a result) tea.Cmd {
	m.busy++
	done := func(_ change.Outcome, err error) tea.Msg {
		return m.finished(func() tea.Cmd { return m.takeKept(a, err) })
	}
	if a.root {
		return m.deps.Elevate(change.Order{Keep: []uint64{a.outcome.Entry}}, done)
	}
	return func() tea.Msg { return done(change.Outcome{}, a.outcome.Guard.Keep()) }
}

// takeKept says whether a change could be kept.
func (m *Model) takeKept(a result, err error) tea.Cmd {
	if err != nil {
		return m.say(bad, fmt.Sprintf("%s: not kept: %v; see the journal", a.What, err))
	}
	said := m.say(good, "kept: "+a.sentence(m.th.Arrow))
	if a.then == nil {
		return said
	}
	return tea.Batch(said, a.then())
}

// revertUnkept reverts at once what is not confirmed; for the end of the
// program. What sudo made is left to its guard.
func (m *Model) revertUnkept() error {
	var q change.UndoRequest
	for _, of := range m.unkept {
		if !of.root {
			q.IDs = append(q.IDs, of.entry)
		}
	}
	m.unkept = nil
	if len(q.IDs) == 0 {
		return nil
	}
	plan, err := m.deps.Tuning.PlanUndo(context.Background(), q)
	if err == nil {
		_, err = m.deps.Tuning.Apply(context.Background(), plan, change.Confirmation{})
	}
	if err != nil {
		return fmt.Errorf("revert journal entries %d, which were not kept: %w", q.IDs, err)
	}
	return nil
}

func (m *Model) lookAtGuards() tea.Cmd {
	read := m.deps.Guards
	if read == nil {
		return nil
	}
	return func() tea.Msg {
		now := read()
		return func() tea.Cmd { return m.takeGuards(now) }
	}
}

// guardsTick looks again, while there is an entry with a guard.
func (m *Model) guardsTick() tea.Cmd {
	if len(m.guards) == 0 && len(m.unkept) == 0 {
		return nil
	}
	return m.lookAtGuards()
}

// takeGuards shows them, and says at once when one cannot revert its entry any more.
func (m *Model) takeGuards(now []history.GuardState) tea.Cmd {
	before := m.guards
	m.guards = now
	m.journal.SetGuards(now)
	for _, g := range now {
		text := g.Words()
		if text != "" && !slices.ContainsFunc(before, func(b history.GuardState) bool { return b.Words() == text }) {
			return m.say(bad, text)
		}
	}
	ended := slices.DeleteFunc(before, func(b history.GuardState) bool {
		return slices.ContainsFunc(now, func(g history.GuardState) bool { return g.Entry == b.Entry })
	})
	if len(ended) == 0 || m.deps.Journal == nil {
		return nil
	}
	return tea.Batch(m.journalChanged(), m.lookAtReverts(ended))
}

// lookAtReverts says what guards that have ended could not revert.
func (m *Model) lookAtReverts(ended []history.GuardState) tea.Cmd {
	return func() tea.Msg {
		entries, _, _ := m.deps.Journal.Entries() // the journal's view tells what is wrong with it
		var failed []string
		for _, d := range history.Operations(entries, nil) {
			if why := d.RevertFailed(); why != "" && slices.ContainsFunc(ended, func(g history.GuardState) bool { return g.Entry == d.ID }) {
				failed = append(failed, fmt.Sprintf("entry %d: %s", d.ID, why))
			}
		}
		if len(failed) == 0 {
			return nil
		}
		return m.saying(bad, strings.Join(failed, "; "))
	}
}

func (m *Model) headerExtra() string {
	for _, g := range m.guards {
		if text := g.Words(); text != "" {
			return text
		}
	}
	if m.paused {
		return "paused, Z resumes"
	}
	if m.race.Running() && m.view != action.Race {
		return "a search is under way, R shows it"
	}
	return ""
}

// Elevate has an order carried out by a piton with root's rights, which has the terminal
// meanwhile, and delivers what done makes of its reply.
type Elevate func(o change.Order, done func(change.Outcome, error) tea.Msg) tea.Cmd

// asOrder is the plan for a piton with more rights.
func (r *request) asOrder() change.Order {
	o := r.Order
	if !r.Partitions() {
		o = r.Elsewhere()
	}
	o.Confirmation = r.confirmation()
	return o
}

// bySudo reports whether a plan is carried out by sudo from the first: one that is
// about every task and interrupt of the machine, by a user who may not change them.
func (m *Model) bySudo(r *request) bool {
	return r.Partitions() && m.deps.Elevate != nil && len(r.Undoes) == 0
}

// sudoLine says what the terminal is going to be used for.
var sudoLine = dialog.Line{Tone: dialog.Plain, Text: "piton does it through sudo, which may ask for your password."}

// offerSudo says what is missing and offers to do this one change through sudo.
func (m *Model) offerSudo(r request, why string) tea.Cmd {
	if m.deps.Elevate == nil || r.asOrder().Check() != nil {
		return m.say(bad, r.What+": "+why)
	}
	return m.askSudo(r, append([]dialog.Line{{Tone: dialog.Refusal, Text: why}}, dialog.NeedLines(r.Needs)...))
}

func (m *Model) askSudo(r request, why []dialog.Line) tea.Cmd {
	lines := append([]dialog.Line{{Tone: dialog.Loud, Text: strings.TrimSpace(r.What + " " + r.Subject)}}, why...)
	d := dialog.NewConfirm("Use sudo?", append(lines, sudoLine), "use sudo", "cancel")
	if r.AsksFirst() {
		d.Careful()
	}
	return m.dialogs.PushUnasked(d, func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return m.say(bad, r.What+": nothing was changed: "+why[0].Text)
		}
		r.yes = true
		return m.elevate(r, r.asOrder())
	})
}

func (m *Model) elevate(r request, o change.Order) tea.Cmd {
	m.busy++
	return m.deps.Elevate(o, func(out change.Outcome, err error) tea.Msg { return m.became(r, out, err, true) })
}

// refusedBySudo asks about dangers that root's piton saw first, and says what else
// went wrong.
func (m *Model) refusedBySudo(c result) tea.Cmd {
	if needs := (*change.ConfirmationError)(nil); errors.As(c.err, &needs) && len(c.Needs) == 0 {
		c.Needs = needs.Needs
		return m.askSudo(c.request, dialog.NeedLines(needs.Needs))
	}
	return m.say(bad, c.What+" through sudo: "+c.err.Error())
}
