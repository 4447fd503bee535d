// Package peer starts further processes of a workload and talks with them in
// lines of JSON: the process is told what to do, says what it has prepared and
// that it is ready, is told to go, and says what it did; it lives until its
// input is closed, so that its threads can still be looked at.
//
// It is no workload: those of several processes share it. Start at Start; Child
// is the other end.
package peer

import (
	"bufio"
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

// Process is a started process.
type Process struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Reader
	stderr strings.Builder
}

// killWait is how long a killed process may take to let go of its pipes.
const killWait = 5 * time.Second

// Start starts command, which is to be called name in errors, with the files as
// its descriptors 3, 4 and so on. It is killed when ctx ends, and when the
// calling thread does: the caller is locked to its OS thread from Start to Wait.
// Go's signals for turns of goroutines are off in it.
func Start(ctx context.Context, name string, command []string, files ...*os.File) (*Process, error) {
	if len(command) == 0 {
		return nil, fmt.Errorf("there is no command to start a %s with", name)
	}
	p := &Process{name: name, cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.WaitDelay = killWait
	p.cmd.Stderr = &p.stderr
	p.cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	p.cmd.ExtraFiles = files
	kernel.DieWithParent(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a %s: %w", name, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a %s: %w", name, err)
	}
	p.in, p.lines = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a %s: %w", name, err)
	}
	return p, nil
}

// Say writes a line to the process.
func (p *Process) Say(what any) error {
	if err := json.NewEncoder(p.in).Encode(what); err != nil {
		return fmt.Errorf("tell a %s: %w", p.name, err)
	}
	return nil
}

// line is what each line of a process may be beside its own.
type line struct {
	Error string
	Ready bool
}

// Expect reads the process's next line into what.
func (p *Process) Expect(what any) error {
	_, err := p.expect(what)
	return err
}

// ExpectReady reads the next line, which must be that it is ready.
func (p *Process) ExpectReady() error {
	var nothing any
	l, err := p.expect(&nothing)
	if err == nil && !l.Ready {
		err = fmt.Errorf("a %s said what it should not", p.name)
	}
	return err
}

func (p *Process) expect(what any) (l line, err error) {
	text, err := p.lines.ReadBytes('\n')
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &l), json.Unmarshal(text, what))
	}
	if err != nil {
		return l, fmt.Errorf("a %s ended without a result: %w", p.name, err)
	}
	if l.Error != "" {
		return l, fmt.Errorf("%s: %s", p.name, l.Error)
	}
	return l, nil
}

// Release lets the process end.
func (p *Process) Release() { _ = p.in.Close() }

// Wait releases it, waits for its end, and returns what it used.
func (p *Process) Wait() (kernel.Usage, error) {
	p.Release()
	err := p.cmd.Wait()
	if err != nil {
		first, _, _ := strings.Cut(p.stderr.String(), "\n")
		err = fmt.Errorf("a %s failed: %w (%s)", p.name, err, first)
	}
	if p.cmd.ProcessState == nil {
		return kernel.Usage{}, err
	}
	return kernel.UsageOf(p.cmd.ProcessState), err
}
