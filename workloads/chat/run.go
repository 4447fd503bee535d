package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/workloads/internal/peer"
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
	peers  peer.Group
	server listening // the last one
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
		err = cmp.Or(err, c.end())
		cancel()
	}()
	for _, config := range configs {
		if err := c.start(ctx, config); err != nil {
			return err
		}
	}
	if err := c.peers.Go(); err != nil {
		return err
	}
	return c.collect(configs)
}

// start starts a process. A pair's server comes before its client, which needs
// to know the server's address.
func (c *coordinator) start(ctx context.Context, config config) error {
	p, err := peer.Start(ctx, string(config.Role), c.result.Command)
	if err != nil {
		return err
	}
	c.peers = append(c.peers, p)
	if config.Role == client {
		config.Address = c.server.Address
	}
	if err := p.Say(config); err != nil || config.Role == client {
		return err
	}
	return p.Expect(&c.server)
}

// collect sums up what the processes did. The time is the clients' from the
// first one's begin to the last one's end.
func (c *coordinator) collect(configs []config) error {
	r := &c.result
	var begin, end int64
	for i, p := range c.peers {
		var part part
		if err := p.Expect(&part); err != nil {
			return err
		}
		r.Heard, r.Checksum, r.Threads = r.Heard+part.Heard, r.Checksum+part.Sum, r.Threads+part.Threads
		r.Processes[i].Migrations = part.Migrations
		if configs[i].Role == server {
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

// end lets the processes go, waits for all of them, and adds up what they used.
func (c *coordinator) end() error {
	return c.peers.End(func(i int, used kernel.Usage) {
		u := &c.result.Processes[i]
		u.UserSeconds, u.SystemSeconds = used.User.Seconds(), used.System.Seconds()
		u.Voluntary, u.Involuntary = used.Voluntary, used.Involuntary
		c.result.Sum.add(*u)
	})
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
