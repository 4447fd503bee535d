package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"piton/internal/child"
	"piton/internal/kernel"
	"piton/internal/pattern"
	"piton/internal/sample"
	"piton/workloads/workload"
)

// CommandWorkload is the workload of a study of the user's own program; its Args
// are the program's command line.
const CommandWorkload = "run"

// Figure is where a command's metric is in what it prints. The zero Figure means
// that the time from start to end is compared.
type Figure struct {
	Pattern        string // a regular expression (regexp/syntax); its first group, or all of it, is a number
	Unit           string
	HigherIsBetter bool
}

// Validate says in one sentence what is wrong with the figure.
func (f Figure) Validate() error {
	if f.Pattern == "" {
		if f != (Figure{}) {
			return errors.New("a unit or direction needs a metric")
		}
		return nil
	}
	re, err := pattern.Compile(f.Pattern)
	if err != nil {
		return fmt.Errorf("the metric is not a regular expression: %w", err)
	}
	if re.NumSubexp() > 1 {
		return fmt.Errorf("the metric %s has %d groups; use one at most", f.Pattern, re.NumSubexp())
	}
	return nil
}

func (f Figure) metric() workload.Metric {
	if f.Pattern == "" {
		return workload.Metric{}
	}
	return workload.Metric{Name: f.Pattern, Unit: f.Unit, HigherIsBetter: f.HigherIsBetter}
}

// find returns the figure that was printed last.
func (f Figure) find(output []byte) (float64, error) {
	re, err := pattern.Compile(f.Pattern)
	if err != nil {
		return 0, err
	}
	all := re.FindAllSubmatch(output, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("no output matches %s", f.Pattern)
	}
	text := strings.TrimSpace(string(all[len(all)-1][re.NumSubexp()]))
	v, ok := parseNumber(strings.ReplaceAll(text, ",", "")) // "12,345.6" as many print
	if !ok {
		return 0, fmt.Errorf("%q matches %s but is not a number", text, f.Pattern)
	}
	return v, nil
}

// parseNumber reads a figure. "nan" and "inf" are none: they cannot be ranked,
// and JSON has no word for them.
func parseNumber(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

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

// keepOutput is how much of the end of a command's output is searched for the
// figure.
const keepOutput = 1 << 20

// lastBytes keeps the last bytes written to it.
type lastBytes struct{ b []byte }

func (t *lastBytes) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - 2*keepOutput; over > 0 {
		t.b = append(t.b[:0], t.b[len(t.b)-keepOutput:]...)
	}
	return len(p), nil
}

// outputWait is how long a command's output may stay open after its end, in the
// hands of a process that it left behind.
const outputWait = time.Second

// follow follows a command from the gate to its end.
func (r *Runner) follow(ctx context.Context, p *child.Process, f Figure, run *RunResult) error {
	var output lastBytes
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&output, p.Output)
	}()
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
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.Pattern == "" {
		return nil
	}
	v, err := f.find(output.b)
	run.Metric = v
	return err
}
