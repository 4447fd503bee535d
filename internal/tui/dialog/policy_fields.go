package dialog

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// policyField is a value of the policy dialog that is typed.
type policyField uint8

const (
	noField policyField = iota
	timesField
	sliceField
	sessionField
)

func (f policyField) label() string {
	return [...]string{"", " runtime/deadline/period: ", " slice: ", " nice of the session: "}[f]
}

func (f policyField) hint() string {
	return [...]string{"", "it runs for runtime, by deadline, in each period: 5ms/20ms/20ms",
		"how long it runs before another task does: 100us to 100ms, or default",
		"-20 to 19, for all of its session: against other sessions, nice of a task counts nothing"}[f]
}

// defaultTimes are a tenth of a CPU, often enough for most of what is periodic.
var defaultTimes = attr.PolicyValue{Runtime: 10 * time.Millisecond, Deadline: 100 * time.Millisecond, Period: 100 * time.Millisecond}

// sliced reports whether a policy has slices (EEVDF).
func sliced(p kernel.Policy) bool { return p == kernel.Other || p == kernel.Batch }

// edit begins to type a value, where the policy has it.
func (p *Policy) edit(f policyField) {
	now := policies[p.at].policy
	text := ""
	switch {
	case f == timesField && now != kernel.Deadline:
		p.note = "only DEADLINE has times"
		return
	case f == sliceField && !sliced(now):
		p.note = "only OTHER and BATCH have a slice"
		return
	case f == sessionField && !p.Autogroup:
		p.note = "autogroup is off here, or the process has a cpu cgroup: its own nice counts"
		return
	case f == timesField:
		text = timesText(p.times)
	case f == sliceField:
		text = attr.Text(p.slice)
	case f == sessionField:
		text = attr.Text(p.session)
	}
	p.typing, p.input = f, NewInput(text)
}

func timesText(s attr.PolicyValue) string {
	return fmt.Sprintf("%v/%v/%v", s.Runtime, s.Deadline, s.Period)
}

// typed handles the line in which a value is typed.
func (p *Policy) typed(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && (k.String() == "esc" || k.String() == "ctrl+c"):
		p.typing, p.note = noField, ""
	case ok && k.String() == "enter":
		p.note = ""
		if err := p.take(strings.TrimSpace(p.input.Value())); err != nil {
			p.note = err.Error()
			break
		}
		p.typing = noField
	case p.input.Update(msg):
		p.note = ""
	}
	return Outcome{}
}

// take reads a typed value; nothing typed leaves slice and session as they are.
func (p *Policy) take(text string) error {
	switch p.typing {
	case timesField:
		v, err := attr.Policy.Parse("deadline:" + text)
		if err != nil {
			return err
		}
		s := attr.PolicyOf(v)
		p.times = attr.PolicyValue{Runtime: s.Runtime, Deadline: s.Deadline, Period: s.Period}
	case sliceField:
		return typedValue(attr.Slice, text, &p.slice)
	case sessionField:
		return typedValue(attr.Autogroup, text, &p.session)
	}
	return nil
}

// typedValue reads a value, nil if nothing was typed.
func typedValue(a attr.Attribute, text string, v *attr.Value) (err error) {
	if *v = nil; text == "" {
		return nil
	}
	parsed, err := a.Parse(text)
	if err == nil {
		*v = parsed
	}
	return err
}

// typingLines are the value being typed, with what is wrong with it below.
func (p *Policy) typingLines(width int, th *theme.Theme) []string {
	label := p.typing.label()
	out := []string{th.Accent.Render(label) + p.input.Render(width-len(label), th)}
	style, text := th.Dim, p.typing.hint()
	if p.note != "" {
		style, text = th.Bad, p.note
	}
	for _, l := range rows.Wrap(th, text, width-2) {
		out = append(out, " "+style.Render(l))
	}
	return out
}

// fields are the values besides the policy: always the same lines, so that the
// dialog keeps its size.
func (p *Policy) fields(width int, th *theme.Theme) []string {
	now := policies[p.at].policy
	var lines []string
	line := func(label string, has bool, value, key, what string) {
		var r rows.Row
		if !has {
			key, value = "", th.None
		}
		value = cmp.Or(value, "as it is")
		style := th.Strong
		if !has || value == "as it is" {
			style = th.Dim
		}
		r.Left(th, th.Key, " "+key, 6)
		r.Left(th, th.Dim, label, 10)
		r.Left(th, style, value, 19)
		r.Add(th.Dim, what)
		lines = append(lines, r.Render(th, width))
	}
	line("priority", now == kernel.FIFO || now == kernel.RR, strconv.Itoa(p.prio.value), "0-9", "1"+th.Ellipsis+"99 of FIFO, RR; the larger first")
	line("times", now == kernel.Deadline, timesText(p.times), "t", "runtime/deadline/period")
	line("slice", sliced(now), attr.Text(p.slice), "s", "EEVDF slice of OTHER and BATCH")
	if p.Autogroup {
		line("session", true, attr.Text(p.session), "g", "its nice; autogroup ignores the task's")
	}
	box := th.Unchecked
	if p.reset {
		box = th.Checked
	}
	line("reset", true, box, "x", "on fork: its children start as OTHER")
	return lines
}
