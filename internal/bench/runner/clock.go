package runner

import (
	"time"
)

// clockReading is the time of day and the monotonic time that belongs to it.
type clockReading struct{ wall, monotonic time.Time }

func (r *Runner) readClock() clockReading {
	now := time.Now()
	wall := now
	if r.WallClock != nil {
		wall = r.WallClock(now)
	}
	return clockReading{wall.Round(0), now} // Round(0) leaves the time of day alone
}

// leastStep is what counts as setting a clock. NTP slews by 500 millionths, which
// comes to a second in half an hour.
const leastStep = time.Second

// step is by how much the clock was set since then, 0 if it was not.
func (c clockReading) step(then clockReading) time.Duration {
	step := c.wall.Sub(then.wall) - c.monotonic.Sub(then.monotonic)
	if step.Abs() < leastStep {
		return 0
	}
	return step.Round(time.Millisecond)
}
