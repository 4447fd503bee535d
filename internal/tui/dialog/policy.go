package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// policies that can be chosen, with what they mean (sched(7)).
var policies = []struct {
	policy kernel.Policy
	key    string
	help   string
}{
	{kernel.Other, "o", "time sharing; nice counts"},
	{kernel.Batch, "b", "time sharing, never preempts others on waking"},
	{kernel.Idle, "i", "SCHED_IDLE: below every nice value"},
	{kernel.FIFO, "f", "real time: before all of the above, until it blocks or yields"},
	{kernel.RR, "r", "real time, round robin among its equals"},
	{kernel.Deadline, "d", "real time by a budget: a runtime in each period"},
}

// defaultRTPrio is low among the real-time priorities: above ordinary tasks,
// below the kernel's own threads (50 and 99).
const defaultRTPrio = 10

// PolicyOptions is what the policy dialog starts from.
type PolicyOptions struct {
	Subject string
	Current attr.PolicyValue
	// Busy says that the subject keeps a CPU working, so that as a real-time task
	// it would starve others.
	Busy bool
	// Leftover is what ordinary tasks get of its CPU then, in words: "5 % of it".
	Leftover string
	// Autogroup says that nice ranks the subject within its session only, so that
	// the session's own nice value can be set as well.
	Autogroup bool
}

// Policy asks for policy, real-time priority or times, reset-on-fork and slice;
// the value is the []attr.Setting to make, none if all is to stay as it is.
type Policy struct {
	PolicyOptions
	list    rows.Scroll // of policies; the one under the cursor is chosen
	prio    int
	digits  bool // the last key was one of prio's digits
	reset   bool
	times   attr.PolicyValue // of DEADLINE
	slice   attr.Value       // nil = as it is
	session attr.Value       // nice value of the whole session; nil = as it is

	typing
}

// NewPolicy starts from the present setting.
func NewPolicy(o PolicyOptions) *Policy {
	p := &Policy{PolicyOptions: o, reset: o.Current.ResetOnFork, prio: defaultRTPrio, times: defaultTimes}
	for i, c := range policies {
		if c.policy == o.Current.Policy {
			p.list.Cursor = i
		}
	}
	if o.Current.RTPrio > 0 {
		p.prio = o.Current.RTPrio
	}
	if o.Current.Runtime > 0 {
		p.times = o.Current
	}
	return p
}

// before is the present setting as the POL column has it. Of a DEADLINE task the
// sample does not have the times.
func (p *Policy) before() string {
	if p.Current.Policy == kernel.Deadline && p.Current.Runtime == 0 {
		return p.Current.Policy.String()
	}
	return p.Current.String()
}

func (p *Policy) policy() kernel.Policy { return policies[p.list.Cursor].policy }

func (p *Policy) setting() attr.PolicyValue {
	s := attr.PolicyValue{Policy: p.policy(), ResetOnFork: p.reset}
	switch {
	case s.Policy == kernel.Deadline:
		s.Runtime, s.Deadline, s.Period, s.Reclaim = p.times.Runtime, p.times.Deadline, p.times.Period, p.times.Reclaim
	case s.Policy.RealTime():
		s.RTPrio = p.prio
	}
	return s
}

// answer leaves out what its policy does not have.
func (p *Policy) answer() []attr.Setting {
	var out []attr.Setting
	s := p.setting()
	// The times of a DEADLINE task are not known: without new ones it keeps them.
	if p.Current.Policy != kernel.Deadline || s.Policy != kernel.Deadline || p.times != defaultTimes {
		out = append(out, attr.SetPolicy(s))
	}
	if p.slice != nil && sliced(s.Policy) {
		out = append(out, attr.Setting{Attribute: attr.Slice, Value: p.slice})
	}
	if p.session != nil {
		out = append(out, attr.Setting{Attribute: attr.Autogroup, Value: p.session})
	}
	return out
}

// Title names the subject.
func (p *Policy) Title() string { return "Policy of " + p.Subject }

// Update chooses.
func (p *Policy) Update(msg tea.Msg) Outcome {
	if p.on() {
		return p.update(msg)
	}
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return Outcome{}
	}
	p.note = ""
	switch key := k.String(); key {
	case "esc", "ctrl+c", "ctrl+g":
		return canceled
	case "enter":
		return answered(p.answer())
	case "x", "space":
		p.reset = !p.reset
	case "t", "s", "g":
		p.edit(key)
	default:
		if p.list.Key(k, len(policies), true) {
			return Outcome{}
		}
		now := p.policy()
		for i, c := range policies {
			if c.key == key {
				p.list.Cursor = i
			}
		}
		if now == kernel.FIFO || now == kernel.RR { // which have no letters
			p.number(key)
		}
	}
	return Outcome{}
}

// number changes the real-time priority by a digit behind those typed before, or a step.
func (p *Policy) number(key string) {
	n, digit := p.prio, strings.Index("0123456789", key)
	switch {
	case key == "+" || key == "right":
		n++
	case key == "-" || key == "left":
		n--
	case key == "backspace":
		n /= 10
	case digit < 0:
		return
	case p.digits && 10*n+digit < 100:
		n = 10*n + digit
	default:
		n = digit
	}
	if n >= 1 && n <= 99 {
		p.prio, p.digits = n, digit >= 0
	}
}

// Render draws the policies, the fields below them and what to beware of.
func (p *Policy) Render(width, height int, th *theme.Theme) string {
	width = min(width, 78)
	var change rows.Row
	change.Add(th.Dim, " "+p.before()+" "+th.Arrow+" ")
	change.Add(th.Strong, p.setting().String())
	if p.on() {
		return rows.Stack(width, height, p.lines(width, th), 0, func(int) []string { return nil }, nil)
	}
	var list []string
	at, end := 0, 0
	for i := range policies {
		its := p.rows(i, width, th)
		if i == p.list.Cursor {
			at, end = len(list), len(list)+len(its)
		}
		list = append(list, its...)
	}
	body := func(height int) []string {
		p.list.Window(len(policies), height)
		from := min(at, max(end-height, 0))
		return list[from:min(len(list), from+max(height, 0))]
	}
	foot := append([]string{""}, p.fields(width, th)...)
	foot = append(foot, p.warning(width, th)...)
	foot = append(foot, rows.Keys(th, " up down", "policy", "Enter", "apply", "Esc", "cancel").Render(th, width))
	return rows.Stack(width, height, []string{change.Render(th, width), ""}, len(list), body, foot)
}

// rows are a policy with what it means, in as many lines as that takes.
func (p *Policy) rows(i, width int, th *theme.Theme) (lines []string) {
	box := th.RadioOff
	if i == p.list.Cursor {
		box = th.Radio
	}
	name := policies[i].policy.String()
	const indent = 15 // the mark, the box, the name
	for _, help := range rows.Wrap(th, policies[i].help, max(width-indent, 12)) {
		var r rows.Row
		r.Add(th.Text, box+" ")
		r.Left(th, th.Text, name, 10)
		r.Add(th.Dim, help)
		lines = append(lines, r.Item(th, width, i == p.list.Cursor))
		box, name = "   ", ""
	}
	return lines
}

// warning always takes the same number of lines, so that the dialog keeps its size.
func (p *Policy) warning(width int, th *theme.Theme) []string {
	text, style := "", th.Warn
	switch rt := p.policy().RealTime(); {
	case p.note != "":
		text, style = p.note, th.Bad
	case p.policy() == kernel.Deadline:
		text = "It runs before every other task for its runtime in each period. Its affinity must be all CPUs, and cannot be changed then."
	case rt && p.Busy:
		text = "It is busy: once it is real-time, ordinary tasks on its CPU get " + p.Leftover +
			". You will be asked to keep it, or it is reverted."
	case rt:
		text = "It will run before every ordinary task on its CPU."
	}
	lines := rows.Indented(th, style, text, min(width, 71))
	for len(lines) < 2 {
		lines = append(lines, "")
	}
	return append(lines, "")
}
