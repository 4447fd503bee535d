package bench

import (
	"bufio"
	"cmp"
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

	"piton/internal/kernel"
)

// killWait is how long a killed child may take to close its pipes; one in
// an uninterruptible sleep does not hold piton up for longer.
const killWait = 5 * time.Second

var errTimeout = errors.New("time limit")

// runOne starts one child, places it, lets it go and measures it. What goes
// wrong is in the result's Err.
func (r *Runner) runOne(ctx context.Context, study Study, s slot, started func(RunResult)) RunResult {
	// The child dies with the thread that started it; see kernel.DieWithParent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	run := RunResult{Workload: study.Workload, Placement: s.placement, Index: s.index, Started: time.Now()}
	if study.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, study.Timeout, errTimeout)
		defer cancel()
	}
	c, err := r.start(ctx, study)
	if err != nil {
		run.Err = err.Error()
		return run
	}
	run.PID = kernel.TID(c.cmd.Process.Pid)
	err = r.measure(ctx, c, study, &run, started)
	usage, waitErr := c.end(err != nil)
	if c.release != nil {
		err = cmp.Or(err, c.release())
	}
	run.User, run.System = usage.User, usage.System
	run.Voluntary, run.Involuntary = usage.Voluntary, usage.Involuntary
	run.MinorFaults, run.MajorFaults, run.MaxRSSBytes = usage.MinorFaults, usage.MajorFaults, usage.MaxRSSBytes
	run.Err = failure(ctx, study, err, waitErr, c.stderr.String())
	return run
}

// measure follows the three steps of ChildMain from outside.
func (r *Runner) measure(ctx context.Context, c *child, study Study, run *RunResult, started func(RunResult)) error {
	if _, err := c.expect("ready"); err != nil {
		return err
	}
	spec, err := ParsePlacement(string(run.Placement))
	if err != nil {
		return err
	}
	placed, err := r.Place(ctx, run.PID, spec)
	if err != nil {
		return fmt.Errorf("placement %s: %w", run.Placement, err)
	}
	c.release = placed.Release
	run.CPUs, run.Reason = placed.CPUs, placed.Reason
	want, err := r.stateOf(run.PID)
	if err != nil {
		return err
	}
	before := r.count(run.PID)
	if study.Counters {
		p := openPerf(r.Proc, run.PID, groups)
		defer func() { p.into(run) }()
	}
	started(*run)

	host := readHostTicks(r.Proc)
	if study.Workload == CommandWorkload {
		err := r.command(ctx, c, study.Figure, run)
		run.StealShare, run.HaveSteal = readHostTicks(r.Proc).stolen(host)
		return err
	}
	start := time.Now()
	if _, err := c.gate.Write([]byte{'g'}); err != nil {
		return fmt.Errorf("start the work: %w", err)
	}
	m, err := c.expect("result")
	run.Wall = time.Since(start)
	if err != nil {
		return err
	}
	r.count(run.PID).since(before, run)
	run.StealShare, run.HaveSteal = readHostTicks(r.Proc).stolen(host)
	run.TouchedWhat = r.touched(run.PID, want)
	run.Touched = run.TouchedWhat != ""
	run.Answer, run.Seconds, run.Metric, run.Detail = m.Answer, m.Seconds, m.Value, m.Detail
	if m.Error != "" {
		return errors.New(m.Error)
	}
	return nil
}

// failure words what went wrong, "" if nothing did.
func failure(ctx context.Context, study Study, err, waitErr error, stderr string) string {
	switch {
	case err == nil && waitErr == nil:
		return ""
	case errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Sprintf("stopped after the time limit of %s", study.Timeout)
	case err == nil:
		err = waitErr
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("it ended without an answer: %w", waitErr)
	}
	if stderr = strings.TrimSpace(stderr); stderr != "" {
		first, _, _ := strings.Cut(stderr, "\n")
		return fmt.Sprintf("%v (%s)", err, first)
	}
	return err.Error()
}

// child is a started workload.
type child struct {
	cmd     *exec.Cmd
	gate    io.WriteCloser
	lines   *bufio.Reader
	stderr  head
	group   *kernel.Group // of a command: workloads start nothing that outlives their gate
	release func() error
}

func (r *Runner) start(ctx context.Context, study Study) (*child, error) {
	argv := append(append([]string{}, r.Command...), study.Workload)
	argv = append(argv, study.Args...)
	c := &child{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	c.cmd.WaitDelay = killWait
	if c.cmd.Env = r.Env; study.Workload != CommandWorkload {
		c.cmd.Env = withoutPreemption(r.Env)
	}
	c.cmd.Stderr = &c.stderr
	kernel.DieWithParent(c.cmd)
	if study.Workload == CommandWorkload {
		c.group = kernel.OwnGroup(c.cmd)
	}
	gate, done, err := openGate(c.cmd, study)
	if err != nil {
		return nil, fmt.Errorf("start the workload: %w", err)
	}
	defer done()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the workload: %w", err)
	}
	c.gate, c.lines = gate, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the workload: %w", err)
	}
	return c, nil
}

// openGate makes the pipe that the child waits on: its standard input, or for a
// command gateFD. done is to be called once the child has started.
func openGate(cmd *exec.Cmd, study Study) (gate io.WriteCloser, done func(), err error) {
	if study.Workload != CommandWorkload {
		gate, err = cmd.StdinPipe()
		return gate, func() {}, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.ExtraFiles = []*os.File{read} // the first is gateFD
	return write, func() { _ = read.Close() }, nil
}

// withoutPreemption asks the child's Go runtime not to interrupt loops every
// 10 ms to schedule goroutines: each has a thread of its own, and the kernel's
// scheduling is what is measured. With it, 20 threads multiplying for half a
// second made 860 voluntary switches and 110 migrations instead of 280 and 50.
func withoutPreemption(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	settings := "asyncpreemptoff=1"
	for _, kv := range env {
		if old, ok := strings.CutPrefix(kv, "GODEBUG="); ok && old != "" {
			settings = old + "," + settings
		}
	}
	return append(append([]string{}, env...), "GODEBUG="+settings)
}

// expect reads the next line, which must be of the type.
func (c *child) expect(kind string) (message, error) {
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		return message{}, fmt.Errorf("read its %s line: %w", kind, err)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("read its %s line: it printed %.80q", kind, line)
	}
	if m.Type == "result" && m.Error != "" && kind != "result" {
		return message{}, errors.New(m.Error)
	}
	if m.Type != kind {
		return message{}, fmt.Errorf("read its %s line: it printed one of type %q", kind, m.Type)
	}
	return m, nil
}

// end lets the child go, or kills it and a command's group, and waits for it.
func (c *child) end(kill bool) (kernel.Usage, error) {
	_ = c.gate.Close()
	stop, wait := c.cmd.Process.Kill, c.cmd.Wait
	if c.group != nil {
		stop, wait = c.group.Kill, c.group.Wait
	}
	if kill {
		_ = stop() // it may have ended by itself
	}
	err := wait()
	if c.cmd.ProcessState == nil {
		return kernel.Usage{}, err
	}
	return kernel.UsageOf(c.cmd.ProcessState), err
}

// head keeps the first bytes written to it.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	const most = 4096
	h.b = append(h.b, p[:min(len(p), most-len(h.b))]...)
	return len(p), nil
}

func (h *head) String() string { return string(h.b) }
