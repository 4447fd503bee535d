// Package standstill measures for tests how long an emulated machine stood still: all its
// CPUs are one of the host's, which others use too. Times of a test that a longer standstill
// fell into are not judged.
package standstill

import (
	"sync"
	"testing"
	"time"

	"piton/internal/kernel"
)

const (
	// most is the longest standstill beside which times are judged.
	most = time.Second
	// step is how long a thread sleeps between two looks, and ordinary the longest gap between
	// those of a machine that runs: busy emulated CPUs take turns of 4 ms.
	step     = 2 * time.Millisecond
	ordinary = 50 * time.Millisecond

	// Notice begins the line of a test that does not judge.
	Notice = "not judged: "
)

// Stood is what a machine did not run, by its CLOCK_MONOTONIC.
type Stood struct {
	Sum, Longest time.Duration
}

// Judged reports whether times count that the standstills fell into, and says so in the
// test's log if they do not.
func (s Stood) Judged(t testing.TB) bool {
	t.Helper()
	if s.Longest > most {
		t.Logf(Notice+"the guest stood still for %d ms", s.Longest.Milliseconds())
	}
	return s.Longest <= most
}

// Await looks until ok, and reports whether it was within the limit of the machine's own
// time. Nothing in the machine may keep the calling thread from running.
func (s *Stood) Await(limit time.Duration, ok func() bool) bool {
	last := time.Now()
	for end := last.Add(limit); last.Before(end); kernel.Sleep(step) {
		now := time.Now()
		stood := max(0, now.Sub(last)-ordinary)
		s.Sum, s.Longest = s.Sum+stood, max(s.Longest, stood)
		last, end = now, end.Add(stood)
		if ok() {
			return true
		}
	}
	return false
}

// Watch watches until the returned function is called, on a thread of FIFO 99, or an
// ordinary one where this process may not have that: then it takes a starved thread for a
// standstill.
func Watch() (end func() Stood) {
	var s Stood
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = kernel.OnThread(func() error {
			_ = kernel.System().SetPolicy(0, kernel.FIFO, 99, true)
			s.Await(time.Hour, func() bool {
				select {
				case <-stop:
					return true
				default:
					return false
				}
			})
			return nil
		})
	}()
	return sync.OnceValue(func() Stood {
		close(stop)
		<-ended
		return s
	})
}
