package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"piton/internal/bench"
	"piton/internal/child"
	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/watch"
)

// commandMain waits to be told to go and then becomes the command, in the place that
// the process was given. It returns only when that fails.
func commandMain(argv []string, out io.Writer) int {
	gate := os.NewFile(child.GateFD, "gate") // standard input is the command's own
	return child.Main(gate, out, func(c *child.Child) error {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			return err
		}
		if err := c.Ready(); err != nil {
			return err
		}
		_ = gate.Close()
		// In a group of its own it would be stopped for good by a question that it asks
		// at the terminal; ignored, which execve(2) keeps, that is an error to it (EIO).
		signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
		return kernel.Exec(path, argv, os.Environ(), func(kernel.TID) error { return kernel.FollowParent() })
	})
}

const (
	keepOutput = 1 << 20     // bytes of the end of a command's output that are searched for the figure
	outputWait = time.Second // in which it may stay open after the end, in the hands of a process left behind
)

// lastBytes keeps the last bytes written to it.
type lastBytes struct{ b []byte }

func (t *lastBytes) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - 2*keepOutput; over > 0 {
		t.b = append(t.b[:0], t.b[len(t.b)-keepOutput:]...)
	}
	return len(p), nil
}

func (r *Runner) follow(ctx context.Context, p *child.Process, f bench.Figure, run *bench.RunResult) (err error) {
	var output lastBytes
	read := make(chan struct{})
	go func() {
		defer crash.Handle()
		defer close(read)
		_, _ = io.Copy(&output, p.Output)
	}()
	var m Meter
	rate, isRate := SpanRate(f.Pattern)
	if isRate {
		if m, err = rate.Open(r.Proc, watch.Targets{IDs: []kernel.TID{run.PID}, Scope: watch.Tree}); err != nil {
			return err
		}
		defer m.Close()
	}
	start := time.Now()
	if err := p.Go(); err != nil {
		return err
	}
	if _, err := kernel.AwaitExit(run.PID); err != nil {
		return fmt.Errorf("wait for it: %w", err)
	}
	run.Wall = time.Since(start)
	select {
	case <-read:
	case <-time.After(outputWait):
		return errors.New("a child process of it keeps its output open")
	}
	// Its threads are gone and took what they counted along.
	run.MigrationSource = sample.SourceNone.String()
	run.Seconds, run.Metric = run.Wall.Seconds(), run.Wall.Seconds()
	switch {
	case ctx.Err() != nil || f.Pattern == "":
		return ctx.Err()
	case isRate:
		run.Metric, err = m.Grown()
		return err
	}
	run.Metric, err = f.Find(output.b)
	return err
}
