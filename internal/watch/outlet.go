package watch

import (
	"io"
	"sync"

	"piton/internal/crash"
)

// Outlet writes in the background, so that a slow reader never delays its
// users: what finds it full is refused, not waited for. Close it.
type Outlet struct {
	w     io.Writer
	limit int

	mu      sync.Mutex
	changed sync.Cond // of the fields below
	pending []byte
	closed  bool
	err     error
	ended   chan struct{}
}

// NewOutlet returns an Outlet that keeps at most limit bytes that are not written yet.
func NewOutlet(w io.Writer, limit int) *Outlet {
	o := &Outlet{w: w, limit: limit, ended: make(chan struct{})}
	o.changed.L = &o.mu
	go func() { defer crash.Handle(); o.run() }()
	return o
}

// Offer takes a copy of the line to write it later, or reports that there is no
// room. The error is that of an earlier write; nothing will be written any more.
func (o *Outlet) Offer(line []byte) (taken bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || len(o.pending)+len(line) > o.limit {
		return false, o.err
	}
	o.pending = append(o.pending, line...)
	o.changed.Signal()
	return true, nil
}

// Close waits until all that was taken is written, and returns the first error.
func (o *Outlet) Close() error {
	o.mu.Lock()
	o.closed = true
	o.changed.Signal()
	o.mu.Unlock()
	<-o.ended
	return o.err
}

func (o *Outlet) run() {
	defer close(o.ended)
	var writing []byte
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil {
		for len(o.pending) == 0 && !o.closed {
			o.changed.Wait()
		}
		if len(o.pending) == 0 {
			return
		}
		writing, o.pending = o.pending, writing[:0]
		o.mu.Unlock()
		_, err := o.w.Write(writing)
		o.mu.Lock()
		o.err = err
	}
}
