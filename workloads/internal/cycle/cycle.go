// Package cycle reads the counter that runs with the CPU: the time-stamp counter
// of amd64, the virtual timer of arm64, the monotonic clock elsewhere; and tells
// how fast that counter and the core are.
//
// It is no workload: the ones that measure below a microsecond share it.
package cycle

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"piton/internal/kernel"
)

// Source names a counter.
type Source string

// The sources.
const (
	TSC   Source = "tsc"    // RDTSC, at a constant rate that is not the core's
	Timer Source = "cntvct" // CNTVCT_EL0 of arm64
	Clock Source = "clock"  // CLOCK_MONOTONIC, in ns
)

// Counter is a way to read time. Its values are for one machine; CPUs agree on
// them where the kernel trusts its clock source.
type Counter struct {
	Source Source
	Now    func() uint64
	// Hz is the counter's rate.
	Hz float64
	// CPU is the number of the CPU that it runs on, -1 where the counter does not
	// tell.
	CPU func() int
}

// Best returns the finest counter of this CPU after comparing it with the clock
// for as long as calibration.
func Best(calibration time.Duration) Counter {
	if !hardware {
		return Coarse()
	}
	c := Counter{Source: hardwareSource, Now: now, CPU: cpuNumber}
	c.Hz = rate(calibration)
	return c
}

// Coarse returns the clock. All processes count from the same moment, to within
// a µs: of several tries the one counts that nothing interrupted.
func Coarse() Counter {
	var base uint64
	var start time.Time
	least := time.Hour
	for range tries {
		before := time.Now()
		now := uint64(kernel.Monotonic())
		if took := time.Since(before); took < least {
			least, base, start = took, now, before.Add(took/2)
		}
	}
	return Counter{Source: Clock, Now: func() uint64 { return base + uint64(time.Since(start)) }, Hz: 1e9, CPU: func() int { return -1 }}
}

// rate compares the counter with the clock at both ends of a time.
func rate(d time.Duration) float64 {
	c := Counter{Now: now}
	count, at := c.Both()
	for time.Since(at) < d {
		runtime.Gosched()
	}
	count2, at2 := c.Both()
	return float64(count2-count) / at2.Sub(at).Seconds()
}

// tries is how often two clocks are read together.
const tries = 20

// Both reads counter and clock at one moment: of several tries the one during
// which the counter moved least.
func (c Counter) Both() (count uint64, at time.Time) {
	least := ^uint64(0)
	for range tries {
		before := c.Now()
		t := time.Now()
		after := c.Now()
		if after-before < least {
			least, count, at = after-before, before+(after-before)/2, t
		}
	}
	return count, at
}

// Like returns a counter of that source whose rate is known already, for a
// process that compares its readings with another's.
func Like(source Source, hz float64) (Counter, error) {
	c := Coarse()
	if source != Clock {
		if !hardware || source != hardwareSource {
			return Counter{}, fmt.Errorf("there is no counter %q here", source)
		}
		c = Counter{Source: hardwareSource, Now: now, CPU: cpuNumber}
	}
	if !(hz > 0) {
		return Counter{}, fmt.Errorf("a counter cannot run at %g Hz", hz)
	}
	c.Hz = hz
	return c, nil
}

// Seconds converts a difference of two readings.
func (c Counter) Seconds(ticks uint64) float64 { return float64(ticks) / c.Hz }

// Ticks converts a duration to a difference of readings.
func (c Counter) Ticks(d time.Duration) uint64 { return uint64(d.Seconds() * c.Hz) }

// chainLength is how many cycles one measurement of the core's frequency takes:
// some µs, short enough to fall between two interrupts.
const chainLength = 16 << 10

// CoreHz estimates the frequency of the core that it runs on from additions that
// wait for each other, one cycle each; 0 where there is no assembly for it. An
// interrupt makes a try longer and none makes it shorter, so that the shortest
// half of the tries agree; their median is taken.
func (c Counter) CoreHz() float64 {
	if !hardware {
		return 0
	}
	times := make([]uint64, 64)
	for i := range times {
		before := c.Now()
		chain(chainLength)
		times[i] = c.Now() - before
	}
	slices.Sort(times)
	return chainLength / c.Seconds(max(times[len(times)/4], 1))
}
