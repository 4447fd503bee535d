package tui

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change"
	"piton/internal/tui/dialog"
)

// Elevate has an order carried out by a piton with root's rights, which has the terminal
// meanwhile, and delivers what done makes of its reply.
type Elevate func(o change.Order, done func(change.Outcome, error) tea.Msg) tea.Cmd

// asOrder is the plan for a piton with more rights.
func (p *planned) asOrder() change.Order {
	o := p.plan.Order()
	if w, ok := p.wish.(orderedWish); ok {
		o = w.order()
	}
	o.Consent = p.consent()
	return o
}

// bySudo reports whether a plan is carried out by sudo from the first: one that is
// about every task and interrupt of the machine, by a user who may not change them.
func (m *Model) bySudo(p *planned) bool {
	_, ordered := p.wish.(orderedWish)
	return ordered && m.deps.Elevate != nil && len(p.plan.Undoes) == 0
}

// sudoLine says what the terminal is going to be used for.
var sudoLine = dialog.Line{Tone: dialog.Plain, Text: "piton does it through sudo, which may ask for your password."}

// offerSudo says what is missing and offers to do this one change through sudo.
func (m *Model) offerSudo(p planned, why string) tea.Cmd {
	if m.deps.Elevate == nil || p.asOrder().Check() != nil {
		return m.say(bad, p.what+": "+why)
	}
	return m.askSudo(p, append([]dialog.Line{{Tone: dialog.Refusal, Text: why}}, dialog.NeedLines(p.plan.Needs)...))
}

func (m *Model) askSudo(p planned, why []dialog.Line) tea.Cmd {
	lines := append([]dialog.Line{{Tone: dialog.Loud, Text: strings.TrimSpace(p.what + " " + p.subject)}}, why...)
	d := dialog.NewConfirm("Use sudo?", append(lines, sudoLine), "use sudo", "cancel")
	if p.plan.AsksFirst() {
		d.Careful()
	}
	return m.dialogs.PushUnasked(d, func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return m.say(bad, p.what+": nothing was changed: "+why[0].Text)
		}
		p.yes = true
		return m.elevate(p, p.asOrder())
	})
}

// elevate has the order of a plan carried out through sudo.
func (m *Model) elevate(p planned, o change.Order) tea.Cmd {
	m.busy++
	return m.deps.Elevate(o, func(out change.Outcome, err error) tea.Msg { return finished{p.applied(out, err, true)} })
}

// refusedBySudo asks about dangers that root's piton saw first, and says what else
// went wrong.
func (m *Model) refusedBySudo(c applied) tea.Cmd {
	if needs := (*change.ConsentError)(nil); errors.As(c.err, &needs) && len(c.plan.Needs) == 0 {
		c.plan.Needs = needs.Needs
		return m.askSudo(c.planned, dialog.NeedLines(needs.Needs))
	}
	return m.say(bad, c.what+" through sudo: "+c.err.Error())
}
