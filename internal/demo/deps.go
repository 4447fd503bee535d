package demo

import (
	"context"
	"time"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/paper"
	"piton/internal/sample"
	"piton/internal/tui"
	"piton/workloads"
)

// Deps is what the screen works with: all of it is the machine's.
func (m *Machine) Deps(o tui.Options, s tui.Sampler) tui.Deps {
	return tui.Deps{
		Options: o, Sampler: s, Topology: m.Topology, Inspect: inspector{m},
		Tuning: tui.Tuner{Deps: action.Deps{Tuner: m.tuner, Rate: m.rate, Look: m.facts}},
		Guards: func() []change.GuardState {
			armed, _ := m.guards.List() // those in memory cannot fail
			return armed
		},
		IRQs: tui.IRQs{Read: m.IRQTable, Movable: m.Movable, NICs: m.NICs, Ways: ways},
		Bench: tui.Bench{Runner: runner{m}, Store: runner{m}, Workloads: workloads.All, Host: Host, RealTime: true,
			Papers: noPapers{}, Machine: paper.NewMachine(m.Topology, false)},
		Journal: m.journal,
		MadeUp:  true,
	}
}

// Sampler samples the machine in time: it is the tui.Sampler of piton demo.
type Sampler struct {
	m        *Machine
	out      chan *sample.Sample
	needs    chan sample.Needs
	interval chan time.Duration
	refresh  chan struct{}
}

// NewSampler returns the sampler of a machine; Run makes its samples.
func NewSampler(m *Machine) *Sampler {
	return &Sampler{m: m, out: make(chan *sample.Sample), needs: make(chan sample.Needs, 1), interval: make(chan time.Duration, 1),
		refresh: make(chan struct{}, 1)}
}

// Samples is part of tui.Sampler. A sample that is not taken delays the next one: the
// machine stands still meanwhile.
func (s *Sampler) Samples() <-chan *sample.Sample { return s.out }

// SetNeeds is part of tui.Sampler.
func (s *Sampler) SetNeeds(n sample.Needs) { replace(s.needs, n) }

// SetInterval is part of tui.Sampler.
func (s *Sampler) SetInterval(d time.Duration) { replace(s.interval, d) }

// Refresh is part of tui.Sampler.
func (s *Sampler) Refresh() { replace(s.refresh, struct{}{}) }

// replace puts a value into a channel of one, in place of one that nobody took. There
// is one sender.
func replace[T any](c chan T, v T) {
	select {
	case <-c:
	default:
	}
	c <- v
}

// longest is what passes on the machine at most between two samples: it stands still
// while the screen is suspended.
const longest = time.Minute

// Run makes samples until ctx ends.
func (s *Sampler) Run(ctx context.Context, interval time.Duration) {
	defer close(s.out)
	var needs sample.Needs
	last := time.Now().Add(-interval)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case needs = <-s.needs:
			continue
		case interval = <-s.interval:
			timer.Reset(time.Until(last.Add(interval)))
			continue
		case <-s.refresh:
		case <-timer.C:
		}
		now := time.Now()
		passed := min(max(now.Sub(last), time.Millisecond), longest)
		last = now
		timer.Reset(interval)
		select {
		case next := <-s.needs:
			needs = next
		default:
		}
		select {
		case s.out <- s.m.Tick(passed, needs):
		case <-ctx.Done():
			return
		}
	}
}
