package sample

import (
	"context"
	"time"

	"piton/internal/bpf"
	"piton/internal/crash"
)

// EBPF says when a Sampler loads its eBPF programs. Loading takes about 50 ms of
// CPU time for the task walk and 25 ms for the rest, and half a second where the
// CPUs are busy.
type EBPF uint8

// The choices. Until the programs are loaded, and where they cannot be, /proc
// tells what it can, and Collector.Better says what the programs need.
const (
	EBPFLater EBPF = iota // Run loads them in the background after its first sample, the walk before it if there are many tasks
	EBPFNow               // before the first sample
	EBPFMany              // the walk alone, before the first sample, if there are many tasks: for a few samples
	EBPFNever
)

// manyTasks are read sooner by loading the walk than from /proc.
const manyTasks = 1500

// afterFirst is how long Run waits before it loads, so that whoever takes the
// first sample has the CPUs for drawing it.
const afterFirst = 100 * time.Millisecond

// programs are what was loaded, or why not; neither if it was not tried.
type programs struct {
	walk          *bpf.Walk
	migrations    *bpf.Migrations
	walkErr       error
	migrationsErr error
}

func (p *programs) loadWalk() { p.walk, p.walkErr = bpf.OpenWalk(bpf.WalkOptions{}) }

func (p *programs) loadMigrations() { p.migrations, p.migrationsErr = bpf.OpenMigrations() }

func (p *programs) close() {
	if p.walk != nil {
		p.walk.Close()
	}
	if p.migrations != nil {
		p.migrations.Close()
	}
}

// loadLater loads in the background what is not loaded yet; wait returns when that
// has ended. The next sample after it takes the programs over, and comes at once.
func (s *Sampler) loadLater(ctx context.Context) (wait func()) {
	if s.ebpf != EBPFLater {
		return func() {}
	}
	s.ebpf = EBPFNever // once
	done := make(chan struct{})
	go func() {
		defer crash.Handle()
		defer close(done)
		select {
		case <-ctx.Done():
			return
		case <-time.After(afterFirst):
		}
		var p programs
		if !s.walkLoaded {
			p.loadWalk()
		}
		if ctx.Err() == nil {
			p.loadMigrations()
		}
		s.loaded <- &p // it has room for one
		s.Refresh()
	}()
	return func() { <-done }
}

// load loads before a sample what should be there by then.
func (s *Sampler) load() {
	var p programs
	switch {
	case s.ebpf == EBPFNow:
		p.loadWalk()
		p.loadMigrations()
	case s.many && s.ebpf != EBPFNever:
		p.loadWalk()
		s.walkLoaded = true
	}
	if s.many = false; s.ebpf != EBPFLater {
		s.ebpf = EBPFNever
	}
	s.adopt(&p)
}

// adopt takes over what was loaded. The rows carry over.
func (s *Sampler) adopt(p *programs) {
	if p.walk != nil || p.walkErr != nil {
		s.adoptWalk(p)
	}
	if p.migrations != nil || p.migrationsErr != nil {
		s.adoptMigrations(p)
	}
}

func (s *Sampler) adoptWalk(p *programs) {
	if p.walkErr != nil {
		s.tasksBetter = p.walkErr.Error()
		return
	}
	s.tasks.close()
	s.tasks = newBPFWalk(p.walk, s.fs, s.r)
	s.tasksBetter = ""
	if refused := p.walk.Refused(); refused != nil {
		s.tasksBetter = refused.Error()
	}
}

func (s *Sampler) adoptMigrations(p *programs) {
	err := p.migrationsErr
	if err == nil {
		var m *bpfMigrations
		if m, err = newBPFMigrations(p.migrations); err == nil {
			s.ladder[0].close()
			s.ladder = append([]migrationSource{m}, s.ladder...)
			s.better = ""
			return
		}
		p.migrations.Close()
	}
	if s.better == waiting || s.better == "" {
		s.better = err.Error()
	}
}

// What Better says before anyone has tried.
const (
	waiting  = "eBPF programs, which are being loaded"
	unwanted = "eBPF programs, which were not asked for"
)

// walkTasks walks; when the eBPF walk fails, /proc takes over for good.
func (s *Sampler) walkTasks(w *walk) error {
	err := s.tasks.walk(w)
	if _, isBPF := s.tasks.(*bpfWalk); err == nil || !isBPF {
		return err
	}
	s.tasks.close()
	s.tasks, s.tasksBetter = newProcWalk(s.fs, s.r), err.Error()
	w.tasks = w.tasks[:0]
	return s.tasks.walk(w)
}

// onDemand reads what is attached only while it is asked for, and detaches the rest.
func (s *Sampler) onDemand(n *Sample, needs *wanted) {
	const rung = "ebpf"
	var waited string // the rung of waits, with their cost
	one := func(name string, asked bool, read func() error, detach func()) {
		if asked && s.fs.Live() {
			s.collect(n, name, rung, read)
		} else {
			detach()
		}
	}
	one("trace", needs.Trace != 0, func() error { return s.trace.read(n, needs.Trace) }, s.trace.close)
	one("wakes", needs.Wakes != 0, func() error { return s.wakes.read(n, needs.Wakes) }, s.wakes.close)
	one("flows", needs.Flows != 0, func() error { return s.flows.read(n, needs.Flows) }, s.flows.close)
	if needs.CPUGroups {
		s.collect(n, "groups", "", func() error { return s.groups.read(n, s.fs, needs) })
	}
	one("waits", needs.Waits, func() (err error) {
		waited, err = s.waits.read(n, s.last, needs)
		return err
	}, s.waits.close)
	if waited != "" {
		n.Collectors[len(n.Collectors)-1].Rung = waited
	}
	one("ledger", needs.Ledger, func() error { return s.ledger.read(n, s.fs, s.r) }, s.ledger.close)
}

// closePrograms detaches what was asked for, and what was loaded but never
// taken over.
func (s *Sampler) closePrograms() {
	s.trace.close()
	s.wakes.close()
	s.flows.close()
	s.ledger.close()
	s.waits.close()
	select {
	case p := <-s.loaded:
		p.close()
	default:
	}
}
