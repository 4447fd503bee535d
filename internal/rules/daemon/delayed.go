package daemon

import (
	"time"

	"piton/internal/kernel"
)

// held are processes that were forked or renamed, for a moment: mostly an exec follows,
// which says what the process really is. One that lives on as it is, such as a worker of a
// server, is met when the moment is over.
type delayed struct {
	waits map[kernel.TID]*kernel.ProcEvent
	queue []*kernel.ProcEvent // by time; those that do not wait any more, too
}

func newDelayed() delayed { return delayed{waits: map[kernel.TID]*kernel.ProcEvent{}} }

// add holds a process from its first event on, under its last name.
func (h *delayed) add(e kernel.ProcEvent) {
	if first := h.waits[e.PID]; first != nil && e.Kind != kernel.EventFork {
		first.Comm = e.Comm
		return
	}
	h.waits[e.PID] = &e
	h.queue = append(h.queue, &e)
}

func (h *delayed) drop(pid kernel.TID) { delete(h.waits, pid) }

// due takes out what has waited long enough.
func (h *delayed) due(now time.Duration) (due []kernel.ProcEvent) {
	for at, ok := h.next(); ok && at <= now; at, ok = h.next() {
		e := h.queue[0]
		h.queue = h.queue[1:]
		delete(h.waits, e.PID)
		due = append(due, *e)
	}
	return due
}

// next is when something will be due.
func (h *delayed) next() (at time.Duration, ok bool) {
	for len(h.queue) > 0 && h.waits[h.queue[0].PID] != h.queue[0] {
		h.queue = h.queue[1:]
	}
	if len(h.queue) == 0 {
		h.queue = nil // its memory is that of the largest burst
		return 0, false
	}
	return h.queue[0].At + holdFor, true
}
