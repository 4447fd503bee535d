package kernel

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Gap is a time in which a thread that had nothing else to do did not read the clock.
type Gap struct{ At, Length time.Duration } // At: its begin, CLOCK_MONOTONIC

// Spinner is a thread that reads the clock over and over, and what it noted. One other
// goroutine may take the gaps meanwhile.
type Spinner struct {
	Step time.Duration // the least time between two reads; valid after the first gap or Ready

	ready atomic.Bool
	noted atomic.Uint64
	taken uint64
	ring  [1 << 14]Gap
}

// Ready reports whether it spins.
func (s *Spinner) Ready() bool { return s.ready.Load() }

// spinReads are those after which Step is known.
const spinReads = 10_000

// Spin never returns. It notes each gap of least and more, where reading the clock takes less. The loop calls
// nothing that the runtime could interrupt; its signals have to be off (GODEBUG=asyncpreemptoff=1),
// and so has the garbage collector.
func (s *Spinner) Spin(least time.Duration) {
	for i := range s.ring { // so that the pages are there
		s.ring[i] = Gap{}
	}
	var ts unix.Timespec
	at := uintptr(unsafe.Pointer(&ts))
	last, step := Monotonic(), time.Hour
	for n := 0; ; n++ {
		_, _ = unix.RawSyscallNoError(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, at, 0)
		now := time.Duration(ts.Sec*1e9 + ts.Nsec)
		gap := now - last
		switch {
		case n < spinReads:
			step = min(step, gap)
		case n == spinReads:
			s.Step = step
			least = max(least, 3*step)
			s.ready.Store(true)
		case gap >= least:
			noted := s.noted.Load()
			s.ring[noted%uint64(len(s.ring))] = Gap{last, gap}
			s.noted.Store(noted + 1)
		}
		last = now
	}
}

// Take appends the gaps that were noted since the last call; lost is how many more there were than
// the ring holds.
func (s *Spinner) Take(into []Gap) (gaps []Gap, lost uint64) {
	noted := s.noted.Load()
	if most := uint64(len(s.ring) / 2); noted-s.taken > most { // the rest may be written to now
		lost = noted - s.taken - most
		s.taken += lost
	}
	for ; s.taken < noted; s.taken++ {
		into = append(into, s.ring[s.taken%uint64(len(s.ring))])
	}
	return into, lost
}
