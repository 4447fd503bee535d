// Package wakeup measures how long threads that are woken wait for a CPU at a paced load, as
// schbench does: message threads give requests at a fixed rate to worker threads that sleep, each
// request is a fixed amount of computing, and what counts is the time from being woken to running.
//
// It makes no scheduling call: where and how the threads run is what is compared. Start at Run.
package wakeup

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"piton/internal/child"
	"piton/internal/kernel"
)

// Limits of Options.
const (
	MaxMessages = 64
	MaxWorkers  = 256
	MaxThreads  = 1024 // in all
	MinRate     = 10
	MaxRate     = 100_000
	MaxKSteps   = 1_000_000
	MinRequests = 100
	MaxRequests = 2_000_000
)

// Options is the work to do.
type Options struct {
	Messages int `json:"messages"` // threads that give out requests
	Workers  int `json:"workers"`  // of each of them
	Rate     int `json:"rate"`     // requests a second of each message thread
	KSteps   int `json:"ksteps"`   // thousands of steps of the generator that a request takes
	Requests int `json:"requests"` // in all
}

// Validate says what is wrong with the options together.
func (o Options) Validate() error {
	if threads := o.Messages * (o.Workers + 1); threads > MaxThreads {
		return fmt.Errorf("%d message threads with %d workers each are %d threads; at most %d are started", o.Messages, o.Workers, threads, MaxThreads)
	}
	return nil
}

// Result is what came out.
type Result struct {
	Options
	Wakeups  Spread  `json:"wakeups"`  // from being woken to running
	Replies  Spread  `json:"replies"`  // from when a request was due to when it was done
	Queued   int     `json:"queued"`   // requests that a worker found when it was done with the one before
	Answer   string  `json:"answer"`   // sum of what the requests computed
	Seconds  float64 `json:"seconds"`  // from the first request's time to the last one's end
	Expected string  `json:"expected"` // what the answer must be
}

// worker is a thread that sleeps until it is given a request. The message thread writes posted and
// given, the worker the rest.
type worker struct {
	posted uint32 // requests so far; what the worker sleeps on
	_      [60]byte
	given  []request
	done   int
	sum    uint64
	woken  []time.Duration
	reply  []time.Duration
}

// request is one piece of work; times are since the run began.
type request struct {
	number      uint64
	due, posted time.Duration
}

// run is what all threads of a run share.
type run struct {
	Options
	began time.Time
	ended atomic.Bool // give up
}

// Run gives out the requests. It fails when ctx ends, and when a request was lost or computed wrongly.
func Run(ctx context.Context, o Options) (Result, error) {
	r := Result{Options: o, Expected: answer(expected(o))}
	if err := o.Validate(); err != nil {
		return r, err
	}
	defer child.ThreadRoom(o.Messages * (o.Workers + 1))()
	x := &run{Options: o}
	crews := make([][]*worker, o.Messages)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for m := range crews {
		for range o.Workers {
			w := &worker{given: make([]request, 0, o.Requests/(o.Messages*o.Workers)+1)}
			crews[m] = append(crews[m], w)
		}
		for k := range x.share(m) { // so that no memory is asked for later
			w := crews[m][k%o.Workers]
			w.given = append(w.given, request{number: x.number(m, k)})
		}
		for _, w := range crews[m] {
			w.woken, w.reply = make([]time.Duration, 0, len(w.given)), make([]time.Duration, 0, len(w.given))
			ready.Add(1)
			done.Add(1)
			go func() {
				defer done.Done()
				runtime.LockOSThread() // for good: the thread ends with it
				ready.Done()
				<-start
				w.work(x)
			}()
		}
	}
	ready.Wait()
	x.began = time.Now()
	close(start)
	for m := range crews {
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			x.give(ctx, m, crews[m])
		}()
	}
	done.Wait()
	r.Seconds = time.Since(x.began).Seconds()
	if err := ctx.Err(); err != nil {
		return r, err
	}
	return r, r.collect(crews)
}

// share is how many requests a message thread gives out.
func (o Options) share(message int) int {
	n := o.Requests / o.Messages
	if message < o.Requests%o.Messages {
		n++
	}
	return n
}

// number is that of a message thread's k-th request among all.
func (o Options) number(message, k int) uint64 { return uint64(k*o.Messages + message) }

// settle is how long the workers have to fall asleep before the first request.
const settle = 10 * time.Millisecond

// give gives requests to the workers in turn, each at its time.
func (x *run) give(ctx context.Context, message int, crew []*worker) {
	every := time.Second / time.Duration(x.Rate)
	first := settle + every*time.Duration(message)/time.Duration(x.Messages) // not all at once
	for k := range x.share(message) {
		due := first + every*time.Duration(k)
		if wait := due - time.Since(x.began); wait > 0 {
			kernel.Sleep(wait)
		}
		if ctx.Err() != nil {
			x.ended.Store(true)
			for _, w := range crew {
				atomic.AddUint32(&w.posted, 1)
				kernel.Wake(&w.posted, 1)
			}
			return
		}
		w := crew[k%len(crew)]
		q := &w.given[k/len(crew)]
		q.due, q.posted = due, time.Since(x.began)
		atomic.AddUint32(&w.posted, 1)
		kernel.Wake(&w.posted, 1)
	}
}

// work does what the worker is given, and sleeps in between.
func (w *worker) work(x *run) {
	for w.done < len(w.given) {
		slept := false
		for atomic.LoadUint32(&w.posted) == uint32(w.done) {
			kernel.BlockingWait(&w.posted, uint32(w.done))
			slept = true
		}
		now := time.Since(x.began)
		if x.ended.Load() {
			return
		}
		q := &w.given[w.done]
		if slept {
			w.woken = append(w.woken, now-q.posted)
		}
		w.sum += compute(q.number, x.KSteps)
		w.reply = append(w.reply, time.Since(x.began)-q.due)
		w.done++
	}
}

var errAnswer = errors.New("the sum of what the requests computed is wrong: one was lost, done twice or computed wrongly")

// collect adds up what the workers did.
func (r *Result) collect(crews [][]*worker) error {
	var woken, reply []time.Duration
	var sum uint64
	for _, crew := range crews {
		for _, w := range crew {
			woken, reply = append(woken, w.woken...), append(reply, w.reply...)
			sum += w.sum
		}
	}
	r.Wakeups, r.Replies, r.Queued, r.Answer = newSpread(woken), newSpread(reply), len(reply)-len(woken), answer(sum)
	if r.Answer != r.Expected {
		return errAnswer
	}
	return nil
}
