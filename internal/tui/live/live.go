// Package live runs work beside the screen that tells how far it is.
package live

import (
	"context"
	"sync/atomic"
)

// Job is such work, and its steps. One command has it Work, one at a time waits for Next.
type Job[S any] struct {
	steps   chan S // the newest; an unread one is replaced
	ctx     context.Context
	end     context.CancelCauseFunc
	started atomic.Bool
	done    chan struct{}
}

// New returns a job that has not begun.
func New[S any]() *Job[S] {
	j := &Job[S]{steps: make(chan S, 1), done: make(chan struct{})}
	j.ctx, j.end = context.WithCancelCause(context.Background())
	return j
}

// Work does the work, unless the job has been ended before it began.
func (j *Job[S]) Work(do func(ctx context.Context, tell func(S))) {
	j.started.Store(true)
	defer close(j.done)
	defer close(j.steps)
	if j.ctx.Err() != nil {
		return
	}
	do(j.ctx, func(s S) {
		select {
		case <-j.steps:
		default:
		}
		j.steps <- s
	})
}

// Next waits for the next step; false after the last one.
func (j *Job[S]) Next() (S, bool) {
	s, ok := <-j.steps
	return s, ok
}

// End has the job end soon, for a cause; nil is context.Canceled.
func (j *Job[S]) End(cause error) { j.end(cause) }

// Stop ends the job, and waits until it has.
func (j *Job[S]) Stop() {
	j.end(nil)
	if j.started.Load() {
		<-j.done
	}
}
