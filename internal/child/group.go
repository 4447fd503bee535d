package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"piton/internal/crash"
	"piton/internal/kernel"
)

// Group is processes that begin and end together.
type Group []*Process

// Start starts one more process and tells it what to do.
func (g *Group) Start(ctx context.Context, c Command, todo any) (*Process, error) {
	p, err := Start(ctx, c)
	if err != nil {
		return nil, err
	}
	*g = append(*g, p)
	_ = p.Say(todo) // a process that has ended is found when it is expected to be ready
	return p, nil
}

// Together runs a group. Start starts its processes on the calling thread; they go when
// all of them are ready, and each tells a T. When one fails, or ctx ends, all are
// killed. No process outlives the call; used is told what each used, in the order of
// their start.
func Together[T any](ctx context.Context, start func(context.Context, *Group) error, used func(i int, u kernel.Usage)) (told []T, err error) {
	// The processes die with the thread that started them; see kernel.DieWithParent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g Group
	defer func() {
		if err != nil {
			cancel() // kill them
		}
		failure := g.end(used)
		err = cmp.Or(explain(err), failure)
	}()
	if err := start(ctx, &g); err != nil {
		return nil, err
	}
	for _, p := range g {
		if err := p.ExpectReady(); err != nil {
			return nil, err
		}
	}
	for _, p := range g {
		if err := p.Go(); err != nil {
			return nil, err
		}
	}
	return collect[T](g)
}

// explain adds what a process complained of to the error of its end without an answer.
// The process has been waited for.
func explain(err error) error {
	var end *endError
	if errors.As(err, &end) && end.process.Complaint() != "" {
		return fmt.Errorf("%w (%s)", err, end.process.Complaint())
	}
	return err
}

// collect reads a line from each at once: when one fails, others may wait for it forever.
func collect[T any](g Group) ([]T, error) {
	told := make([]T, len(g))
	errs := make(chan error, len(g))
	for i, p := range g {
		go func() { defer crash.Handle(); errs <- p.Expect(&told[i]) }()
	}
	for range g {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return told, nil
}

// end releases all before it waits for the first, since they may need each other.
func (g Group) end(used func(i int, u kernel.Usage)) error {
	for _, p := range g {
		p.Release()
	}
	var failure error
	for i, p := range g {
		u, err := p.End(false)
		if err != nil {
			failure = cmp.Or(failure, p.with(err))
		}
		if used != nil {
			used(i, u)
		}
	}
	return failure
}
