package whyview

import (
	"context"
	"time"

	"piton/internal/why"
	"piton/internal/why/facts"
)

const (
	every  = time.Second // between two spans
	window = 10          // spans that the answer is about
	most   = 64          // spans whose figures are kept
)

// span is what was seen until a time.
type span struct {
	why.Span
	ended time.Time
}

func (s *span) began() time.Time { return s.ended.Add(-s.Observation.Span) }

// seen is what has been seen so far.
type seen struct {
	spans   []span    // the last ones, oldest first
	figures []figures // of more of them
	gone    bool      // no thread is left
	err     error     // with which observing has ended
}

// observing observes until ctx ends or no thread is left, and tells what it has seen after each span.
func observing(open func() (Session, error)) func(ctx context.Context, tell func(seen)) {
	return func(ctx context.Context, tell func(seen)) {
		s, err := open()
		if err != nil {
			tell(seen{err: err})
			return
		}
		defer s.Close()
		var all seen
		looks := time.NewTicker(facts.Every)
		defer looks.Stop()
		for n := time.Duration(1); !all.gone && all.err == nil; n++ {
			select {
			case <-ctx.Done():
				return
			case <-looks.C:
			}
			left, err := s.Look()
			all.gone, all.err = !left, err
			if n*facts.Every%every != 0 && left && err == nil {
				continue
			}
			all.note(s)
			tell(all)
		}
	}
}

// note adds a span.
func (all *seen) note(s Session) {
	o, t, err := s.Take()
	if all.err == nil {
		all.err = err
	}
	if err != nil || o.Span <= 0 { // a made-up machine may have stood still
		return
	}
	one := span{why.Span{Observation: o, Target: t}, time.Now()}
	all.spans = last(append(all.spans, one), window)
	all.figures = last(append(all.figures, figuresOf(&one)), most)
}

// last are at most so many of a list, in an array of their own: the screen reads the one before.
func last[T any](of []T, n int) []T { return append([]T(nil), of[max(len(of)-n, 0):]...) }
