package stripio

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Run lets the applications read and merge. It fails when Validate does, when a
// process fails, when ctx ends, and when what was merged is not what the files
// hold; then the Result is returned as well. No process and no memory outlives it.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	c := &coordinator{result: Result{Options: o}}
	err := c.run(ctx)
	if ctx.Err() != nil {
		err = fmt.Errorf("merge strips: %w", context.Cause(ctx))
	}
	return c.result, err
}

type coordinator struct {
	result Result
	cpus   []cpuset.CPU
	disk   *disk
	merges []bool // by process
}

func (c *coordinator) run(ctx context.Context) (err error) {
	r := &c.result
	cpus, err := r.Scheduler.Affinity(kernel.Calling)
	if err != nil {
		return fmt.Errorf("find the CPUs to use: %w", err)
	}
	c.cpus = cpus.CPUs()
	r.predict(r.Scheduler, c.cpus)
	c.disk, err = newDisk(r.Files)
	defer c.disk.close()
	if err != nil {
		return err
	}
	var used kernel.Usage
	parts, err := child.Together[part](ctx, func(ctx context.Context, g *child.Group) error {
		for app := range r.Apps {
			if err := c.startApp(ctx, g, app); err != nil {
				return err
			}
		}
		return nil
	}, func(_ int, u kernel.Usage) {
		used.User, used.System = used.User+u.User, used.System+u.System
		used.Voluntary, used.Involuntary = used.Voluntary+u.Voluntary, used.Involuntary+u.Involuntary
	})
	if err == nil {
		err = c.sum(parts)
	}
	r.Voluntary, r.Involuntary = used.Voluntary, used.Involuntary
	if r.Seconds > 0 {
		r.CPUPercent = 100 * (used.User + used.System).Seconds() / r.Seconds / float64(len(c.cpus))
	}
	return err
}

func (o Options) strips() int { return o.MiB * perTransfer }

func (c *coordinator) startApp(ctx context.Context, g *child.Group, app int) error {
	memory, err := kernel.SharedMemory("stripio-ring", ringBytes)
	if err != nil {
		return err
	}
	defer memory.Close() // the processes have it
	r := &c.result
	one := config{App: app, Strips: r.strips(), Files: r.Files, Reads: true, Merges: true}
	one.ReaderCPU, one.MergerCPU = deal(r.Mapping, c.cpus, app)
	all := []config{one}
	if r.Mode == Processes {
		all = []config{one, one}
		all[0].Merges, all[1].Reads = false, false
	}
	for _, config := range all {
		files := []*os.File{memory}
		if config.Reads {
			files = append(files, c.disk.files...)
		}
		c.merges = append(c.merges, config.Merges)
		if _, err := g.Start(ctx, child.Command{Name: "process of an application", Argv: r.Command, Files: files}, config); err != nil {
			return err
		}
	}
	return nil
}

// deal returns the CPUs of an application's reader and merger, -1 for none.
func deal(m Mapping, cpus []cpuset.CPU, app int) (reader, merger int) {
	cpu := func(i int) int { return int(cpus[i%len(cpus)]) }
	switch m {
	case Source:
		return cpu(app), cpu(app)
	case Apart:
		return cpu(app + 1), cpu(app)
	}
	return -1, -1
}

func (c *coordinator) sum(parts []part) error {
	r := &c.result
	var begin, end int64
	var want, missed uint64
	for i, part := range parts {
		if begin == 0 || part.BeginNs < begin {
			begin = part.BeginNs
		}
		end = max(end, part.EndNs)
		missed += part.Misses
		r.MissesWhy = cmp.Or(r.MissesWhy, part.MissesWhy)
		if c.merges[i] {
			r.Checksum += part.Checksum
			r.Transfers += r.MiB
		}
	}
	for app := range r.Apps {
		want += c.disk.expected(app, r.strips())
	}
	if r.MissesWhy == "" {
		r.Misses = &missed
	}
	r.Seconds = time.Duration(end - begin).Seconds()
	r.MBs = float64(r.Transfers) * TransferBytes / 1e6 / r.Seconds
	if r.Model != nil {
		r.Model.MostRequests = MostRequests(r.MBs*1e6, r.Model.Servers, StripBytes)
	}
	if r.Checksum != want {
		return fmt.Errorf("the checksum of what was merged is %x where it must be %x", r.Checksum, want)
	}
	return nil
}
