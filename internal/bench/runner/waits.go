package runner

import (
	"sync"
	"time"

	"piton/internal/crash"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why/facts"
	"piton/internal/why/session"
)

// leastWaitMs is the resolution of waits, why.Bin.
const leastWaitMs = 0.001

// waits is a Meter of a percentile of waits.
type waits struct {
	session.Source
	q float64
}

func waitQuantile(q float64) func(procfs.FS, watch.Targets) (Meter, error) {
	return func(_ procfs.FS, of watch.Targets) (Meter, error) {
		source, err := session.OpenSource(of)
		if err != nil {
			return nil, err
		}
		return waits{source, q}, nil
	}
}

func (w waits) Grown() (float64, error) {
	o, err := w.Read()
	all := o.Waits()
	return all.Quantile(w.q, o.Longest.Time).Seconds() * 1e3, err
}

// shareOfTime is a Meter of how much of their time threads wait. It looks at them as often as
// facts.Reader asks for: what one does between the last look and its end is not seen.
type shareOfTime struct {
	mu            sync.Mutex // protects reader
	reader        *facts.Reader
	stop, stopped chan struct{}
}

func waitShare(p procfs.FS, of watch.Targets) (Meter, error) {
	reader, err := facts.Open(p, of)
	if err != nil {
		return nil, err
	}
	s := &shareOfTime{reader: reader, stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer crash.Handle()
		s.follow()
	}()
	return s, nil
}

func (s *shareOfTime) follow() {
	defer close(s.stopped)
	for {
		select {
		case <-s.stop:
			return
		case <-time.After(facts.Every):
		}
		_ = s.look() // Grown tells of an error
	}
}

func (s *shareOfTime) look() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.reader.Look()
	return err
}

func (s *shareOfTime) Grown() (float64, error) {
	if err := s.look(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.reader.Observe()
	s.reader.Restart()
	return 100 * o.Waited.Seconds() / (o.Span.Seconds() * float64(max(1, o.Threads))), nil
}

func (s *shareOfTime) Close() {
	close(s.stop)
	<-s.stopped
}
