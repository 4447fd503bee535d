package chat

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
)

// Run lets them chat. It fails when the options are invalid, when a process
// fails, when ctx ends, and when not every message was heard as it was said;
// then the Result is returned as well. No process outlives it.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	// The processes die with the thread that started them; see kernel.DieWithParent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &coordinator{result: Result{Options: o}}
	err := c.run(ctx)
	if ctx.Err() != nil {
		err = fmt.Errorf("chat: %w", context.Cause(ctx))
	}
	if err != nil {
		return c.result, err
	}
	return c.result, c.result.Check()
}

type coordinator struct {
	result Result
	peers  []*peer
}

func (c *coordinator) run(ctx context.Context) (err error) {
	configs, err := c.plan()
	if err != nil {
		return err
	}
	finish, err := c.aggregate(configs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel() // kill them
		}
		err = errors.Join(err, c.end(err != nil))
		cancel()
	}()
	for i, config := range configs {
		if config.Role == client {
			config.Address = c.peers[i-1].address
		}
		if err := c.start(ctx, config); err != nil {
			return err
		}
	}
	for _, p := range c.peers {
		if r, err := p.expect(); err != nil || !r.Ready {
			return failed(err)
		}
	}
	for _, p := range c.peers {
		if err := p.say("go"); err != nil {
			return err
		}
	}
	return c.collect()
}

// collect sums up what the processes did. The time is the clients' from the
// first one's begin to the last one's end.
func (c *coordinator) collect() error {
	r := &c.result
	var begin, end int64
	for i, p := range c.peers {
		line, err := p.expect()
		if err != nil || line.Result == nil {
			return failed(err)
		}
		part := line.Result
		r.Heard, r.Checksum, r.Threads = r.Heard+part.Heard, r.Checksum+part.Sum, r.Threads+part.Threads
		r.Processes[i].Migrations = part.Migrations
		if p.role == server {
			continue
		}
		if begin == 0 || part.BeginNs < begin {
			begin = part.BeginNs
		}
		end = max(end, part.EndNs)
	}
	r.Seconds = time.Duration(end - begin).Seconds()
	r.PerS = float64(r.Heard) / r.Seconds
	return nil
}

// failed is the error of a line that is not the one to come.
func failed(err error) error {
	if err == nil {
		err = errors.New("a process of the chat said what it should not")
	}
	return err
}

// peer is a started process.
type peer struct {
	role    role
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Reader
	stderr  strings.Builder
	address string
}

// killWait is how long a killed process may take to let go of its pipes.
const killWait = 5 * time.Second

func (c *coordinator) start(ctx context.Context, config config) error {
	command := c.result.Command
	if len(command) == 0 {
		return errors.New("chat has no command to start its processes with")
	}
	p := &peer{role: config.Role, cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.WaitDelay = killWait
	p.cmd.Stderr = &p.stderr
	p.cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	kernel.DieWithParent(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.in, p.lines = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start a %s: %w", p.role, err)
	}
	c.peers = append(c.peers, p)
	if err := p.say(config); err != nil {
		return err
	}
	if p.role == server {
		r, err := p.expect()
		if err != nil || r.Address == "" {
			return failed(err)
		}
		p.address = r.Address
	}
	return nil
}

func (p *peer) say(what any) error {
	if err := json.NewEncoder(p.in).Encode(what); err != nil {
		return fmt.Errorf("tell a %s: %w", p.role, err)
	}
	return nil
}

// expect reads the process's next line.
func (p *peer) expect() (report, error) {
	var r report
	line, err := p.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		return r, fmt.Errorf("a %s ended without a result: %w", p.role, err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// end lets the processes go, or has them killed, waits for all of them, and adds
// up what they used.
func (c *coordinator) end(killed bool) error {
	var failure error
	for _, p := range c.peers {
		_ = p.in.Close()
	}
	for i, p := range c.peers {
		err := p.cmd.Wait()
		if err != nil && !killed && failure == nil {
			first, _, _ := strings.Cut(p.stderr.String(), "\n")
			failure = fmt.Errorf("a %s failed: %w (%s)", p.role, err, first)
		}
		if p.cmd.ProcessState == nil {
			continue
		}
		u := &c.result.Processes[i]
		used := kernel.UsageOf(p.cmd.ProcessState)
		u.UserSeconds, u.SystemSeconds = used.User.Seconds(), used.System.Seconds()
		u.Voluntary, u.Involuntary = used.Voluntary, used.Involuntary
		c.result.Sum.add(*u)
	}
	return failure
}

func (u *Usage) add(o Usage) {
	u.UserSeconds += o.UserSeconds
	u.SystemSeconds += o.SystemSeconds
	u.Voluntary += o.Voluntary
	u.Involuntary += o.Involuntary
	u.Migrations += o.Migrations
}

// allowed are the CPUs that the process may use, so that a placement from outside
// still holds.
func (c *coordinator) allowed() ([]cpuset.CPU, error) {
	cpus, err := c.result.Scheduler.Affinity(calling)
	if err != nil {
		return nil, fmt.Errorf("find the CPUs to map threads to: %w", err)
	}
	return cpus.CPUs(), nil
}
