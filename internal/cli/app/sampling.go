package app

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

// measureWindow is how long the load is measured before CPUs are chosen.
const measureWindow = 250 * time.Millisecond

// Measure samples the machine over measureWindow.
func (a *App) Measure(ctx context.Context) (m *model.Model, err error) {
	needs := sample.Needs{Affinity: true, Threads: true, Delay: true, All: true}
	// By eBPF all times are to the ns, and the run queues' averages count what has
	// ended: worth the loading.
	err = a.Sample(ctx, measureWindow, needs, sample.EBPFNow, FromSecond(func(seen *model.Model) (bool, error) {
		m = seen
		return false, nil
	}))
	return m, err
}

// The values of --source.
const (
	SourceAuto = "auto"
	SourceProc = "proc"
)

// EBPF is when eBPF programs are loaded: never with --source proc, and never with
// --host-root, with which nothing acts on this machine.
func (a *App) EBPF(when sample.EBPF) sample.EBPF {
	if a.Source.Value == SourceProc || !a.Live() {
		return sample.EBPFNever
	}
	return when
}

// The start is over after started; collected is the garbage in percent of what is in use that is
// collected then. With 25 instead of Go's 100 the screen has 5 MB less at 200 processes.
const started, collected = 4 * time.Second, 25

// StayLight makes a command that goes on give back what only its start needed, and then keep less
// garbage; GOGC, where it is set, decides that. The returned function calls it off.
func (a *App) StayLight() (stop func()) {
	timer := time.AfterFunc(started, func() {
		defer crash.Handle()
		if a.Getenv("GOGC") == "" {
			debug.SetGCPercent(collected)
		}
		debug.FreeOSMemory()
		_ = kernel.ReleaseCode() // it only stays larger
	})
	return func() { timer.Stop() }
}

// OnSample is called with the machine; more is whether it is to be called again.
type OnSample func(*model.Model) (more bool, err error)

// FromSecond skips the first sample, which has no rates.
func FromSecond(on OnSample) OnSample {
	return func(m *model.Model) (bool, error) {
		if m.Elapsed == 0 {
			return true, nil
		}
		return on(m)
	}
}

// Sample calls on with the machine at once and then over each interval, until it
// wants no more or ctx ends.
func (a *App) Sample(ctx context.Context, interval time.Duration, needs sample.Needs, ebpf sample.EBPF, on OnSample) error {
	topo, err := a.Topology()
	if err != nil {
		return err
	}
	var m *model.Model
	return a.Samples(ctx, interval, needs, ebpf, func(n *sample.Sample) (bool, error) {
		m = model.Next(m, n, topo)
		return on(m)
	})
}

// Samples is Sample without what the model makes of them.
func (a *App) Samples(ctx context.Context, interval time.Duration, needs sample.Needs, ebpf sample.EBPF, on func(*sample.Sample) (more bool, err error)) (err error) {
	s, err := sample.New(sample.Options{Root: a.HostRoot, Interval: interval, Needs: needs, EBPF: a.EBPF(ebpf)})
	if err != nil {
		return fmt.Errorf("look at the tasks: %w", err)
	}
	defer a.StayLight()()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended, s.Close())
	}()
	for n := range s.Samples() {
		more, err := on(n)
		if err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}
