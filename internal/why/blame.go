package why

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"piton/internal/procfs"
)

// Victim is a target that was kept waiting.
type Victim struct {
	Name string
	Observation
}

// Offender is who kept others from running.
type Offender struct {
	By
	Name string
	Time time.Duration // of all victims
	Of   []Kept        // the longest time first
}

// Kept is how long a victim waited for one offender.
type Kept struct {
	Victim string
	Time   time.Duration
	Span   time.Duration // observed
}

// Blame is what victims waited for others, by offender, the one with the longest time first. What a
// target's own threads, its host and idle CPUs took is nobody's.
func Blame(victims []Victim) (out []Offender) {
	type key struct {
		Cause
		group, command string
	}
	index := map[key]int{}
	for _, v := range victims {
		for _, w := range v.By {
			switch w.Cause {
			case Neighbour, RealTime, Kernel, Limit:
			default:
				continue
			}
			k := key{w.Cause, w.Group, w.Command}
			i, known := index[k]
			if !known {
				i = len(out)
				index[k] = i
				out = append(out, Offender{By: w.By, Name: offender(w.By)})
			}
			out[i].keep(v.Name, w.Time, v.Span)
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].Of, func(a, b Kept) int { return cmp.Compare(b.Time, a.Time) })
	}
	slices.SortStableFunc(out, func(a, b Offender) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

func (o *Offender) keep(victim string, time, span time.Duration) {
	o.Time += time
	if i := slices.IndexFunc(o.Of, func(k Kept) bool { return k.Victim == victim }); i >= 0 {
		o.Of[i].Time += time
		return
	}
	o.Of = append(o.Of, Kept{victim, time, span})
}

// offender names one: "cc1 in build.slice", "rtapp (FIFO:50)", "limit of web.slice".
func offender(b By) string {
	switch {
	case b.Cause == Limit:
		return "limit of " + procfs.OwnerOf(b.Group)
	case b.Cause == RealTime:
		return fmt.Sprintf("%s (%s)", b.Command, b.class())
	case b.Cause == Neighbour && b.Group != "" && b.Group != "/":
		return fmt.Sprintf("%s in %s", b.Command, procfs.OwnerOf(b.Group))
	}
	return b.Command
}
