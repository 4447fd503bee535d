package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

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
func (cs *changes) note(a result) {
	if a.Undo != nil && a.err == nil { // also what was left alone: the next undo is about the one before
		cs.forget(a.Undo.IDs, a.root)
	}
	cs.forget(a.outcome.Undone, a.root)
	if len(a.Undoes) == 0 && a.Undo == nil && a.outcome.Entry != 0 && a.outcome.Changed() {
		cs.made = append(cs.made, made{a.outcome.Entry, a.root})
	}
}

func (cs *changes) forget(entries []uint64, root bool) {
	cs.made = slices.DeleteFunc(cs.made, func(of made) bool { return of.root == root && slices.Contains(entries, of.entry) })
}

// undo undoes the last change of this session, else the last of the journal; first of
// all one whose guard cannot revert it.
func (cs *changes) undo() tea.Cmd {
	if cs.race.Running() {
		return cs.say(info, searching)
	}
	for _, g := range cs.guards {
		if g.Lost || g.Stopped {
			return cs.undoMade(made{entry: g.Entry}, "undo")
		}
	}
	if n := len(cs.made); n > 0 {
		return cs.undoMade(cs.made[n-1], "undo")
	}
	return cs.undoThese(change.UndoRequest{Last: 1})
}

func (cs *changes) undoMade(of made, what string) tea.Cmd {
	r := ordered(what, "", change.Order{Undo: &change.UndoRequest{IDs: []uint64{of.entry}}})
	if of.root {
		return cs.elevate(r, r.Order)
	}
	return cs.begin(r)
}

func (cs *changes) undoThese(q change.UndoRequest) tea.Cmd {
	if cs.deps.ReadOnly {
		return nil
	}
	r := ordered("undo", "", change.Order{Undo: &q})
	r.whole = q.All
	return cs.begin(r)
}

// askKeep asks whether to keep a change that may take the machine away, and
// reverts it when no answer comes.
func (cs *changes) askKeep(a result) tea.Cmd {
	lines := append([]dialog.Line{{Tone: dialog.Loud, Text: a.sentence(cs.th.Arrow)}}, dialog.NeedLines(a.Needs)...)
	lines = append(lines, dialog.Line{Tone: dialog.Plain, Text: "Keep it? Without an answer it is reverted."})
	for _, w := range a.outcome.Guard.Words() {
		lines = append(lines, dialog.Line{Tone: dialog.Quiet, Text: w})
	}
	if why := a.outcome.Guard.Status().Fails(a.outcome.Changes); why != "" {
		lines = append(lines, dialog.Line{Tone: dialog.Loud, Text: strings.ToUpper(why[:1]) + why[1:] + "."})
	}
	of := made{a.outcome.Entry, a.root}
	cs.unkept = append(cs.unkept, of)
	return cs.dialogs.PushUnasked(dialog.NewConfirm("Keep it?", lines, "keep", "revert").Countdown(keepTime), func(o dialog.Outcome) tea.Cmd {
		cs.unkept = slices.DeleteFunc(cs.unkept, func(u made) bool { return u == of })
		switch {
		case !o.Canceled:
			return cs.confirm(a)
		case o.Expired && a.root: // sudo might wait for a password
			return cs.say(info, fmt.Sprintf("not kept: process %d reverts it now", a.outcome.Guard.Status().PID))
		}
		return cs.undoMade(of, "revert")
	})
}

// confirm tells the guard to let the change stay.
func (cs *changes) confirm(a result) tea.Cmd {
	cs.busy++
	done := func(_ change.Outcome, err error) tea.Msg {
		return cs.finished(func() tea.Cmd { return cs.takeKept(a, err) })
	}
	if a.root {
		return cs.deps.Elevate(change.Order{Keep: []uint64{a.outcome.Entry}}, done)
	}
	return func() tea.Msg { return done(change.Outcome{}, a.outcome.Guard.Keep()) }
}

// takeKept says whether a change could be kept.
func (cs *changes) takeKept(a result, err error) tea.Cmd {
	if err != nil {
		return cs.say(bad, fmt.Sprintf("%s: not kept: %v; see the journal", a.What, err))
	}
	said := cs.say(good, "kept: "+a.sentence(cs.th.Arrow))
	if a.then == nil {
		return said
	}
	return tea.Batch(said, a.then())
}

// revertUnkept reverts at once what is not confirmed; for the end of the
// program. What sudo made is left to its guard.
func (cs *changes) revertUnkept() error {
	var q change.UndoRequest
	for _, of := range cs.unkept {
		if !of.root {
			q.IDs = append(q.IDs, of.entry)
		}
	}
	cs.unkept = nil
	if len(q.IDs) == 0 {
		return nil
	}
	plan, err := cs.deps.Tuning.PlanUndo(context.Background(), q)
	if err == nil {
		_, err = cs.deps.Tuning.Apply(context.Background(), plan, change.Confirmation{})
	}
	if err != nil {
		return fmt.Errorf("revert journal entries %d, which were not kept: %w", q.IDs, err)
	}
	return nil
}

func (cs *changes) lookAtGuards() tea.Cmd {
	read := cs.deps.Guards
	if read == nil {
		return nil
	}
	return func() tea.Msg {
		now := read()
		return func() tea.Cmd { return cs.takeGuards(now) }
	}
}

// tick goes on with nice once a sample shows the last step, and looks at the guards again
// while there is an entry with one.
func (cs *changes) tick() tea.Cmd {
	var step, look tea.Cmd
	if cs.nice.done {
		step = cs.stepNiceOn()
	}
	if len(cs.guards)+len(cs.unkept) > 0 {
		look = cs.lookAtGuards()
	}
	return tea.Batch(step, look)
}

// takeGuards shows them, and says at once when one cannot revert its entry any more.
func (cs *changes) takeGuards(now []history.GuardState) tea.Cmd {
	before := cs.guards
	cs.guards = now
	cs.journal.SetGuards(now)
	for _, g := range now {
		text := g.Words()
		if text != "" && !slices.ContainsFunc(before, func(b history.GuardState) bool { return b.Words() == text }) {
			return cs.say(bad, text)
		}
	}
	ended := slices.DeleteFunc(before, func(b history.GuardState) bool {
		return slices.ContainsFunc(now, func(g history.GuardState) bool { return g.Entry == b.Entry })
	})
	if len(ended) == 0 || cs.deps.Journal == nil {
		return nil
	}
	return tea.Batch(cs.journalChanged(), cs.lookAtReverts(ended))
}

// lookAtReverts says what guards that have ended could not revert.
func (cs *changes) lookAtReverts(ended []history.GuardState) tea.Cmd {
	return func() tea.Msg {
		entries, _, _ := cs.deps.Journal.Entries() // the journal's view tells what is wrong with it
		var failed []string
		for _, d := range history.Operations(entries, nil) {
			if why := d.RevertFailed(); why != "" && slices.ContainsFunc(ended, func(g history.GuardState) bool { return g.Entry == d.ID }) {
				failed = append(failed, fmt.Sprintf("entry %d: %s", d.ID, why))
			}
		}
		if len(failed) == 0 {
			return nil
		}
		return cs.saying(bad, strings.Join(failed, "; "))
	}
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
func (cs *changes) bySudo(r *request) bool {
	return r.Partitions() && cs.deps.Elevate != nil && len(r.Undoes) == 0
}

// sudoLine says what the terminal is going to be used for.
var sudoLine = dialog.Line{Tone: dialog.Plain, Text: "piton does it through sudo, which may ask for your password."}

// offerSudo says what is missing and offers to do this one change through sudo.
func (cs *changes) offerSudo(r request, why string) tea.Cmd {
	if cs.deps.Elevate == nil || r.asOrder().Check() != nil {
		return cs.say(bad, r.What+": "+why)
	}
	return cs.askSudo(r, append([]dialog.Line{{Tone: dialog.Refusal, Text: why}}, dialog.NeedLines(r.Needs)...))
}

func (cs *changes) askSudo(r request, why []dialog.Line) tea.Cmd {
	lines := append([]dialog.Line{{Tone: dialog.Loud, Text: strings.TrimSpace(r.What + " " + r.Subject)}}, why...)
	d := dialog.NewConfirm("Use sudo?", append(lines, sudoLine), "use sudo", "cancel")
	if r.AsksFirst() {
		d.Careful()
	}
	return cs.dialogs.PushUnasked(d, func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return cs.say(bad, r.What+": nothing was changed: "+why[0].Text)
		}
		r.yes = true
		return cs.elevate(r, r.asOrder())
	})
}

func (cs *changes) elevate(r request, o change.Order) tea.Cmd {
	cs.busy++
	return cs.deps.Elevate(o, func(out change.Outcome, err error) tea.Msg { return cs.became(r, out, err, true) })
}

// refusedBySudo asks about dangers that root's piton saw first, and says what else
// went wrong.
func (cs *changes) refusedBySudo(c result) tea.Cmd {
	if needs := (*change.ConfirmationError)(nil); errors.As(c.err, &needs) && len(c.Needs) == 0 {
		c.Needs = needs.Needs
		return cs.askSudo(c.request, dialog.NeedLines(needs.Needs))
	}
	return cs.say(bad, c.What+" through sudo: "+c.err.Error())
}
