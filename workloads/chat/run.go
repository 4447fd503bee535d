package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Run lets them chat. It fails when Validate does, when a process fails, when ctx
// ends, and when not every message was heard as it was said; then the Result is
// returned as well. No process outlives it.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
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
	server listening // the last one
}

func (c *coordinator) run(ctx context.Context) (err error) {
	configs, err := c.plan()
	if err != nil {
		return err
	}
	finish := c.aggregate(configs)
	defer func() { err = errors.Join(err, finish()) }()
	parts, err := child.Together[part](ctx, func(ctx context.Context, g *child.Group) error {
		for _, config := range configs {
			if err := c.start(ctx, g, config); err != nil {
				return err
			}
		}
		return nil
	}, c.used)
	if err == nil {
		c.sum(configs, parts)
	}
	for _, u := range c.result.Processes { // now that all of each is known
		c.result.Sum.add(u)
	}
	return err
}

// start starts a process. A pair's server comes before its client, which needs
// to know the server's address.
func (c *coordinator) start(ctx context.Context, g *child.Group, config config) error {
	if config.Role == client {
		config.Address = c.server.Address
	}
	p, err := g.Start(ctx, child.Command{Name: string(config.Role), Argv: c.result.Command}, config)
	if err != nil || config.Role == client {
		return err
	}
	return p.Expect(&c.server)
}

// sum sums up what the processes did. The time is the clients' from the
// first one's begin to the last one's end.
func (c *coordinator) sum(configs []config, parts []part) {
	r := &c.result
	var begin, end int64
	for i, part := range parts {
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
}

func (c *coordinator) used(i int, used kernel.Usage) {
	u := &c.result.Processes[i]
	u.UserSeconds, u.SystemSeconds = used.User.Seconds(), used.System.Seconds()
	u.Voluntary, u.Involuntary = used.Voluntary, used.Involuntary
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
	cpus, err := c.result.Scheduler.Affinity(kernel.Calling)
	if err != nil {
		return nil, fmt.Errorf("find the CPUs to map threads to: %w", err)
	}
	return cpus.CPUs(), nil
}
