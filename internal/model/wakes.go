package model

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// Partner is a thread that wakes threads of a process or is woken by them, which
// may be one of the process itself. TID 0 stands for interrupts: they wake and
// are not woken, and CPU is where the last one came.
type Partner struct {
	TID, TGID kernel.TID
	Comm      string
	CPU       cpuset.CPU // where it last ran
	PerS      float64    // wakeups a second, both ways
	WokenPerS float64    // of these, those by the process
	WakesPerS float64    // and those of the process
}

// Partners are the partners of processes or threads, the one with most wakeups first;
// they are among them where they wake each other.
func Partners(of []kernel.TID, wakes []sample.Wake, over time.Duration) []Partner {
	if over <= 0 {
		return nil
	}
	all := map[kernel.TID]*Partner{}
	partner := func(t *sample.WakeTask) *Partner {
		p := all[t.TID]
		if p == nil {
			p = &Partner{TID: t.TID, TGID: t.TGID, Comm: t.Comm, CPU: t.CPU}
			all[t.TID] = p
		}
		return p
	}
	isOf := func(t *sample.WakeTask) bool { return slices.Contains(of, t.TID) || slices.Contains(of, t.TGID) }
	for i := range wakes {
		w, perS := &wakes[i], float64(wakes[i].Count)/over.Seconds()
		if isOf(&w.Waker) {
			partner(&w.Wakee).WokenPerS += perS
		}
		if isOf(&w.Wakee) {
			p := partner(&w.Waker)
			p.WakesPerS += perS
			p.CPU = w.Waker.CPU // where it ran then; a wakee's is from before
		}
	}
	out := make([]Partner, 0, len(all))
	for p := range maps.Values(all) {
		p.PerS = p.WokenPerS + p.WakesPerS
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Partner) int { return cmp.Or(cmp.Compare(b.PerS, a.PerS), cmp.Compare(a.TID, b.TID)) })
	return out
}

// WakePair is two threads of which at least one wakes the other. A is the one that
// wakes more often; TID 0 stands for interrupts.
type WakePair struct {
	A, B        sample.WakeTask
	Wakes, Back uint64 // of B by A, and of A by B
}

// WakePairs are the pairs that wakeups are between, the one with most of them first.
func WakePairs(wakes []sample.Wake) []WakePair {
	type key struct{ low, high kernel.TID }
	at := map[key]int{}
	var out []WakePair
	for i := range wakes {
		w := &wakes[i]
		k := key{min(w.Waker.TID, w.Wakee.TID), max(w.Waker.TID, w.Wakee.TID)}
		j, there := at[k]
		switch {
		case !there:
			at[k] = len(out)
			out = append(out, WakePair{A: w.Waker, B: w.Wakee, Wakes: w.Count})
		case out[j].A.TID == w.Waker.TID:
			out[j].Wakes += w.Count
		default:
			out[j].Back += w.Count
		}
	}
	for i := range out {
		if p := &out[i]; p.Back > p.Wakes || p.Back == p.Wakes && p.B.TID < p.A.TID {
			p.A, p.B, p.Wakes, p.Back = p.B, p.A, p.Back, p.Wakes
		}
	}
	slices.SortFunc(out, func(a, b WakePair) int {
		return cmp.Or(cmp.Compare(b.Wakes+b.Back, a.Wakes+a.Back), cmp.Compare(a.A.TID, b.A.TID), cmp.Compare(a.B.TID, b.B.TID))
	})
	return out
}
