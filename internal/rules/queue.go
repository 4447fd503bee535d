package rules

import (
	"math"
	"time"
)

// queue is the processes that wait for their rules, the first that asked first. Each is
// in it at most once, so it is bounded as they are; those that end leave it at once.
type queue struct {
	first, last *process
	n           int
}

func (q *queue) push(p *process) {
	if p.queued {
		return
	}
	p.queued, p.prev, p.next = true, q.last, nil
	if q.last == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
	q.n++
}

func (q *queue) remove(p *process) {
	if !p.queued {
		return
	}
	if p.prev == nil {
		q.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.queued, p.prev, p.next = false, nil, nil
	q.n--
}

// limiter allows so many events in any second, however they fall.
type limiter struct {
	times []time.Duration // of the last events, a ring
	at    int             // of the oldest
}

func newLimiter(perSecond int) limiter {
	l := limiter{times: make([]time.Duration, perSecond)}
	for i := range l.times {
		l.times[i] = math.MinInt64 / 2 // long ago
	}
	return l
}

// wait is how long no event is allowed for, 0 if one is now.
func (l *limiter) wait(now time.Duration) time.Duration {
	return max(0, l.times[l.at]+time.Second-now)
}

func (l *limiter) take(now time.Duration) {
	l.times[l.at] = now
	l.at = (l.at + 1) % len(l.times)
}
