package cycle

import (
	"context"
	"sync/atomic"
)

// Gap is a time in which a loop that reads a counter did not get to read it, in
// the counter's units.
type Gap struct {
	Start, End uint64
	// CPU is where the loop was afterwards, -1 where the counter does not tell.
	CPU int64
}

// Gaps reads the counter without pause until it passes until, and writes down
// each time longer than floor between two readings. It returns how many, and the
// last reading; that is before until when buf is full or ctx has ended.
//
// Where there is assembly for it the goroutine is to the Go runtime as one in a
// system call, so that soon nothing of the runtime wakes up any more on its
// account: sysmon, which looks at running goroutines every 10 ms, would be the
// loudest of all interruptions on a quiet CPU.
func (c Counter) Gaps(ctx context.Context, buf []Gap, floor, until uint64) (n int, end uint64) {
	if len(buf) == 0 {
		return 0, c.Now()
	}
	var stop atomic.Uint32
	defer context.AfterFunc(ctx, func() { stop.Store(1) })()
	if ctx.Err() != nil {
		stop.Store(1)
	}
	if c.Source != Clock {
		return spin(buf, floor, until, &stop)
	}
	last := c.Now()
	for last < until && stop.Load() == 0 {
		now := c.Now()
		if now-last > floor {
			buf[n] = Gap{last, now, -1}
			if n++; n == len(buf) {
				return n, now
			}
		}
		last = now
	}
	return n, last
}
