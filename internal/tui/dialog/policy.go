package dialog

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"piton/internal/kernel"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tune"
)

// policies that can be chosen, with what they mean (sched(7)).
var policies = []struct {
	policy kernel.Policy
	help   string
}{
	{kernel.Other, "the usual time sharing; nice counts"},
	{kernel.Batch, "time sharing, never preempts others on waking"},
	{kernel.Idle, "runs when nothing else wants the CPU"},
	{kernel.FIFO, "real time: before all of the above, until it blocks or yields"},
	{kernel.RR, "real time, taking turns with its equals"},
}

// defaultRTPrio is low among the real-time priorities: above ordinary tasks,
// below the kernel's own threads (50 and 99).
const defaultRTPrio = 10

// Policy asks for policy, real-time priority and reset-on-fork; the value is a
// tune.PolicySetting.
type Policy struct {
	subject string
	before  string
	busy    bool
	at      int // in policies
	prio    number
	reset   bool
}

// NewPolicy starts from the present setting. busy says that the subject keeps a
// CPU working, so that as a real-time task it would starve others.
func NewPolicy(subject string, current tune.PolicySetting, busy bool) *Policy {
	p := &Policy{subject: subject, busy: busy, reset: current.ResetOnFork, before: settingText(current),
		prio: number{value: defaultRTPrio, min: 1, max: 99}}
	for i, c := range policies {
		if c.policy == current.Policy {
			p.at = i
		}
	}
	if current.RTPrio > 0 {
		p.prio.value = current.RTPrio
	}
	return p
}

// settingText is a setting as the POL column and the journal write it.
func settingText(s tune.PolicySetting) string {
	text := s.Policy.String()
	if s.Policy == kernel.FIFO || s.Policy == kernel.RR {
		text += ":" + strconv.Itoa(s.RTPrio)
	}
	if s.ResetOnFork {
		text += ",reset-on-fork"
	}
	return text
}

func (p *Policy) setting() tune.PolicySetting {
	s := tune.PolicySetting{Policy: policies[p.at].policy, ResetOnFork: p.reset}
	if s.Policy.RealTime() {
		s.RTPrio = p.prio.value
	}
	return s
}

// Title names the subject.
func (p *Policy) Title() string { return "Policy of " + p.subject }

// Cursor is hidden.
func (p *Policy) Cursor() *tea.Cursor { return nil }

// Update chooses.
func (p *Policy) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return Outcome{}
	}
	switch k.String() {
	case "esc", "ctrl+c", "ctrl+g":
		return canceled
	case "enter":
		return answered(p.setting())
	case "up", "k":
		p.move(-1)
	case "down", "j":
		p.move(1)
	case "o", "b", "i", "f":
		p.pick(map[string]kernel.Policy{"o": kernel.Other, "b": kernel.Batch, "i": kernel.Idle, "f": kernel.FIFO}[k.String()])
	case "r":
		p.pick(kernel.RR)
	case "x", "space":
		p.reset = !p.reset
	default:
		if policies[p.at].policy.RealTime() {
			p.prio.key(k)
		}
	}
	return Outcome{}
}

func (p *Policy) move(by int) { p.at = max(0, min(p.at+by, len(policies)-1)) }

func (p *Policy) pick(want kernel.Policy) {
	for i, c := range policies {
		if c.policy == want {
			p.at = i
		}
	}
}

// Render draws the policies, the fields below them and what to beware of.
func (p *Policy) Render(width, height int, th *theme.Theme) string {
	width = min(width, 74)
	var change rows.Row
	change.Add(th.Dim, " "+p.before+" "+th.Arrow+" ")
	change.Add(th.Strong, settingText(p.setting()))

	body := func(h int) []string {
		list := rows.Scroll{Cursor: p.at}
		from, to := list.Window(len(policies), h)
		var lines []string
		for i := from; i < to; i++ {
			lines = append(lines, p.row(i, width, th))
		}
		return lines
	}
	foot := append([]string{""}, p.fields(width, th)...)
	foot = append(foot, p.warning(width, th)...)
	foot = append(foot, rows.Keys(th, " up down", "policy", "Enter", "apply", "Esc", "cancel").Render(th, width))
	return rows.Stack(width, height, []string{change.Render(th, width), ""}, len(policies), body, foot)
}

func (p *Policy) row(i, width int, th *theme.Theme) string {
	box := th.RadioOff
	if i == p.at {
		box = th.Radio
	}
	var r rows.Row
	r.Add(th.Text, box+" ")
	r.Left(th, th.Text, policies[i].policy.String(), 6)
	r.Add(th.Dim, policies[i].help)
	return r.Item(th, width, i == p.at)
}

func (p *Policy) fields(width int, th *theme.Theme) []string {
	var prio, reset rows.Row
	prio.Add(th.Dim, " priority  ")
	if policies[p.at].policy.RealTime() {
		prio.Right(th, th.Strong, p.prio.text(), 2)
		prio.Add(th.Dim, "  1"+th.Ellipsis+"99, the larger runs first: ")
		prio = append(prio, rows.Keys(th, "0-9", "type", "+ -", "step")...)
	} else {
		prio.Right(th, th.Dim, th.None, 2)
		prio.Add(th.Dim, "  of FIFO and RR only")
	}
	box := th.Unchecked
	if p.reset {
		box = th.Checked
	}
	reset.Add(th.Text, " "+box+" ")
	reset.Add(th.Dim, "reset on fork: its children start as OTHER  ")
	reset = append(reset, rows.Keys(th, "x", "toggle")...)
	return []string{prio.Render(th, width), reset.Render(th, width)}
}

// warning always takes the same number of lines, so that the dialog keeps its size.
func (p *Policy) warning(width int, th *theme.Theme) []string {
	text := ""
	switch rt := policies[p.at].policy.RealTime(); {
	case rt && p.busy:
		text = "It is busy: as a real-time task it leaves other tasks about 5 % of its CPU. You will be asked to keep it, or it is taken back."
	case rt:
		text = "It will run before every ordinary task on its CPU."
	}
	lines := rows.Wrap(th, text, min(width-1, 70))
	for len(lines) < 2 {
		lines = append(lines, "")
	}
	for i, l := range lines {
		lines[i] = " " + th.Warn.Render(l)
	}
	return append(lines, "")
}
