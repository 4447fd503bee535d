package ctxswitch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/workloads/internal/cycle"
)

// job is what a process is told to do.
type job struct {
	Options
	Index int `json:"index"`
	// With Turns: the counter that all read, and the reading that counts as 0.
	Source cycle.Source `json:"source"`
	Hz     float64      `json:"hz"`
	Base   uint64       `json:"base"`
}

type report struct {
	Index   int     `json:"index"`
	Tokens  int     `json:"tokens"`
	Sum     uint64  `json:"sum"`
	Ring    *Ring   `json:"ring,omitempty"` // of process 0
	Seconds float64 `json:"seconds"`
	Spans   []span  `json:"spans,omitempty"` // with Turns: when it ran, in ns of the common clock
}

type span [2]int64

// launch starts the processes on the CPUs, lets them go together and collects
// their reports. When one fails, or ctx ends, all are killed and waited for.
func (r *Result) launch(ctx context.Context, on, home cpuset.Set) ([]report, error) {
	files, err := r.wires()
	if err != nil {
		return nil, err
	}
	reports, err := child.Together[report](ctx, func(ctx context.Context, g *child.Group) error {
		defer closeAll(files) // the processes have their own; a pipe must end when they do
		// Processes inherit the affinity of the thread that starts them.
		if err := r.Scheduler.SetAffinity(0, on); err != nil {
			return fmt.Errorf("go to CPU %s: %w", on, err)
		}
		return errors.Join(r.startAll(ctx, g, files), r.Scheduler.SetAffinity(0, home))
	}, nil)
	if ctx.Err() != nil {
		err = fmt.Errorf("switch between processes: %w", ctx.Err())
	}
	return reports, err
}

func closeAll(files [][]*os.File) {
	for _, list := range files {
		for _, f := range list {
			_ = f.Close()
		}
	}
}

// wires makes what the processes pass the token through: for each process the
// files that it gets as descriptors 3 and up.
func (r *Result) wires() ([][]*os.File, error) {
	files := make([][]*os.File, r.Procs)
	var err error
	switch r.Mode {
	case Pipe:
		for i := range files {
			var in, out *os.File
			if in, out, err = os.Pipe(); err != nil {
				err = fmt.Errorf("make a pipe: %w", err)
				break
			}
			files[i] = append([]*os.File{in}, files[i]...)
			before := (i + r.Procs - 1) % r.Procs
			files[before] = append(files[before], out)
		}
	case Futex:
		var shared *os.File
		shared, err = kernel.SharedMemory("piton-ring", wordsBytes)
		for i := range files {
			files[i] = []*os.File{shared}
		}
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

func (r *Result) startAll(ctx context.Context, g *child.Group, files [][]*os.File) error {
	counter := cycle.Best(10 * time.Millisecond)
	j := job{Options: r.Options, Source: counter.Source, Hz: counter.Hz, Base: counter.Now()}
	for i := range r.Procs {
		j.Index = i
		if _, err := g.Start(ctx, child.Command{Name: "process", Argv: r.Command, Files: files[i]}, j); err != nil {
			return fmt.Errorf("start process %d of %d: %w", i+1, r.Procs, err)
		}
	}
	return nil
}
