package matrix

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// share runs work for an equal share of the rows on each of the threads, which
// start together once all of them exist and are mapped.
func share(ctx context.Context, r *Result, work func(ctx context.Context, first, end int)) error {
	cpus, err := r.mapTo()
	if err != nil {
		return err
	}
	r.PerThread = make([]Thread, r.Threads)
	failures := make([]error, r.Threads)
	var ready, done sync.WaitGroup
	ready.Add(r.Threads)
	release := make(chan struct{})
	begin := time.Now()
	for t := range r.Threads {
		first, end := r.N*t/r.Threads, r.N*(t+1)/r.Threads
		done.Go(func() {
			// The thread outlives its work, so that its counters can be read.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			restore, err := r.mapThread(t, cpus)
			failures[t] = err
			ready.Done()
			<-release
			if err != nil {
				return
			}
			start := time.Now()
			work(ctx, first, end)
			r.PerThread[t] = Thread{Rows: end - first, Seconds: time.Since(start).Seconds()}
			failures[t] = restore()
		})
	}
	ready.Wait()
	start := time.Now()
	r.StartSeconds = start.Sub(begin).Seconds()
	close(release)
	done.Wait()
	r.Seconds = time.Since(start).Seconds()
	if err := cmp.Or(failures...); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("multiply %d×%d matrices: %w", r.N, r.N, err)
	}
	return nil
}

// mapTo returns the CPUs that Manual deals out: those the process may run on, so
// that a placement from outside still holds.
func (r *Result) mapTo() (cpuset.Set, error) {
	if r.Mapping != Manual {
		return cpuset.Set{}, nil
	}
	cpus, err := r.Scheduler.Affinity(kernel.Calling)
	if err != nil {
		return cpuset.Set{}, fmt.Errorf("find the CPUs to map threads to: %w", err)
	}
	r.CPUs = cpus.String()
	return cpus, nil
}

// mapThread puts the calling thread on CPU t mod the number of CPUs; restore
// gives it back all of them, so that the Go runtime may use it again.
func (r *Result) mapThread(t int, cpus cpuset.Set) (restore func() error, err error) {
	if r.Mapping != Manual {
		return func() error { return nil }, nil
	}
	list := cpus.CPUs()
	cpu := list[t%len(list)]
	if err := r.Scheduler.SetAffinity(kernel.Calling, cpuset.Of(cpu)); err != nil {
		return nil, fmt.Errorf("map thread %d to CPU %d: %w", t, cpu, err)
	}
	return func() error {
		if err := r.Scheduler.SetAffinity(kernel.Calling, cpus); err != nil {
			return fmt.Errorf("give thread %d its CPUs %s back: %w", t, cpus, err)
		}
		return nil
	}, nil
}
