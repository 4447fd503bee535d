package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/chart"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Words are what a cause is called, in text and JSON.
var words = [Causes]string{"unknown", "self", "neighbour", "real time", "kernel", "host", "limit", "waking"}

// String is "neighbour", "real time", …
func (c Cause) String() string { return words[c] }

// Answer says why a target waited, and what helps.
type Answer struct {
	Observation
	Target  *Target
	Slept   time.Duration
	Rows    []Row     // by time, the longest first
	Verdict Verdict   // the cause of most of the waiting
	Tail    Verdict   // the cause of the longest waits, where that is another one
	Mask    Remedy    // against Avoidable.Mask
	Longest []Portion // of Observation.Longest
}

// Row is what was waited for one group, process or kind.
type Row struct {
	Waited
	Name      string // "build.slice: cc1, 14"
	Share     float64
	Percent   int // of all rows, adding up to 100
	Processes int // that ran
	// Beside is, of a neighbour, the group that competes with one which the target is in: its weight
	// counts. It is "" where the neighbour's tasks compete by themselves.
	Beside   string
	Limiting *Group
	Above    bool // Limiting is an ancestor of the target's own group
	Remedy   Remedy
	Kind     string // of a row that stands for several, "" for the cause
}

// Portion is a part of one wait.
type Portion struct {
	Name    string
	Time    time.Duration
	Percent int // adding up to 100
}

// Verdict is the answer in one word and a sentence.
type Verdict struct {
	Word     string // LIMIT, NEIGHBOUR, …; "" for none
	Sentence string
}

// Explain makes the answer.
func Explain(o Observation, t *Target) *Answer {
	a := &Answer{Observation: o, Target: t, Slept: max(o.Span*time.Duration(o.Threads)-o.Ran-o.Waited, 0)}
	if a.Rows = a.rows(); t.Lacking != "" {
		a.Rows = a.known()
	}
	for i := range a.Rows {
		a.Rows[i].Remedy = a.help(&a.Rows[i])
	}
	a.Mask = a.widen()
	a.Longest = portions(o.Longest)
	a.Verdict = a.verdict()
	a.Tail = a.tail()
	return a
}

// rows sums the parts up: neighbours by the group whose weight counts, real-time tasks by process, limits by group, others
// by cause.
func (a *Answer) rows() []Row {
	type key struct {
		Cause
		group, command string
		pid            kernel.TID
	}
	parts := map[key][]Waited{}
	total := time.Duration(0)
	for _, w := range a.By {
		k := key{Cause: w.Cause}
		switch w.Cause {
		case Neighbour:
			if k.group = a.beside(w.Group); k.group == "" { // they compete one by one
				k.group, k.command = w.Group, w.Command
			}
		case Limit:
			k.group = w.Group
		case RealTime:
			k.pid = w.PID
		}
		parts[k] = append(parts[k], w)
		total += w.Time
	}
	var rows []Row
	for _, of := range parts {
		rows = append(rows, a.row(of, total))
	}
	slices.SortFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.Time, x.Time), cmp.Compare(x.Cause, y.Cause), cmp.Compare(x.Group+x.Command, y.Group+y.Command), cmp.Compare(x.PID, y.PID))
	})
	shares := make([]float64, len(rows))
	for i := range rows {
		shares[i] = rows[i].Share
	}
	for i, percent := range chart.Wholes(shares) {
		rows[i].Percent = percent
	}
	return rows
}

// known are rows of what files alone say: limits that throttled, and threads that are too many.
// Their shares are not known.
func (a *Answer) known() (rows []Row) {
	for i := range a.Target.Groups {
		if g := &a.Target.Groups[i]; g.Throttled > 0 {
			rows = append(rows, a.row([]Waited{{By: By{Cause: Limit, Group: g.Path}}}, 0))
		}
	}
	if mask, _ := a.Target.Allowed(); a.crowded() && a.Ran+a.Waited > a.Span*time.Duration(mask.Len()) {
		rows = append(rows, a.row([]Waited{{By: By{Cause: Self}}}, 0))
	}
	return rows
}

// beside is the group on the way to another one whose weight is compared with that of a group which
// the target is in, "" where there is none.
func (a *Answer) beside(group string) string {
	return below(a.Target.Weighed[group], a.Target.Arena.Group)
}

// row sums parts up whose cause is the same.
func (a *Answer) row(parts []Waited, total time.Duration) Row {
	SortWaited(parts)
	r := Row{Waited: Waited{By: parts[0].By}}
	seen := map[kernel.TID]bool{}
	for _, p := range parts {
		r.Time, r.Waits, r.Waited.Longest = r.Time+p.Time, r.Waits+p.Waits, max(r.Waited.Longest, p.Longest)
		r.Bins.Add(&p.Bins)
		if p.PID != 0 && !seen[p.PID] {
			seen[p.PID] = true
			r.Processes++
		}
	}
	if waits := a.Waits(); waits.Count() > 0 {
		r.Waits = min(r.Waits, waits.Count()) // one may have parts of several of them
	}
	if total > 0 {
		r.Share = float64(r.Time) / float64(total)
	}
	switch r.Cause {
	case Limit:
		r.Limiting = a.Target.group(r.Group)
		r.Above = r.Limiting != nil && r.Limiting != &a.Target.Groups[0]
	case Neighbour:
		r.Beside = a.beside(r.Group)
		r.Group = cmp.Or(r.Beside, r.Group)
	}
	r.Name = r.name(parts)
	return r
}

// name says who or what it is.
func (r *Row) name(parts []Waited) string {
	switch r.Cause {
	case Self:
		return "own threads"
	case Neighbour:
		name := procfs.OwnerOf(r.Group) + ": " + r.Command
		if r.Group == "" || r.Group == "/" {
			name = r.Command
		}
		if r.Processes > 1 {
			return fmt.Sprintf("%s, %d", name, r.Processes)
		}
		return name
	case RealTime:
		return strings.TrimSpace(fmt.Sprintf("%s %s %d", r.class(), r.Command, r.PID))
	case Kernel:
		names := []string{r.Command}
		if len(parts) > 1 {
			names = append(names, strings.TrimPrefix(parts[1].Command, "softirq "))
		}
		return strings.Join(names, ", ")
	case Host:
		return "the hypervisor (steal)"
	case Limit:
		if g := r.Limiting; g != nil && g.Periods > 0 {
			return fmt.Sprintf("%s, %d of %d periods", procfs.OwnerOf(r.Group), g.Throttled, g.Periods)
		}
		return procfs.OwnerOf(r.Group)
	case Waking:
		return "out of idle"
	}
	return "not known"
}

// class is "FIFO:50" or "DEADLINE".
func (b By) class() string {
	if b.Policy == kernel.FIFO || b.Policy == kernel.RR {
		return fmt.Sprintf("%s:%d", b.Policy, b.Priority)
	}
	return b.Policy.String()
}

// Scope says what a row is about: own, cgroup, process, machine.
func (r *Row) Scope() string {
	switch {
	case r.Cause == Self:
		return "own"
	case r.Cause == Limit || r.Cause == Neighbour && r.Group != "":
		return "cgroup"
	case r.Cause == RealTime || r.Cause == Neighbour:
		return "process"
	}
	return "machine"
}

// Ancestor reports whether a limit is of a group above the target's own; nil of other causes.
func (r *Row) Ancestor() any {
	if r.Limiting == nil {
		return nil
	}
	return r.Above
}

// Top are at most so many rows, 0 for all: the last is then the rest of them, with those below 1 %.
func (a *Answer) Top(most int) []Row {
	n := len(a.Rows)
	if most > 0 {
		n = min(n, most)
		for n > 1 && a.Rows[n-1].Percent == 0 && a.Target.Lacking == "" {
			n--
		}
	}
	if len(a.Rows)-n < 2 {
		return a.Rows
	}
	rest := Row{Kind: "others", Name: fmt.Sprintf("%d more", len(a.Rows)-n), Remedy: Remedy{Text: None}}
	for i := range a.Rows[n:] {
		r := &a.Rows[n+i]
		rest.Time, rest.Waits, rest.Waited.Longest = rest.Time+r.Time, rest.Waits+r.Waits, max(rest.Waited.Longest, r.Waited.Longest)
		rest.Share, rest.Percent = rest.Share+r.Share, rest.Percent+r.Percent
		rest.Bins.Add(&r.Bins)
	}
	return append(append([]Row(nil), a.Rows[:n]...), rest)
}

// mostPortions is how many parts of a wait are named.
const mostPortions = 6

// portions name the largest parts of a wait.
func portions(l LongestWait) (out []Portion) {
	for _, p := range l.Parts {
		out = addPortion(out, p.portion(), p.Time)
	}
	slices.SortStableFunc(out, func(a, b Portion) int { return cmp.Compare(b.Time, a.Time) })
	var rest Portion
	for len(out) > mostPortions || len(out) > 1 && 200*out[len(out)-1].Time < l.Time {
		rest.Time += out[len(out)-1].Time
		out = out[:len(out)-1]
	}
	if rest.Time > 0 {
		out = addPortion(out, "others", rest.Time)
	}
	var shares []float64
	for _, p := range out {
		shares = append(shares, float64(p.Time)/float64(max(l.Time, 1)))
	}
	for i, percent := range chart.Wholes(shares) {
		out[i].Percent = percent
	}
	return out
}

func addPortion(all []Portion, name string, d time.Duration) []Portion {
	if i := slices.IndexFunc(all, func(o Portion) bool { return o.Name == name }); i >= 0 {
		all[i].Time += d
		return all
	}
	return append(all, Portion{Name: name, Time: d})
}

// portion is the name of a part of a wait.
func (b By) portion() string {
	switch {
	case b.Cause == Limit:
		return "limit of " + procfs.OwnerOf(b.Group)
	case b.Cause == Self:
		return strings.TrimSpace("own " + b.Command)
	case b.Cause == Neighbour && b.Command == "":
		return "others"
	}
	return cmp.Or(b.Command, b.Cause.String())
}

// Times are what the threads did with their time, in per cent that add up to 100.
func (a *Answer) Times() (ran, waited, slept int) {
	if a.Threads == 0 || a.Span <= 0 {
		return 0, 0, 0
	}
	all := chart.Wholes([]float64{a.PerThread(a.Ran), a.PerThread(a.Waited), a.PerThread(a.Slept)})
	return all[0], all[1], all[2]
}

// PerThread is a part of the threads' time a second, as administrators of VMware know CPU Ready.
func (a *Answer) PerThread(d time.Duration) float64 {
	if a.Span <= 0 || a.Threads == 0 {
		return 0
	}
	return d.Seconds() / a.Span.Seconds() / float64(a.Threads)
}
