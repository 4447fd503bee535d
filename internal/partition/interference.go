package partition

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kthread"
	"piton/internal/sample"
)

// KindSoftIRQ and KindLocal are further kinds of what runs on a CPU: a softirq,
// and a line of /proc/interrupts that has a name instead of a number.
const (
	KindSoftIRQ Kind = "softirq"
	KindLocal   Kind = "interrupt"
)

// Interference is what one task or interrupt took of a CPU that is set apart.
type Interference struct {
	CPU     cpuset.CPU
	Kind    Kind
	Number  int // TID of a task, number of an interrupt line
	Name    string
	Timed   bool          // Run and Longest are known; of KindLocal only the number of times is
	Run     time.Duration // in all
	Longest time.Duration // in one go
	Times   uint64
	Why     string // what it is, or why it is there
	Do      string // what would make it go, "" for nothing
}

// Watcher adds up what ran on isolated CPUs.
type Watcher struct {
	cpus  cpuset.Set
	found map[visitor]*Interference
}

type visitor struct {
	cpu    cpuset.CPU
	kind   sample.RunKind
	number int // tid, line or vector
}

// NewWatcher returns a Watcher of the CPUs.
func NewWatcher(cpus cpuset.Set) *Watcher {
	return &Watcher{cpus: cpus, found: map[visitor]*Interference{}}
}

// Add takes in what ran since the sample before.
func (w *Watcher) Add(intervals []sample.RunInterval) {
	for i := range intervals {
		s := &intervals[i]
		if !w.cpus.Has(s.CPU) || s.Kind == sample.RunOfTask && s.TID == 0 { // swapper, the idle task
			continue
		}
		k := visitor{s.CPU, s.Kind, s.Number}
		if s.Kind == sample.RunOfTask {
			k.number = int(s.TID)
		}
		v := w.found[k]
		if v == nil {
			v = &Interference{CPU: s.CPU, Kind: Kind(s.Kind.String()), Name: s.Name, Number: k.number, Timed: true}
			w.found[k] = v
		}
		v.Run += time.Duration(s.RunNs)
		v.Longest = max(v.Longest, time.Duration(s.LongestNs))
		v.Times += s.Times
	}
}

// Report returns what ran, by CPU and most time first, with what can be done about
// it. The table has the rates of the named interrupts over the whole watch.
func (w *Watcher) Report(f Facts, t *irq.Table) []Interference {
	var out []Interference
	j := judge{f: &f, cpus: w.cpus}
	for _, v := range w.found {
		v.Why, v.Do = j.judge(v)
		out = append(out, *v)
	}
	out = append(out, w.local(t)...)
	slices.SortFunc(out, func(a, b Interference) int {
		return cmp.Or(cmp.Compare(a.CPU, b.CPU), cmp.Compare(b.Run, a.Run), cmp.Compare(b.Times, a.Times),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// local are the interrupts that CPUs send themselves and each other; nothing
// tells how long they took.
func (w *Watcher) local(t *irq.Table) []Interference {
	var out []Interference
	for i := range t.Named {
		r := &t.Named[i]
		if !r.Rate.OK {
			continue
		}
		for at, perS := range r.Rate.ByCPU {
			times := uint64(perS*t.Elapsed.Seconds() + 0.5)
			if times == 0 || at >= len(t.CPUs) || !w.cpus.Has(t.CPUs[at]) {
				continue
			}
			what, fewer, _ := irq.Meaning(r.Name)
			out = append(out, Interference{CPU: t.CPUs[at], Kind: KindLocal, Name: r.Name, Times: times, Why: what, Do: fewer})
		}
	}
	return out
}

// Busy returns what part of the time each of the CPUs was taken, in rising order
// of their numbers, 0..1.
func (w *Watcher) Busy(span time.Duration) []float64 {
	out := make([]float64, 0, w.cpus.Len())
	for cpu := range w.cpus.All() {
		var run time.Duration
		for k, v := range w.found {
			if k.cpu == cpu {
				run += v.Run
			}
		}
		out = append(out, run.Seconds()/span.Seconds())
	}
	return out
}

// judge says why something ran on an isolated CPU.
type judge struct {
	f    *Facts
	cpus cpuset.Set
}

func (j judge) judge(v *Interference) (why, do string) {
	switch v.Kind {
	case KindIRQ:
		return j.line(v)
	case KindSoftIRQ:
		return j.softIRQ(v)
	}
	i := slices.IndexFunc(j.f.Tasks, func(t Task) bool { return int(t.TID) == v.Number })
	if i < 0 {
		return "it has ended", "if it comes again, look for its parent: it inherits the affinity"
	}
	t := &j.f.Tasks[i]
	switch m, known := kthread.Explain(t.Comm); {
	case t.IsKernel() && known:
		why, do = m.What, m.Do
	case t.IsKernel():
		why = "a kernel thread"
	case t.Mask.SubsetOf(j.cpus):
		why, do = "it is pinned there", "nothing, if that is what the CPUs are for"
	case t.Mask.And(j.cpus).Empty():
		why = "it was on its way elsewhere"
	default:
		why = fmt.Sprintf("it may run on %s", t.Mask.InWords())
		do = fmt.Sprintf("piton pin %d --thread --cpu %s", t.TID, t.Mask.AndNot(j.cpus))
	}
	return why, do
}

func (j judge) line(v *Interference) (why, do string) {
	i := slices.IndexFunc(j.f.IRQs, func(l irq.IRQ) bool { return l.Number == v.Number })
	if i < 0 {
		return "an interrupt line that is gone", ""
	}
	l := &j.f.IRQs[i]
	switch {
	case !l.CanMove():
		return l.Control.Why(), lineRemedy(l)
	case l.Requested.And(j.cpus).Empty():
		return "it came before its new affinity took effect, with the interrupt after the change", ""
	}
	return "its affinity is " + l.Requested.String(), fmt.Sprintf("piton irq move %d --cpu %s", l.Number, j.f.Online.AndNot(j.cpus))
}

func (j judge) softIRQ(v *Interference) (why, do string) {
	why, _, _ = irq.Meaning(v.Name)
	switch v.Name {
	case "TIMER", "HRTIMER":
		do = "boot with nohz_full=" + j.cpus.String() + ", which stops the tick where one task runs; timers are armed by tasks of that CPU"
	case "SCHED":
		do = "boot with isolcpus=domain," + j.cpus.String() + ", or make a cpuset partition of the CPUs: then they are not balanced"
	case "RCU":
		do = "boot with rcu_nocbs=" + j.cpus.String()
	default:
		do = "it follows the interrupt that raises it: move that"
	}
	return why, do
}
