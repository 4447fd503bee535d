// Package child starts processes of piton itself and talks with them in lines of
// JSON, one at a time: the process is told what to do, says that it is ready, is told
// to go, and says what came of it. It lives until its input is closed, so that its
// threads can still be looked at, and ends when its parent does.
//
// Benchmarks run workloads as such processes, and workloads run further ones of their
// own. Start at Start, or at Together for several; Child is the other end.
package child

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
	"strings"
	"time"

	"piton/internal/kernel"
)

// Command is what to start.
type Command struct {
	Name  string // in errors: "server"; "" for the workload itself, whose errors stand alone
	Argv  []string
	Env   []string   // nil = this process's
	Files []*os.File // its descriptors 3, 4 and so on; not with Foreign
	// Foreign is a process that becomes a program that is not piton's: it has a process
	// group and standard input of its own, and waits at GateFD.
	Foreign bool
	// Mute is a process that is only started and ended: it has Env as it is, and its
	// output and errors go to /dev/null, so that it takes up one pipe, its input.
	Mute bool
}

// GateFD is where a Foreign process is told to go.
const GateFD = 3

// killWait is how long a killed process may take to close its pipes; one in an
// uninterruptible sleep does not hold piton up for longer.
const killWait = 5 * time.Second

// Process is a started process.
type Process struct {
	PID    kernel.TID
	Output *bufio.Reader // what it prints: lines of this package, and then a Foreign one's own; nil of a Mute one

	name   string
	cmd    *exec.Cmd
	group  *kernel.Group // of a Foreign one
	in     io.WriteCloser
	stderr head
}

// Start starts a process. It is killed when ctx ends, and when the calling thread
// does: the caller is locked to its OS thread from Start to End.
func Start(ctx context.Context, c Command) (*Process, error) {
	p := &Process{name: c.Name}
	if len(c.Argv) == 0 {
		return nil, fmt.Errorf("no command to start %s with", p.subject())
	}
	p.cmd = exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	p.cmd.WaitDelay, p.cmd.ExtraFiles = killWait, c.Files
	if p.cmd.Env = c.Env; !c.Foreign && !c.Mute {
		p.cmd.Env = withoutPreemption(c.Env)
	}
	kernel.DieWithParent(p.cmd)
	if err := p.start(c); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.subject(), err)
	}
	p.PID = kernel.TID(p.cmd.Process.Pid)
	return p, nil
}

func (p *Process) start(c Command) (err error) {
	if c.Foreign {
		read, write, err := os.Pipe()
		if err != nil {
			return err
		}
		defer read.Close()                               // the process has it
		p.in, p.cmd.ExtraFiles = write, []*os.File{read} // the first is GateFD
		p.group = kernel.OwnGroup(p.cmd)
	} else if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if !c.Mute {
		err = p.listen()
	}
	if err == nil {
		err = kernel.Start(p.cmd)
	}
	if err != nil {
		p.Release()
	}
	return err
}

// listen makes the pipes of the process's output and errors.
func (p *Process) listen() error {
	out, err := p.cmd.StdoutPipe()
	p.Output, p.cmd.Stderr = bufio.NewReader(out), &p.stderr
	return err
}

func (p *Process) subject() string {
	if p.name == "" {
		return "the workload"
	}
	return "a " + p.name
}

// withoutPreemption asks the process's Go runtime not to interrupt loops every 10 ms
// to schedule goroutines: each has a thread of its own, and the kernel's scheduling is
// what is measured. With it, 20 threads multiplying for half a second made 860
// voluntary switches and 110 migrations instead of 280 and 50.
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

// Say writes a line to the process.
func (p *Process) Say(what any) error {
	if err := json.NewEncoder(p.in).Encode(what); err != nil {
		return fmt.Errorf("write to %s: %w", p.subject(), err)
	}
	return nil
}

// Go tells the process to go.
func (p *Process) Go() error { return p.Say("go") }

// line is what each line of a process may be beside its own.
type line struct {
	Error string `json:"error,omitempty"`
	Ready bool   `json:"ready,omitempty"`
}

// Expect reads the process's next line into what, also where that has an error.
func (p *Process) Expect(what any) error {
	_, err := p.expect(what)
	return err
}

// ExpectReady reads the next line, which must be that it is ready.
func (p *Process) ExpectReady() error {
	var own json.RawMessage
	l, err := p.expect(&own)
	if err == nil && !l.Ready {
		err = fmt.Errorf("%s printed %.80q", p.subject(), own)
	}
	return err
}

func (p *Process) expect(what any) (l line, err error) {
	text, err := p.Output.ReadBytes('\n')
	if err != nil {
		return l, &endError{p, err}
	}
	if errors.Join(json.Unmarshal(text, &l), json.Unmarshal(text, what)) != nil {
		return l, fmt.Errorf("%s printed %.80q", p.subject(), text)
	}
	if l.Error == "" {
		return l, nil
	}
	if p.name != "" {
		l.Error = p.name + ": " + l.Error
	}
	return l, errors.New(l.Error)
}

// endError is that a process ended where a line of it was due.
type endError struct {
	process *Process
	err     error
}

func (e *endError) Error() string {
	return fmt.Sprintf("%s ended without an answer: %v", e.process.subject(), e.err)
}

func (e *endError) Unwrap() error { return e.err }

// Release lets the process end.
func (p *Process) Release() { _ = p.in.Close() }

// End releases the process, or kills it and a Foreign one's group, waits for it and
// returns what it used.
func (p *Process) End(kill bool) (kernel.Usage, error) {
	p.Release()
	stop, wait := p.cmd.Process.Kill, p.cmd.Wait
	if p.group != nil {
		stop, wait = p.group.Kill, p.group.Wait
	}
	if kill {
		_ = stop() // it may have ended by itself
	}
	err := wait()
	if p.cmd.ProcessState == nil {
		return kernel.Usage{}, err
	}
	return kernel.UsageOf(p.cmd.ProcessState), err
}

// Complaint is the first line that the process wrote to its standard error, once it
// has been waited for.
func (p *Process) Complaint() string {
	first, _, _ := strings.Cut(strings.TrimSpace(string(p.stderr)), "\n")
	return first
}

// head keeps the first bytes written to it.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	const most = 4096
	*h = append(*h, p[:min(len(p), most-len(*h))]...)
	return len(p), nil
}

// with adds what the process complained of to an error.
func (p *Process) with(err error) error {
	return fmt.Errorf("%s failed: %w (%s)", p.subject(), err, cmp.Or(p.Complaint(), "no message"))
}
