// Package noise finds when a CPU that should be a task's alone did not run it, and what ran there
// instead, as the kernel's osnoise tracer does: a thread on the CPU reads the clock over and over
// (spin.go, a process of its own), and eBPF programs tell what came between (gaps.go, pure).
//
// Start at Watch.
package noise

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Least is the shortest gap that is told, where reading the clock takes less.
const Least = time.Microsecond

// Watcher watches CPUs.
type Watcher struct {
	Unnamed error         // why gaps have no names, nil if they have
	Least   time.Duration // the shortest gap that is noted

	spinning *spinning
	events   *bpf.Noise
	from     time.Duration // gaps before are not told
	till     time.Duration // of the last call of Gaps
	names    namer
	pending  map[cpuset.CPU][]bpf.Interruption
	read     []bpf.Interruption
	lost     uint64
}

// Watch begins to watch CPUs by threads that spin there, started as the command of verb with the
// environment. ebpf: what came between is to be named.
func Watch(verb string, env []string, cpus cpuset.Set, ebpf bool) (*Watcher, error) {
	s, err := startSpinning(verb, env, cpus)
	if err != nil {
		return nil, err
	}
	w := &Watcher{spinning: s, Least: s.least, pending: map[cpuset.CPU][]bpf.Interruption{}, names: namer{lines: map[int]string{}}}
	w.Unnamed = errors.New("--source proc keeps eBPF off")
	if ebpf {
		w.events, w.Unnamed = bpf.OpenNoise(s.pid, cpus)
	}
	w.from = kernel.Monotonic()
	return w, nil
}

// Lost is how many gaps and events found no room.
func (w *Watcher) Lost() uint64 { return w.lost }

// Span is how long it has been watching.
func (w *Watcher) Span() time.Duration { return w.till - w.from }

// PID is the process that spins.
func (w *Watcher) PID() kernel.TID { return w.spinning.pid }

// Gaps returns the gaps since the last call. An event is there before its gap has ended.
func (w *Watcher) Gaps() ([]Gap, error) {
	w.till = kernel.Monotonic()
	gaps, lost, err := w.spinning.take()
	if err != nil {
		return nil, err
	}
	if w.lost += lost; w.events != nil {
		if w.read, lost, err = w.events.Read(w.read[:0]); err != nil {
			return nil, err
		}
		w.lost += lost
		for _, e := range w.read {
			w.pending[e.CPU] = append(w.pending[e.CPU], e)
		}
		for _, events := range w.pending { // nested ones are told before what they are in
			slices.SortStableFunc(events, func(a, b bpf.Interruption) int { return cmp.Compare(a.Start, b.Start) })
		}
	}
	var out []Gap
	for _, g := range gaps {
		if g.At < w.from {
			continue
		}
		g.Parts = w.parts(g)
		out = append(out, g)
	}
	return out, nil
}

// parts names what came in a gap, and forgets what was before its end.
func (w *Watcher) parts(g Gap) []Part {
	if w.events == nil {
		return rest(nil, g.Length, true)
	}
	events := w.pending[g.CPU]
	later, _ := slices.BinarySearchFunc(events, g.At+g.Length, func(e bpf.Interruption, end time.Duration) int { return cmp.Compare(e.Start, end) })
	var in []bpf.Interruption
	for _, e := range events[:later] {
		if e.Start+e.Length > g.At {
			in = append(in, e)
		}
	}
	w.pending[g.CPU] = events[later:]
	return rest(split(in, w.names.who), g.Length, w.lost > 0)
}

// Close ends it.
func (w *Watcher) Close() {
	if w.events != nil {
		w.events.Close()
	}
	_ = w.spinning.end()
}
