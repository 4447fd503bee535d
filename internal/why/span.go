package why

import (
	"maps"
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Span is what was observed in one of several spans of time that follow each other, and what was
// known of the target then.
type Span struct {
	Observation
	*Target
}

// Sum is the spans as one. Of the target, what it counts is that of all of them, rivals are those
// of all of them, and the rest is what was known last. There must be one span at least.
func Sum(spans ...Span) Span {
	t := *spans[len(spans)-1].Target
	t.Slices, t.Pressure, t.Groups = 0, 0, slices.Clone(t.Groups)
	for i := range t.Groups {
		t.Groups[i].CPUStat = procfs.CPUStat{}
	}
	t.Rivals, t.Weighed, t.Weights, t.IRQs = map[kernel.TID]Rival{}, map[string]string{}, map[string]int{}, map[string]IRQ{}
	var o Observation
	by := map[By]int{}
	for _, s := range spans {
		o.add(&s.Observation, by)
		t.add(s.Target)
	}
	SortWaited(o.By)
	return Span{o, &t}
}

func (o *Observation) add(other *Observation, by map[By]int) {
	o.Span, o.Threads = o.Span+other.Span, max(o.Threads, other.Threads)
	o.Ran, o.Waited = o.Ran+other.Ran, o.Waited+other.Waited
	o.Woken.Add(&other.Woken)
	o.Preempted.Add(&other.Preempted)
	for i := range other.By {
		w := &other.By[i]
		at, seen := by[w.By]
		if !seen {
			by[w.By], o.By = len(o.By), append(o.By, *w)
			continue
		}
		sum := &o.By[at]
		sum.Time, sum.Waits, sum.Longest = sum.Time+w.Time, sum.Waits+w.Waits, max(sum.Longest, w.Longest)
		sum.Bins.Add(&w.Bins)
	}
	a, b := &o.Avoidable, &other.Avoidable
	a.Mask, a.Cpuset, a.Missed, a.Idle = a.Mask+b.Mask, a.Cpuset+b.Cpuset, a.Missed+b.Missed, a.Idle.Or(b.Idle)
	if other.Longest.Time > o.Longest.Time {
		o.Longest = other.Longest
	}
	o.Lost, o.Cost = o.Lost+other.Lost, o.Cost+other.Cost
}

// add adds what a target counts, and who its rivals were; a group that it has left is left out.
func (t *Target) add(other *Target) {
	t.Slices += other.Slices
	if t.Pressure < 0 || other.Pressure < 0 { // not counted in one of them
		t.Pressure = -1
	} else {
		t.Pressure += other.Pressure
	}
	for i := range other.Groups {
		if g := t.group(other.Groups[i].Path); g != nil {
			g.CPUStat = g.Plus(other.Groups[i].CPUStat)
		}
	}
	maps.Copy(t.Rivals, other.Rivals)
	maps.Copy(t.Weighed, other.Weighed)
	maps.Copy(t.Weights, other.Weights)
	maps.Copy(t.IRQs, other.IRQs)
}
