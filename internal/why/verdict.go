package why

import (
	"fmt"
	"math"
	"time"

	"piton/internal/chart"
	"piton/internal/procfs"
)

// The words of verdicts that are no cause's.
const (
	Nothing = "NOTHING"
	Masked  = "MASK"
)

var verdictWords = [Causes]string{"UNKNOWN", "SELF", "NEIGHBOUR", "REALTIME", "KERNEL", "HOST", "LIMIT", "WAKING"}

// What is too little to name a cause for: a share of the time that the threads wanted a CPU, or a
// part of a CPU, unless some of its waits were long.
const (
	littleOfWanted = 0.01
	littleOfCPU    = 0.01
	longWait       = 10 * time.Millisecond
	fewLongWaits   = 3
)

// tailWaits is how many of the longest waits decide what they are due to, and tailLeast how long
// the longest of them must be to matter.
const (
	tailWaits = 10
	tailLeast = time.Millisecond
)

// little reports whether the target hardly waited.
func (o *Observation) little() bool {
	waits := o.Waits()
	if n := waits.atLeast(longWait); n >= fewLongWaits && float64(n) >= littleOfWanted*float64(waits.Count()) {
		return false
	}
	return float64(o.Waited) < littleOfWanted*float64(o.Ran+o.Waited) || float64(o.Waited) < littleOfCPU*float64(o.Span)
}

// verdict names the cause of most of the waiting.
func (a *Answer) verdict() Verdict {
	switch {
	case a.Waited == 0 || a.little():
		return a.nothing()
	case a.Target.Lacking != "":
		return Verdict{verdictWords[Unknown], fmt.Sprintf("it waited %s of the time; what for is not known: %s", a.waitedShare(), a.Target.Lacking)}
	case 2*a.Avoidable.Mask >= a.Waited:
		return a.masked(a.Avoidable.Mask, false)
	case 2*a.Avoidable.Cpuset >= a.Waited:
		return a.masked(a.Avoidable.Cpuset, true)
	}
	var sums [Causes]time.Duration
	var percents [Causes]int
	most := Unknown
	for i := range a.Rows {
		r := &a.Rows[i]
		if r.Cause == Limit && a.Target.unkept(r.Limiting) {
			continue
		}
		percents[r.Cause] += r.Percent
		if sums[r.Cause] += r.Time; sums[r.Cause] > sums[most] {
			most = r.Cause
		}
	}
	first := a.first(most)
	if first == nil {
		return Verdict{verdictWords[Unknown], "the cause of its waiting is not known."}
	}
	text := fmt.Sprintf("%s took %d %% of its waiting", first.who(), first.Percent)
	if all := percents[most]; all != first.Percent {
		text += fmt.Sprintf(", all %s %d %%", several[most], all)
	}
	return Verdict{verdictWords[most], text + "."}
}

// masked names the mask or cpuset that kept it from idle CPUs.
func (a *Answer) masked(part time.Duration, byCpuset bool) Verdict {
	who, several := a.Excluder(byCpuset)
	excludes := "excludes"
	if several {
		excludes = "exclude"
	}
	return Verdict{Masked, fmt.Sprintf("for %s of its waiting a CPU was idle that %s %s.", of(part, a.Waited), who, excludes)}
}

// several are the causes that rows may share.
var several = [Causes]string{Neighbour: "neighbours", RealTime: "real-time tasks", Limit: "limits"}

// first is the largest row of a cause, nil for none.
func (a *Answer) first(c Cause) *Row {
	for i := range a.Rows {
		if a.Rows[i].Cause == c {
			return &a.Rows[i]
		}
	}
	return nil
}

func of(part, whole time.Duration) string {
	return chart.Percent(math.Round(100*float64(part)/float64(whole)) / 100)
}

// waitedShare is the share of the threads' time, as Times has it where it is not less than 1 %.
func (a *Answer) waitedShare() string {
	if _, waited, _ := a.Times(); waited > 0 {
		return fmt.Sprintf("%d %%", waited)
	}
	const little = 1e-4
	if share := a.PerThread(a.Waited); share == 0 || share >= little {
		return chart.Percent(share)
	}
	return "less than " + chart.Percent(little)
}

// nothing says that the CPU is not what it lacks, and what it does instead.
func (a *Answer) nothing() Verdict {
	text := fmt.Sprintf("it waited %s of the time", a.waitedShare())
	switch ran := a.PerThread(a.Ran); {
	case a.Threads == 0:
		return Verdict{Nothing, "no thread of it was seen."}
	case ran >= 0.5:
		text += fmt.Sprintf("; it runs %s", chart.Percent(ran))
	case a.Target.Sleeps != "":
		text += "; it sleeps: " + a.Target.Sleeps
	default:
		text += "; it sleeps"
	}
	return Verdict{Nothing, text + "."}
}

// who says in a sentence's subject whom a row is about.
func (r *Row) who() string {
	switch r.Cause {
	case Self:
		return "its own threads"
	case Neighbour:
		return r.neighbour()
	case RealTime:
		return fmt.Sprintf("%s %d (%s)", r.Command, r.PID, r.class())
	case Kernel:
		return fmt.Sprintf("the kernel (%s)", r.Name)
	case Host:
		return "the hypervisor, which ran something else (steal),"
	case Limit:
		return r.limit()
	case Waking:
		return "CPUs coming out of idle"
	}
	return "what is not known"
}

func (r *Row) neighbour() string {
	who := r.Command
	if r.Processes > 1 {
		who += fmt.Sprintf(", %d processes", r.Processes)
	}
	if r.Group == "" || r.Group == "/" {
		return who
	}
	return fmt.Sprintf("%s (%s)", procfs.OwnerOf(r.Group), who)
}

func (r *Row) limit() string {
	text := "the CPU limit of " + procfs.OwnerOf(r.Group)
	if r.Limiting != nil && r.Limiting.Limit.CPUs() > 0 {
		text += fmt.Sprintf(" (%s)", Quota(r.Limiting.Limit))
	}
	return text
}

// Quota is a limit for people: "50 % of a CPU", "2 CPUs".
func Quota(l procfs.CPULimit) string {
	if cpus := l.CPUs(); cpus >= 1 && cpus == math.Trunc(cpus) {
		return chart.Plural(int(cpus), "CPU")
	}
	return fmt.Sprintf("%s %% of a CPU", chart.Short(math.Round(1000*l.CPUs())/10))
}

// tail names the cause of the longest waits where it is not the verdict's.
func (a *Answer) tail() Verdict {
	if a.Verdict.Word == Nothing || a.Target.Lacking != "" {
		return Verdict{}
	}
	var of [Causes]uint64
	counted := uint64(0) // parts of waits, which is nearly the same at that length
	for bin := len(Bins{}) - 1; bin > 0 && counted < tailWaits && BinStart(bin) >= tailLeast; bin-- {
		for i := range a.Rows {
			r := &a.Rows[i]
			of[r.Cause] += r.Bins[bin]
			counted += r.Bins[bin]
		}
	}
	most := Unknown
	for c := range of {
		if of[c] > of[most] {
			most = Cause(c)
		}
	}
	first := a.first(most)
	if first == nil || most == Unknown || 2*of[most] <= counted || verdictWords[most] == a.Verdict.Word ||
		most == Limit && a.Target.unkept(first.Limiting) {
		return Verdict{}
	}
	which := fmt.Sprintf("its %s", chart.Plural(int(counted), "longest wait"))
	if of[most] < counted {
		which = fmt.Sprintf("%d of %s", of[most], which)
	}
	return Verdict{verdictWords[most], fmt.Sprintf("the cause of %s is %s.", which, first.who())}
}
