package dialog

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// defaultTimes are a tenth of a CPU, often enough for most of what is periodic.
var defaultTimes = attr.PolicyValue{Runtime: 10 * time.Millisecond, Deadline: 100 * time.Millisecond, Period: 100 * time.Millisecond}

// sliced reports whether a policy has slices (EEVDF).
func sliced(p kernel.Policy) bool { return p == kernel.Other || p == kernel.Batch }

// edit begins to type the value of a key, where the policy has it.
func (p *Policy) edit(key string) {
	now := p.policy()
	switch {
	case key == "t" && now != kernel.Deadline:
		p.note = "only DEADLINE has times"
	case key == "s" && !sliced(now):
		p.note = "only OTHER and BATCH have a slice"
	case key == "g" && !p.Autogroup:
		p.note = "autogroup is off here, or the process has a cpu cgroup: its own nice counts"
	case key == "t":
		p.begin("runtime/deadline/period", "it runs for runtime, by deadline, in each period: 5ms/20ms/20ms", timesText(p.times), p.takeTimes)
	case key == "s":
		p.begin("slice", "how long it runs before another task does: 100us to 100ms, or default", attr.Text(p.slice),
			func(text string) error { return typedValue(attr.Slice, text, &p.slice) })
	case key == "g":
		p.begin("nice of the session", "-20 to 19, for all of its session: against other sessions, nice of a task counts nothing",
			attr.Text(p.session), func(text string) error { return typedValue(attr.Autogroup, text, &p.session) })
	}
}

func timesText(s attr.PolicyValue) string {
	return fmt.Sprintf("%v/%v/%v", s.Runtime, s.Deadline, s.Period)
}

func (p *Policy) takeTimes(text string) error {
	v, err := attr.Policy.Parse("deadline:" + text)
	if err != nil {
		return err
	}
	s := attr.PolicyOf(v)
	p.times = attr.PolicyValue{Runtime: s.Runtime, Deadline: s.Deadline, Period: s.Period}
	return nil
}

// typedValue reads a value; nil, which leaves it as it is, if nothing was typed.
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

// fields are the values besides the policy: always the same lines, so that the
// dialog keeps its size.
func (p *Policy) fields(width int, th *theme.Theme) []string {
	now := p.policy()
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
	line("priority", now == kernel.FIFO || now == kernel.RR, strconv.Itoa(p.prio), "0-9", "1"+th.Ellipsis+"99 of FIFO, RR; the larger first")
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
