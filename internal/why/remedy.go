package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"piton/internal/chart"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/shell"
)

// Remedy is what helps against a cause: a command of piton, a sentence, or nothing.
type Remedy struct {
	Argv   []string // "piton", "weight", …; nil where there is no command, or this user may not give it
	Text   string   // for people, None where nothing helps
	Expect string   // what the command is to bring about, "" where nothing is computed
	Set    *Setting // what the command sets, also where this user may not give it; nil where there is none
}

// Setting is what a command sets.
type Setting struct {
	Attribute string   // as package attr calls it, which reads the Value
	Value     string   //
	On        []string // TARGETs on a command line, or the number of an interrupt line
	Own       bool     // On is the target itself
	Single    bool     // On are numbers of single threads
	Spread    bool     // each thread has one of the CPUs
}

// None is the text where nothing helps.
const None = "–"

var none = Remedy{Text: None}

func sentence(format string, args ...any) Remedy { return Remedy{Text: fmt.Sprintf(format, args...)} }

// The attributes that remedies set.
const (
	ofAffinity  = "affinity"
	ofNice      = "nice"
	ofAutogroup = "autogroup"
	ofWeight    = "weight"
	ofQuota     = "quota"
	ofIRQ       = "irq-affinity"
)

// words are the command without piton and the scope.
func (s *Setting) words() []string {
	value, burst, more := strings.Cut(s.Value, " burst ")
	switch {
	case s.Spread:
		return []string{"spread", s.Value, "-t", strings.Join(s.On, ",")}
	case s.Attribute == ofAffinity:
		return slices.Concat([]string{"pin"}, s.On, []string{"--cpu", s.Value})
	case s.Attribute == ofIRQ:
		return slices.Concat([]string{"irq", "move"}, s.On, []string{"--cpu", s.Value})
	case s.Attribute == ofAutogroup:
		return slices.Concat([]string{"nice", "--autogroup"}, s.On, []string{s.Value})
	case more:
		return slices.Concat([]string{s.Attribute}, s.On, []string{value, "--burst", burst})
	}
	return slices.Concat([]string{s.Attribute}, s.On, []string{s.Value})
}

// command is a command that the caller may give, else what it takes.
func (a *Answer) command(may bool, s Setting) Remedy {
	argv := append([]string{"piton"}, s.words()...)
	if s.Own {
		argv = append(argv, a.Target.Flags...)
	}
	if s.Single {
		argv = append(argv, "--thread")
	}
	if !may {
		return Remedy{Text: "as root: " + shell.Join(argv...), Set: &s}
	}
	return Remedy{Argv: argv, Text: shell.Join(argv...), Set: &s}
}

// What remedies set.
const (
	lowWeight    = 20 // of 100
	lowNice      = 10
	lowestNice   = 19
	quotaStep    = 10  // per cent of a CPU
	spareOfLimit = 0.9 // share of a limit below which the group does not need more of it
)

// rule is a row of the table of remedies: the first one of a cause that holds gives the remedy.
type rule struct {
	cause Cause
	name  string // of its test
	when  func(a *Answer, r *Row) bool
	give  func(a *Answer, r *Row) Remedy
}

func always(*Answer, *Row) bool { return true }

func nothingHelps(*Answer, *Row) Remedy { return none }

// rules is the table of remedies.
var rules = []rule{
	{Limit, "not kept", func(a *Answer, r *Row) bool { return a.Target.unkept(r.Limiting) }, func(a *Answer, _ *Row) Remedy {
		return sentence("the sched_ext scheduler %s does not keep the limit", a.Target.Machine.SchedExt)
	}},
	{Limit, "unknown", func(_ *Answer, r *Row) bool { return r.Limiting == nil || r.Limiting.Limit.CPUs() == 0 }, nothingHelps},
	{Limit, "burst", (*Answer).burstHelps, (*Answer).burst},
	{Limit, "quota", always, (*Answer).quota},

	{Neighbour, "sched_ext", func(a *Answer, _ *Row) bool { return a.Target.Machine.SchedExt != "" }, func(a *Answer, _ *Row) Remedy {
		return sentence("the sched_ext scheduler %s decides who goes first", a.Target.Machine.SchedExt)
	}},
	{Neighbour, "weight", func(_ *Answer, r *Row) bool { return r.Beside != "" }, (*Answer).weight},
	{Neighbour, "gone", func(a *Answer, r *Row) bool { _, there := a.Target.Rivals[r.PID]; return !there }, func(*Answer, *Row) Remedy {
		return sentence("it has ended")
	}},
	{Neighbour, "autogroup", (*Answer).inOtherSession, func(a *Answer, r *Row) Remedy {
		return a.command(a.Target.Rights.Tasks, Setting{Attribute: ofAutogroup, Value: strconv.Itoa(lowNice), On: number(cmp.Or(a.Target.Rivals[r.PID].Leader, r.PID))})
	}},
	{Neighbour, "nice", always, (*Answer).nice},

	{RealTime, "move it", func(a *Answer, r *Row) bool { return r.Policy != kernel.Deadline && !a.elsewhere(r).Empty() }, func(a *Answer, r *Row) Remedy {
		return a.command(a.Target.Rights.Tasks, Setting{Attribute: ofAffinity, Value: a.elsewhere(r).String(), On: number(r.PID)})
	}},
	{RealTime, "move away", func(a *Answer, r *Row) bool { return !a.away(r).Empty() }, func(a *Answer, r *Row) Remedy {
		return a.pin(a.away(r))
	}},
	{RealTime, "no CPU", always, func(_ *Answer, r *Row) Remedy {
		return sentence("%s goes first, and there is no CPU without it", r.Policy)
	}},

	{Kernel, "interrupt", func(a *Answer, r *Row) bool { return a.movable(r) }, func(a *Answer, r *Row) Remedy {
		return a.command(a.Target.Rights.IRQs, Setting{Attribute: ofIRQ, Value: a.free().String(), On: number(a.Target.IRQs[r.Command].Number)})
	}},
	{Kernel, "bound interrupt", func(a *Answer, r *Row) bool { return a.Target.IRQs[r.Command].Bound }, func(*Answer, *Row) Remedy {
		return sentence("its driver or the kernel decides where it goes")
	}},
	{Kernel, "thread", func(a *Answer, r *Row) bool { return !a.elsewhere(r).Empty() }, func(a *Answer, r *Row) Remedy {
		return a.command(a.Target.Rights.Tasks, Setting{Attribute: ofAffinity, Value: a.elsewhere(r).String(), On: number(r.PID)})
	}},
	{Kernel, "bound", always, nothingHelps},

	{Self, "isolated", (*Answer).onIsolated, func(a *Answer, _ *Row) Remedy {
		mask, _ := a.Target.Allowed()
		return a.command(a.Target.Rights.Tasks, Setting{Attribute: ofAffinity, Value: mask.String(), On: a.Target.Words, Own: true, Spread: true})
	}},
	{Self, "more CPUs", func(a *Answer, _ *Row) bool { return a.crowded() && !a.more().Empty() }, func(a *Answer, _ *Row) Remedy {
		return a.pin(a.more())
	}},
	{Self, "crowded", func(a *Answer, _ *Row) bool { return a.crowded() }, func(a *Answer, _ *Row) Remedy {
		mask, _ := a.Target.Allowed()
		return sentence("%s on %s", chart.Plural(len(a.Target.Threads), "thread"), allowedCPUs(mask))
	}},
	{Self, "few", always, nothingHelps},

	{Host, "host", always, func(*Answer, *Row) Remedy { return sentence("only its host can give it more") }},
	{Waking, "waking", always, nothingHelps},
	{Unknown, "unknown", always, nothingHelps},
}

// help is what helps against a row's cause.
func (a *Answer) help(r *Row) Remedy {
	i := slices.IndexFunc(rules, func(rule rule) bool { return rule.cause == r.Cause && rule.when(a, r) })
	return rules[i].give(a, r)
}

func number[N ~int | ~int32](n N) []string { return []string{strconv.Itoa(int(n))} }

func allowedCPUs(set cpuset.Set) string { return chart.Plural(set.Len(), "allowed CPU") }

func groupTarget(path string) []string {
	return []string{"cgroup:" + strings.TrimPrefix(path, "/")}
}

// burstHelps reports whether the group uses less than its limit, so that single periods hit it.
func (a *Answer) burstHelps(r *Row) bool {
	g := r.Limiting
	return g.Limit.Burst < g.Limit.Quota && 2*g.Throttled < g.Periods && float64(g.Used) < spareOfLimit*g.Limit.CPUs()*float64(a.Span)
}

// burst lets the group save as much of its quota as it was kept waiting at once. The kernel takes no
// burst above the quota.
func (a *Answer) burst(r *Row) Remedy {
	l := r.Limiting.Limit
	burst := min(max(r.Waited.Longest, l.Burst*2, time.Millisecond).Round(time.Millisecond), l.Quota)
	return a.command(a.Target.Rights.Groups, Setting{Attribute: ofQuota, Value: percents(l.CPUs()) + " burst " + burst.String(), On: groupTarget(r.Group)})
}

// quota is what the group used and its target lacked, at most all CPUs.
func (a *Answer) quota(r *Row) Remedy {
	lacked := r.Limiting.ThrottledTime // run queues: r.Time counts each task that waited on one
	if lacked == 0 {
		lacked = r.Time
	}
	used := max(r.Limiting.Used.Seconds(), r.Limiting.Limit.Quota.Seconds()*float64(r.Limiting.Throttled)) // Used is not known everywhere
	wanted := (used + lacked.Seconds()) / max(a.Span.Seconds(), 1e-9)
	wanted = math.Ceil(max(wanted, r.Limiting.Limit.CPUs()+0.01)*100/quotaStep) * quotaStep / 100
	most := float64(a.Target.Machine.Online.Len())
	if wanted = min(wanted, most); wanted <= r.Limiting.Limit.CPUs() {
		return sentence("the limit is all there is: it has %s", Quota(r.Limiting.Limit))
	}
	return a.command(a.Target.Rights.Groups, Setting{Attribute: ofQuota, Value: percents(wanted), On: groupTarget(r.Group)})
}

func percents(cpus float64) string { return chart.Short(math.Round(1000*cpus)/10) + "%" }

// weight lowers the weight of the rival's group.
func (a *Answer) weight(r *Row) Remedy {
	t := a.Target
	group := r.Beside
	now, known := t.Weights[group]
	switch {
	case known && now == 0:
		return sentence("%s has the least weight already", procfs.OwnerOf(group))
	case known && now <= lowWeight:
		return a.command(t.Rights.Groups, Setting{Attribute: ofWeight, Value: "idle", On: groupTarget(group)})
	}
	out := a.command(t.Rights.Groups, Setting{Attribute: ofWeight, Value: strconv.Itoa(lowWeight), On: groupTarget(group)})
	own := below(t.Arena.Group, group)
	if weight, known := t.Weights[own]; known && own != "" {
		rivals := 1
		if t.Machine.PerTask {
			rivals = max(min(r.Processes, t.Machine.Online.Len()), 1)
		}
		out.Expect = fmt.Sprintf("%s of a CPU that both want, for %s (weights %d and %d; %s)",
			chart.Percent(float64(weight)/float64(weight+lowWeight*rivals)), procfs.OwnerOf(own), weight, lowWeight, t.Machine.Rule)
	}
	return out
}

// inOtherSession reports whether the rival competes in an autogroup which is not the target's.
func (a *Answer) inOtherSession(r *Row) bool {
	rival := a.Target.Rivals[r.PID].Autogroup
	return rival != "" && rival != a.Target.Arena.Autogroup
}

// nice lowers the rival, which competes where the target or a group of it does.
func (a *Answer) nice(r *Row) Remedy {
	rival := a.Target.Rivals[r.PID]
	nice := lowNice
	switch {
	case rival.Nice >= lowestNice || r.Policy == kernel.Idle:
		return sentence("%s has the least weight already", r.Command)
	case rival.Nice >= lowNice:
		nice = lowestNice
	}
	return a.command(a.Target.Rights.Tasks, Setting{Attribute: ofNice, Value: strconv.Itoa(nice), On: a.rivals(r)})
}

// rivals are the processes of a row on a command line: several by their name, if that is not the
// target's too.
func (a *Answer) rivals(r *Row) []string {
	name := a.Target.Rivals[r.PID].Comm
	own := slices.ContainsFunc(a.Target.Threads, func(t Thread) bool { return t.Comm == name })
	if r.Processes < 2 || own || name != r.Command || !plainName(name) {
		return number(r.PID)
	}
	return []string{name}
}

// plainName reports whether a name means itself as a TARGET.
func plainName(name string) bool {
	return strings.ContainsFunc(name, unicode.IsLetter) && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-", r)
	}) < 0 && name[0] != '-'
}

// free are the CPUs that the target does not use, isolated ones left out.
func (a *Answer) free() cpuset.Set {
	mask, _ := a.Target.Allowed()
	return a.Target.Machine.Online.AndNot(mask).AndNot(a.Target.Machine.Isolated)
}

// elsewhere are the free CPUs that the one who ran may be moved to.
func (a *Answer) elsewhere(r *Row) cpuset.Set {
	rival, there := a.Target.Rivals[r.PID]
	if !there || rival.Bound || r.PID == 0 {
		return cpuset.Set{}
	}
	return a.free().And(rival.Cpuset)
}

// away are the CPUs of the target's mask without those of the one who ran.
func (a *Answer) away(r *Row) cpuset.Set {
	mask, _ := a.Target.Allowed()
	if rival, there := a.Target.Rivals[r.PID]; there {
		return mask.AndNot(rival.Allowed)
	}
	return cpuset.Set{}
}

// movable reports whether an interrupt can go to a free CPU.
func (a *Answer) movable(r *Row) bool {
	irq, known := a.Target.IRQs[r.Command]
	return known && !irq.Bound && !a.free().Empty()
}

// crowded reports whether there are more threads than CPUs for them.
func (a *Answer) crowded() bool {
	mask, _ := a.Target.Allowed()
	return len(a.Target.Threads) > mask.Len()
}

// walled reports whether a limit, not the number of CPUs, is what keeps the target from running.
func (a *Answer) walled(cpus cpuset.Set) bool {
	g := a.Target.Tightest()
	return g != nil && g.Throttled > 0 && !a.Target.unkept(g) && g.Limit.CPUs() <= float64(cpus.Len())
}

// more are the CPUs of a wider mask: all that the control group allows; none where there are no
// more, or a limit is reached on those that there are.
func (a *Answer) more() cpuset.Set {
	mask, groups := a.Target.Allowed()
	wider := mask.Or(groups.And(a.Target.Machine.Online).AndNot(a.Target.Machine.Isolated))
	if wider.Len() == mask.Len() || a.walled(mask) {
		return cpuset.Set{}
	}
	return wider
}

// onIsolated reports whether the target has several CPUs that were isolated at boot: the kernel
// leaves all threads on the first of them.
func (a *Answer) onIsolated(*Row) bool {
	mask, _ := a.Target.Allowed()
	return mask.Len() > 1 && mask.SubsetOf(a.Target.Machine.Isolated)
}

func (a *Answer) pin(cpus cpuset.Set) Remedy {
	return a.command(a.Target.Rights.Tasks, Setting{Attribute: ofAffinity, Value: cpus.String(), On: a.Target.Words, Own: true})
}
