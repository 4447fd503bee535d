package waits

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/why"
)

// MostTargets is how many targets can be watched at once. There are twice as many slots, so that
// others can take their place before what was written of them is read.
const (
	MostTargets = 128
	slotCount   = 2 * MostTargets
)

// slot is where programs write about a target.
type slot struct {
	number int64
	key    string // of the target, "" without one
	dirty  bool   // it had one, of which not all is read
	sums   slotSums
	began  spent
	seen   why.Observation // up to the last drain
}

// spent is what watching took, up to a moment.
type spent struct {
	at     time.Duration // CLOCK_MONOTONIC
	cost   time.Duration // CPU time
	misses uint64        // of programs
}

// begin lets what follows count from now on.
func (s *slot) begin(now *spent) { s.began, s.seen = *now, why.Observation{} }

// observed is what came since begin.
func (s *slot) observed(now *spent) why.Observation {
	o := s.seen
	o.Span, o.Cost, o.Lost = now.at-s.began.at, now.cost-s.began.cost, o.Lost+now.misses-s.began.misses
	why.SortWaited(o.By)
	for i := range o.By {
		o.Waited += o.By[i].Time
	}
	return o
}

func (s *slot) add(n *names, k rowKey, v *rowValue) {
	if s.key == "" {
		return
	}
	waited := why.Waited{By: n.by(k, v.Name), Time: time.Duration(v.Ns), Longest: time.Duration(v.LongestNs)}
	for i, count := range v.Bins {
		waited.Bins[i] = uint64(count)
	}
	waited.Waits = waited.Bins.Count()
	s.seen.By = append(s.seen.By, waited)
}

// drain takes the totals of a window that has ended.
func (s *slot) drain(totals *ebpf.Memory, window uint32, n *names) error {
	if s.key == "" && !s.dirty {
		return nil
	}
	var now slotTotals
	at := s.number * int64(unsafe.Sizeof(now))
	if _, err := totals.ReadAt(object.BytesOf(&now), at); err != nil {
		return err
	}
	now.addTo(&s.seen, &s.sums)
	s.sums, s.dirty = now.slotSums, false
	span := &now.Spans[window&1]
	s.seen.Threads = int(span.Threads)
	if span.Longest.Ns > uint64(s.seen.Longest.Time) && s.key != "" {
		s.seen.Longest = n.longest(&span.Longest)
	}
	idle := &s.seen.Avoidable.Idle
	for word, bits := range span.Idle {
		for bit := range 64 {
			if bits>>bit&1 != 0 {
				*idle = idle.Or(cpuset.Of(cpuset.CPU(64*word + bit)))
			}
		}
	}
	_, err := totals.WriteAt(object.BytesOf(&spanTotals{}), at+int64(unsafe.Offsetof(now.Spans))+int64(window&1)*int64(unsafe.Sizeof(*span)))
	return err
}

// Watch watches other targets from now on. Those that stay are watched on. A task of several is
// that of the one which is closest to it: its thread, its process, a process that it descends from
// (Children), its innermost control group; of equals, the first.
func (w *Watcher) Watch(targets ...Targets) error {
	return w.Use(func() error {
		if len(targets) > MostTargets {
			return fmt.Errorf("%d targets are more than the %d that can be watched at once", len(targets), MostTargets)
		}
		ids, err := w.identify(targets)
		if err != nil {
			return err
		}
		if err := w.spend(); err != nil {
			return err
		}
		if err := w.assign(targets); err != nil {
			return err
		}
		if err := w.take(targets, ids); err != nil {
			return err
		}
		return w.settle()
	})
}

// identify finds what programs look for.
func (w *Watcher) identify(targets []Targets) (ids [][]targetID, err error) {
	sum := 0
	for _, t := range targets {
		var of []targetID
		for _, tid := range t.Threads {
			of = append(of, targetID{ID: uint64(tid), Kind: targetThread})
		}
		for _, tid := range t.Processes {
			of = append(of, targetID{ID: uint64(tid), Kind: targetProcess})
		}
		for _, path := range t.Groups {
			id, err := w.groups.Number(path)
			if err != nil {
				return nil, err
			}
			of = append(of, targetID{ID: id, Kind: targetGroup})
		}
		ids, sum = append(ids, of), sum+len(of)
	}
	if most := w.Objects.Maps["targets"].MaxEntries(); sum > int(most) {
		return nil, fmt.Errorf("%d processes and threads are more than the %d that can be watched; watch their control group instead", sum, most)
	}
	return ids, nil
}

// assign gives slots to targets: those that stay keep theirs, others are freed.
func (w *Watcher) assign(targets []Targets) error {
	clean := w.clean()
	if len(clean) < len(targets) {
		if err := w.drain(); err != nil {
			return err
		}
		clean = w.clean()
	}
	held := map[string]*slot{}
	for _, s := range w.order {
		held[s.key] = s
	}
	w.order = nil
	for _, t := range targets {
		key := fmt.Sprint(t)
		s := held[key]
		if s == nil {
			s, clean = clean[0], clean[1:]
			s.key = key
			s.begin(&w.spent)
			held[key] = s
		}
		w.order = append(w.order, s)
	}
	totals, err := w.Objects.Maps["totals"].Memory()
	if err != nil {
		return err
	}
	for _, s := range held {
		live := uint32(1)
		if !slices.Contains(w.order, s) {
			s.key, s.dirty, live = "", true, 0
		}
		var t slotTotals
		if _, err := totals.WriteAt(object.BytesOf(&live), s.number*int64(unsafe.Sizeof(t))+int64(unsafe.Offsetof(t.Live))); err != nil {
			return err
		}
	}
	return nil
}

// clean are slots that can be given to targets.
func (w *Watcher) clean() (out []*slot) {
	for i := range w.slots {
		if s := &w.slots[i]; s.key == "" && !s.dirty {
			s.number = int64(i)
			out = append(out, s)
		}
	}
	return out
}

// take lets programs look for the targets in their slots.
func (w *Watcher) take(targets []Targets, ids [][]targetID) error {
	aims := map[targetID]targetAim{}
	groups := 0
	for i, t := range targets {
		groups += len(t.Groups)
		for _, id := range ids[i] {
			if _, taken := aims[id]; !taken {
				aims[id] = targetAim{Slot: uint8(w.order[i].number), Follow: uint8(flag(t.Children))}
			}
		}
	}
	table := w.Objects.Maps["targets"]
	for id, aim := range aims {
		if old, known := w.aims[id]; known && old == aim {
			continue
		}
		if err := table.Put(id, aim); err != nil {
			return err
		}
	}
	for id := range w.aims {
		if _, stays := aims[id]; stays {
			continue
		}
		if err := table.Delete(id); err != nil {
			return err
		}
	}
	w.aims = aims
	return w.Objects.Variables["groups"].Set(uint32(groups))
}
