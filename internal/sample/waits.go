package sample

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"piton/internal/bpf/waits"
	"piton/internal/kernel"
	"piton/internal/why"
)

// MostWaits is of how many tasks a sample tells what they waited for.
const MostWaits = waits.MostTargets

// taskWaits watches what tasks wait for while somebody asks for it. Nothing is attached otherwise.
type taskWaits struct {
	kernel  waitWatcher
	refuse  error // why they cannot be watched; it is not tried again
	targets []waits.Targets
	tids    []kernel.TID // of the targets
}

type waitWatcher interface {
	Watch(...waits.Targets) error
	Read() ([]why.Observation, error)
	Close()
}

// openWaits opens the programs; tests put in another.
var openWaits = func(targets ...waits.Targets) (waitWatcher, error) { return waits.Open(targets...) }

// read sets n.Waits to what was watched since the last sample, and watches the tasks that are
// wanted from now on. It returns what share of a CPU that takes.
func (w *taskWaits) read(n *Sample, before *Sample, needs *wanted) (rung string, err error) {
	if w.refuse != nil {
		return "", w.refuse
	}
	var all []why.Observation
	if w.kernel != nil {
		if all, err = w.kernel.Read(); err != nil {
			return "", err
		}
	}
	n.Waits = make(map[kernel.TID]why.Brief, len(all))
	cost, span := time.Duration(0), time.Duration(0)
	for i := range all {
		n.Waits[w.tids[i]] = all[i].Brief()
		n.WaitsLost = max(n.WaitsLost, all[i].Lost) // each counts those of all
		cost, span = max(cost, all[i].Cost), max(span, all[i].Span)
	}
	if span > 0 {
		rung = fmt.Sprintf("ebpf, %.2f %% of a CPU", 100*cost.Seconds()/span.Seconds())
	}
	tids := toWatch(n, before, needs)
	if slices.Equal(tids, w.tids) {
		return rung, nil
	}
	w.targets = w.targets[:0]
	for _, tid := range tids {
		if needs.Threads {
			w.targets = append(w.targets, waits.Targets{Threads: []kernel.TID{tid}})
		} else {
			w.targets = append(w.targets, waits.Targets{Processes: []kernel.TID{tid}})
		}
	}
	w.tids = tids
	switch {
	case w.kernel != nil:
		err = w.kernel.Watch(w.targets...)
	case len(tids) > 0:
		var opened waitWatcher
		if opened, err = openWaits(w.targets...); err == nil {
			w.kernel = opened
		}
		w.refuse = err
	}
	if err != nil {
		w.close()
	}
	return rung, err
}

// toWatch are the tasks of needs.Watch and, where all are wanted, those that have used or waited for
// a CPU the most since the sample before.
func toWatch(n, before *Sample, needs *wanted) (tids []kernel.TID) {
	for _, tid := range needs.watch {
		if _, there := Find(n.Tasks, tid); there && len(tids) < MostWaits {
			tids = append(tids, tid)
		}
	}
	if !needs.EveryWait {
		return tids
	}
	type busy struct {
		tid kernel.TID
		ns  uint64
	}
	var rest []busy
	var last cursor
	for _, t := range n.Tasks {
		was := &Task{}
		if before != nil {
			if at := last.find(before.Tasks, t.TID, t.StartTicks); at >= 0 {
				was = before.Tasks[at]
			}
		}
		if !needs.listed(t.TID) {
			rest = append(rest, busy{t.TID, t.RunNs - min(was.RunNs, t.RunNs) + t.RunDelayNs - min(was.RunDelayNs, t.RunDelayNs)})
		}
	}
	slices.SortStableFunc(rest, func(a, b busy) int { return cmp.Compare(b.ns, a.ns) })
	for _, one := range rest[:min(len(rest), MostWaits-len(tids))] {
		tids = append(tids, one.tid)
	}
	slices.Sort(tids)
	return tids
}

// close detaches.
func (w *taskWaits) close() {
	if w.kernel != nil {
		w.kernel.Close()
	}
	w.kernel, w.targets, w.tids = nil, nil, nil
}
