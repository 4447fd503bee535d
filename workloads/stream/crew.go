package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// chunk is how many elements a thread works on before it looks at the context:
// 32 MiB of each array, some milliseconds.
const chunk = 4 << 20

// page is the elements of one: threads do not share any.
const page = 4096 / 8

// crew are the threads that the arrays are shared out to: the caller's, which
// is number 0, and helpers. All keep their OS threads until dismissed.
type crew struct {
	scheduler  kernel.Own
	from, home cpuset.Set
	orders     []chan func(thread int) // to the helpers
	done       sync.WaitGroup          // with the order
	gone       sync.WaitGroup
	leave      func()
}

// assemble starts the threads, on CPUs of from if it is not empty. The caller's
// goroutine has its OS thread to itself from here to dismiss.
func assemble(o Options, from cpuset.Set) (*crew, error) {
	c := &crew{scheduler: o.Scheduler, from: from, orders: make([]chan func(int), o.Threads-1)}
	failures := make([]error, o.Threads)
	if !from.Empty() {
		if c.home, failures[0] = o.Scheduler.Affinity(kernel.Calling); failures[0] != nil {
			return nil, fmt.Errorf("find the CPUs to come back to: %w", failures[0])
		}
	}
	var ready sync.WaitGroup
	ready.Add(len(c.orders))
	for i := range c.orders {
		c.orders[i] = make(chan func(int))
		c.gone.Go(func() {
			leave, err := c.enter()
			defer leave()
			failures[i+1] = err
			ready.Done()
			for work := range c.orders[i] {
				work(i + 1)
				c.done.Done()
			}
		})
	}
	c.leave, failures[0] = c.enter()
	ready.Wait()
	if err := errors.Join(failures...); err != nil {
		c.dismiss()
		return nil, fmt.Errorf("go to CPUs %s: %w", from, err)
	}
	return c, nil
}

// enter locks the calling goroutine to its OS thread and puts that on the CPUs;
// leave undoes both. A thread that does not get its CPUs back stays locked, so
// that it ends with its goroutine.
func (c *crew) enter() (leave func(), err error) {
	runtime.LockOSThread()
	if c.from.Empty() {
		return runtime.UnlockOSThread, nil
	}
	if err := c.scheduler.SetAffinity(kernel.Calling, c.from); err != nil {
		return runtime.UnlockOSThread, err
	}
	return func() {
		if c.scheduler.SetAffinity(kernel.Calling, c.home) == nil {
			runtime.UnlockOSThread()
		}
	}, nil
}

// each shares n elements out, in whole pages, and runs work on chunks of each
// thread's share until ctx ends.
func (c *crew) each(ctx context.Context, n int, work func(first, end int)) {
	pages, threads := n/page, len(c.orders)+1
	share := func(t int) {
		first, end := pages*t/threads*page, pages*(t+1)/threads*page
		for ; first < end && ctx.Err() == nil; first += chunk {
			work(first, min(first+chunk, end))
		}
	}
	c.done.Add(len(c.orders))
	for _, o := range c.orders {
		o <- share
	}
	share(0)
	c.done.Wait()
}

func (c *crew) dismiss() {
	for _, o := range c.orders {
		close(o)
	}
	c.gone.Wait()
	c.leave()
}
