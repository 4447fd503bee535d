package dialog

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"piton/internal/change/attr"
	"piton/internal/kernel"
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
	{kernel.FIFO, "f", "real time: before all above, until it blocks or yields"},
	{kernel.RR, "r", "real time, round robin among its equals"},
	{kernel.Deadline, "d", "real time by a budget: a runtime in each period"},
}

// Fields below the policies.
const (
	fieldPriority = iota + 6
	fieldTimes
	fieldSlice
	fieldSession
	fieldReset
)

// defaultRTPrio is low among the real-time priorities: above ordinary tasks,
// below the kernel's own threads (50 and 99).
const defaultRTPrio = 10

// defaultTimes are a tenth of a CPU, often enough for most of what is periodic.
var defaultTimes = attr.PolicyValue{Runtime: 10 * time.Millisecond, Deadline: 100 * time.Millisecond, Period: 100 * time.Millisecond}

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
	Form
	PolicyOptions
	times          attr.PolicyValue // of DEADLINE
	slice, session attr.Value       // nil = as it is; session is the nice value of all of it
}

// NewPolicy starts from the present setting.
func NewPolicy(o PolicyOptions) *Policy {
	p := &Policy{PolicyOptions: o}
	p.Form = Form{Titled: Titled("Policy of " + o.Subject), Enter: "apply", Answer: p.answer, About: p.about, Other: p.count}
	times := defaultTimes
	if o.Current.Runtime > 0 {
		times = o.Current
	}
	for _, c := range policies {
		p.Fields = append(p.Fields, Field{Kind: One, Key: c.key, Label: c.policy.String(), Help: c.help, On: c.policy == o.Current.Policy})
	}
	const room = 17
	p.Fields = append(p.Fields,
		Field{Kind: Number, Key: "0-9", Label: "priority", Value: strconv.Itoa(cmp.Or(o.Current.RTPrio, defaultRTPrio)), Least: 1, Most: 99, Room: room,
			Help: "1 to 99, the larger first", Off: "only FIFO and RR have a priority", Has: p.counted},
		Field{Kind: Text, Key: "t", Label: "times", Value: fmt.Sprintf("%v/%v/%v", times.Runtime, times.Deadline, times.Period), Room: room,
			Help: "runtime/deadline/period: it runs for runtime, by deadline, in each period",
			Off:  "only DEADLINE has times", Has: func() bool { return p.policy() == kernel.Deadline },
			Set: func(text string) (err error) { p.times, err = parseTimes(text); return err }},
		Field{Kind: Text, Key: "s", Label: "slice", Empty: "as it is", Room: room,
			Help: "100us to 100ms, or default: how long it runs before another task does",
			Off:  "only OTHER and BATCH have a slice", Has: p.sliced,
			Set: func(text string) (err error) { p.slice, err = typedValue(attr.Slice, text); return err }},
		Field{Kind: Text, Key: "g", Label: "session", Empty: "as it is", Room: room,
			Help: "-20 to 19, its nice: with autogroup that of the task is ignored",
			Off:  "autogroup is off, or it has a cpu cgroup", Has: func() bool { return o.Autogroup },
			Set: func(text string) (err error) { p.session, err = typedValue(attr.Autogroup, text); return err }},
		Field{Kind: Tick, Key: "x", Group: "reset", Label: "on fork", On: o.Current.ResetOnFork, Help: "its children start as OTHER"})
	p.GoTo(max(p.Chosen(), 0))
	return p
}

func (p *Policy) policy() kernel.Policy { return policies[p.Chosen()].policy }

// counted reports whether the policy has real-time priorities, and sliced whether it has slices (EEVDF).
func (p *Policy) counted() bool { return p.policy() == kernel.FIFO || p.policy() == kernel.RR }
func (p *Policy) sliced() bool  { return p.policy() == kernel.Other || p.policy() == kernel.Batch }

// count changes the real-time priority, and space the reset, from the rows of the policies.
func (p *Policy) count(key string) bool {
	prio, reset := &p.Fields[fieldPriority], &p.Fields[fieldReset]
	switch {
	case p.At().Kind == One && key == "space":
		reset.On = !reset.On
	case p.At().Kind != One || !p.counted():
		return false
	case key == "+" || key == "right":
		prio.Step(1)
	case key == "-" || key == "left":
		prio.Step(-1)
	case len(key) == 1 && key >= "1" && key <= "9":
		prio.Value = key
		p.GoTo(fieldPriority)
	default:
		return false
	}
	return true
}

func parseTimes(text string) (attr.PolicyValue, error) {
	v, err := attr.Policy.Parse("deadline:" + text)
	if err != nil {
		return attr.PolicyValue{}, err
	}
	s := attr.PolicyOf(v)
	return attr.PolicyValue{Runtime: s.Runtime, Deadline: s.Deadline, Period: s.Period}, nil
}

// typedValue reads a value; nil, which leaves it as it is, if nothing was typed.
func typedValue(a attr.Attribute, text string) (attr.Value, error) {
	if text == "" {
		return nil, nil
	}
	return a.Parse(text)
}

// before is the present setting as the POL column has it. Of a DEADLINE task the
// sample does not have the times.
func (p *Policy) before() string {
	if p.Current.Policy == kernel.Deadline && p.Current.Runtime == 0 {
		return p.Current.Policy.String()
	}
	return p.Current.String()
}

func (p *Policy) setting() attr.PolicyValue {
	s := attr.PolicyValue{Policy: p.policy()}
	if s.Policy == kernel.Deadline {
		s = p.times
		s.Policy, s.Reclaim = kernel.Deadline, p.Current.Reclaim
	}
	if s.ResetOnFork = p.Fields[fieldReset].On; p.counted() {
		s.RTPrio, _ = strconv.Atoi(p.Fields[fieldPriority].Value)
	}
	return s
}

// answer leaves out what its policy does not have.
func (p *Policy) answer() (any, error) {
	var out []attr.Setting
	s := p.setting()
	// The times of a DEADLINE task are not known: without new ones it keeps them.
	if p.Current.Policy != kernel.Deadline || s.Policy != kernel.Deadline || p.times != defaultTimes {
		out = append(out, attr.SetPolicy(s))
	}
	if p.slice != nil && p.sliced() {
		out = append(out, attr.Setting{Attribute: attr.Slice, Value: p.slice})
	}
	if p.session != nil {
		out = append(out, attr.Setting{Attribute: attr.Autogroup, Value: p.session})
	}
	return out, nil
}

func (p *Policy) about() []Line {
	lines := []Line{{Loud, p.before() + " → " + p.setting().String()}}
	switch now := p.policy(); {
	case now == kernel.Deadline:
		lines = append(lines, Line{Warning, "It runs before every other task for its runtime in each period. " +
			"Its affinity must be all CPUs, and cannot be changed then."})
	case now.RealTime() && p.Busy:
		lines = append(lines, Line{Warning, "It is busy: once it is real-time, ordinary tasks on its CPU get " + p.Leftover +
			". You will be asked to keep it, or it is reverted."})
	case now.RealTime():
		lines = append(lines, Line{Warning, "It will run before every ordinary task on its CPU."})
	}
	return lines
}
