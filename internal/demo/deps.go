package demo

import (
	"context"
	"sync/atomic"
	"time"

	"piton/internal/action"
	"piton/internal/change/history"
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
		Guards: func() []history.GuardState {
			armed, _ := m.guards.List() // those in memory cannot fail
			return armed
		},
		Waits: m.observe,
		IRQs:  tui.IRQs{Read: m.IRQTable, Movable: m.Movable, NICs: m.NICs, Ways: ways},
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
	needs    atomic.Pointer[sample.Needs]
	interval atomic.Int64
	wake     chan struct{} // of one: a sample now
}

// NewSampler returns the sampler of a machine; Run makes its samples.
func NewSampler(m *Machine, interval time.Duration) *Sampler {
	s := &Sampler{m: m, out: make(chan *sample.Sample), wake: make(chan struct{}, 1)}
	s.SetNeeds(sample.Needs{})
	s.interval.Store(int64(interval))
	return s
}

// Samples is part of tui.Sampler. A sample that is not taken delays the next one: the
// machine stands still meanwhile.
func (s *Sampler) Samples() <-chan *sample.Sample { return s.out }

// SetNeeds is part of tui.Sampler.
func (s *Sampler) SetNeeds(n sample.Needs) { s.needs.Store(&n) }

// SetInterval is part of tui.Sampler. It begins with a sample.
func (s *Sampler) SetInterval(d time.Duration) {
	s.interval.Store(int64(d))
	s.Refresh()
}

// Refresh is part of tui.Sampler.
func (s *Sampler) Refresh() {
	select {
	case s.wake <- struct{}{}:
	default: // one is to come
	}
}

// longest is what passes on the machine at most between two samples: it stands still
// while the screen is suspended.
const longest = time.Minute

// Run makes samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
	defer close(s.out)
	last := time.Now().Add(-time.Duration(s.interval.Load()))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		now := time.Now()
		passed := min(max(now.Sub(last), time.Millisecond), longest)
		last = now
		timer.Reset(time.Duration(s.interval.Load()))
		select {
		case s.out <- s.m.Tick(passed, *s.needs.Load()):
		case <-ctx.Done():
			return
		}
	}
}
