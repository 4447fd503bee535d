package runner

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"piton/internal/bench"
	"piton/internal/child"
	"piton/internal/crash"
	"piton/internal/kernel"
)

// Words of the command line of a child.
const (
	endlessWord = "endless" // behind the name of a workload that runs again and again
	noiseWord   = "noise"   // background load
)

// The number of runs is in memory that both processes share.
const (
	countFD    = 3 // in the workload's process: the first of child.Command's Files
	countBytes = 8
)

// Endless is a workload's process that works until it is ended, and its background load.
type Endless struct {
	PID     kernel.TID
	process *child.Process
	load    noise
	shared  []byte
}

// StartEndless starts the work of a study, again and again in one process, beside its
// background load. They end with the thread that calls, which has to stay locked until End; see
// kernel.DieWithParent. Failed is told why the work stopped, from another goroutine.
func (r *Runner) StartEndless(ctx context.Context, study bench.Study, failed func(error)) (_ *Endless, err error) {
	f, err := kernel.SharedMemory("runs", countBytes)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e := &Endless{}
	defer func() {
		if err != nil {
			e.End()
		}
	}()
	if e.shared, err = kernel.MapShared(f, countBytes); err != nil {
		return nil, err
	}
	if e.load, err = r.startNoise(study.Noise); err != nil {
		return nil, err
	}
	argv := r.command(append([]string{study.Workload, endlessWord}, study.Args...)...)
	if e.process, err = child.Start(ctx, child.Command{Argv: argv, Env: r.Env, Files: []*os.File{f}}); err != nil {
		return nil, err
	}
	e.PID = e.process.PID
	if err = errors.Join(e.process.ExpectReady(), e.process.Go()); err != nil {
		return nil, err
	}
	go func() { defer crash.Handle(); failed(e.process.Expect(&message{})) }()
	return e, nil
}

// Runs measures how many runs of the work are done, until End.
func (e *Endless) Runs() Meter {
	m, _ := newGrowth(func() (float64, error) { return float64(atomic.LoadUint64(count(e.shared))), nil }, nil) // never fails
	return m
}

// End ends the work and the background load.
func (e *Endless) End() {
	if e.process != nil {
		_, _ = e.process.End(true)
	}
	e.load.stop()
	if e.shared != nil {
		_ = kernel.Unmap(e.shared)
	}
}

func count(shared []byte) *uint64 { return (*uint64)(unsafe.Pointer(&shared[0])) } // a page is aligned

// repeated works again and again, and counts the runs in the memory that the process was
// given, until an answer is wrong.
func repeated(one func(context.Context) message) (func(context.Context) message, error) {
	shared, err := kernel.MapShared(os.NewFile(countFD, "runs"), countBytes)
	return func(ctx context.Context) message {
		for {
			if m := one(ctx); m.Error != "" {
				return m
			}
			atomic.AddUint64(count(shared), 1)
		}
	}, err
}

func spin(c *child.Child) error {
	for x := uint64(1); ; {
		for range 1 << 20 { // about a millisecond
			x = x*6364136223846793005 + 1442695040888963407
		}
		select {
		case <-c.Closed():
			runtime.KeepAlive(x) // so that the loop is not left out
			return nil
		default:
			runtime.Gosched() // who waits for the end needs a turn where there is one CPU
		}
	}
}

// noise is the background load of a study: processes that are always busy and
// that the kernel may put on any CPU.
type noise []*child.Process

// startNoise starts n of them. They end with the thread that calls, which has to
// stay locked until stop; see kernel.DieWithParent.
func (r *Runner) startNoise(n int) (all noise, err error) {
	for range n {
		p, err := child.Start(context.Background(), child.Command{Name: "background load", Argv: r.command(noiseWord), Env: r.Env, Mute: true})
		if err != nil {
			all.stop()
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (all noise) stop() {
	for _, p := range all {
		_, _ = p.End(true)
	}
}
