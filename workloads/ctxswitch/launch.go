package ctxswitch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/workloads/internal/cycle"
)

// job is what a process is to do, its one argument.
type job struct {
	Options
	Index int `json:"index"`
	// With Turns: the counter that all read, and the reading that counts as 0.
	Source cycle.Source `json:"source"`
	Hz     float64      `json:"hz"`
	Base   uint64       `json:"base"`
}

// report is what it says when it is done.
type report struct {
	Index   int     `json:"index"`
	Error   string  `json:"error,omitempty"`
	Tokens  int     `json:"tokens"`
	Sum     uint64  `json:"sum"`
	Ring    *Ring   `json:"ring,omitempty"` // of process 0
	Seconds float64 `json:"seconds"`
	Spans   []span  `json:"spans,omitempty"` // with Turns: when it ran, in ns of the common clock
}

// span is a time from, to.
type span [2]int64

// process is one that was started.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// launch starts the processes on the CPUs, lets them go together and collects
// their reports. When one fails, or ctx ends, all are killed and waited for.
func (r *Result) launch(ctx context.Context, on, home cpuset.Set) (reports []report, err error) {
	// Processes inherit the affinity of the thread that starts them, and die with it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	files, err := r.wires()
	if err != nil {
		return nil, err
	}
	if err := r.Scheduler.SetAffinity(0, on); err != nil {
		closeAll(files)
		return nil, fmt.Errorf("go to CPU %s: %w", on, err)
	}
	procs, startErr := r.startAll(ctx, files)
	// The processes have their own; a pipe must end when they do.
	closeAll(files)
	err = errors.Join(startErr, r.Scheduler.SetAffinity(0, home))
	if err == nil {
		reports, err = converse(procs)
	}
	ended := ctx.Err()
	if err != nil {
		cancel()
	}
	for _, p := range procs {
		_ = p.stdin.Close()
		waitErr := p.cmd.Wait()
		if err == nil && waitErr != nil {
			err = fmt.Errorf("one of the processes: %w", waitErr)
		}
	}
	if ended != nil {
		err = fmt.Errorf("switch between processes: %w", ended)
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

func (r *Result) startAll(ctx context.Context, files [][]*os.File) ([]*process, error) {
	var procs []*process
	counter := cycle.Best(10 * time.Millisecond)
	j := job{Options: r.Options, Source: counter.Source, Hz: counter.Hz, Base: counter.Now()}
	for i := range r.Procs {
		j.Index = i
		p, err := start(ctx, j, files[i])
		if err != nil {
			return procs, fmt.Errorf("start process %d of %d: %w", i+1, r.Procs, err)
		}
		procs = append(procs, p)
	}
	return procs, nil
}

func start(ctx context.Context, j job, files []*os.File) (*process, error) {
	arg, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	argv := append(append([]string{}, j.Command...), string(arg))
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	p.cmd.ExtraFiles = files
	p.cmd.Env = quietRuntime(os.Environ())
	kernel.DieWithParent(p.cmd)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReaderSize(out, 1<<16)
	return p, p.cmd.Start()
}

// quietRuntime asks the Go runtime of the processes not to send signals to running
// goroutines every 10 ms.
func quietRuntime(env []string) []string {
	settings := "asyncpreemptoff=1"
	for _, kv := range env {
		if old, ok := strings.CutPrefix(kv, "GODEBUG="); ok && old != "" {
			settings = old + "," + settings
		}
	}
	return append(append([]string{}, env...), "GODEBUG="+settings)
}

// converse waits until all are ready, lets them go, and reads their reports.
func converse(procs []*process) ([]report, error) {
	for _, p := range procs {
		if err := p.expect(nil); err != nil {
			return nil, err
		}
	}
	for _, p := range procs {
		if _, err := p.stdin.Write([]byte{'g'}); err != nil {
			return nil, fmt.Errorf("let a process go: %w", err)
		}
	}
	reports := make([]report, len(procs))
	errs := make(chan error, len(procs))
	for i, p := range procs {
		go func() { errs <- p.expect(&reports[i]) }()
	}
	for range procs {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// expect reads one line: an empty one that says that the process is ready, or
// its report.
func (p *process) expect(into *report) error {
	line, err := p.stdout.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("a process ended early: %w", err)
	}
	if into == nil {
		if len(line) > 1 {
			var r report
			_ = json.Unmarshal(line, &r)
			return fmt.Errorf("a process could not begin: %s", r.Error)
		}
		return nil
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("a process printed %.60q", line)
	}
	if into.Error != "" {
		return errors.New(into.Error)
	}
	return nil
}
