package chat

import (
	"sync/atomic"

	"piton/internal/kernel"
)

// queue holds what a member is still to hear. Several threads of the server put
// into it, and one takes out; who has to wait sleeps in the kernel, so that the
// kernel wakes a thread and not Go's scheduler a goroutine. It is what a pthread
// mutex and two condition variables are in C.
type queue struct {
	lock         futexLock
	pushed       uint32 // changes with each push and pop: the words to sleep on
	popped       uint32
	takerSleeps  bool
	pusherSleeps bool
	first, count int
	ring         [queueLength]message
}

// queueLength is how far a speaker may be ahead of a member that does not listen.
const queueLength = 64

//go:nosplit
func (q *queue) push(m *message) {
	q.lock.acquire()
	for q.count == queueLength {
		seen := q.popped
		q.pusherSleeps = true
		q.lock.release()
		kernel.BlockingWait(&q.popped, seen)
		q.lock.acquire()
	}
	q.ring[(q.first+q.count)%queueLength] = *m
	q.count++
	atomic.AddUint32(&q.pushed, 1)
	wake := q.takerSleeps
	q.takerSleeps = false
	q.lock.release()
	if wake {
		kernel.Wake(&q.pushed, 1)
	}
}

//go:nosplit
func (q *queue) pop(m *message) {
	q.lock.acquire()
	for q.count == 0 {
		seen := q.pushed
		q.takerSleeps = true
		q.lock.release()
		kernel.BlockingWait(&q.pushed, seen)
		q.lock.acquire()
	}
	*m = q.ring[q.first]
	q.first = (q.first + 1) % queueLength
	q.count--
	atomic.AddUint32(&q.popped, 1)
	wake := q.pusherSleeps
	q.pusherSleeps = false
	q.lock.release()
	if wake {
		kernel.Wake(&q.popped, Members)
	}
}

// futexLock is 0 when free, 1 when held, 2 when held and waited for (the third
// mutex of Drepper, Futexes Are Tricky).
type futexLock struct{ word uint32 }

//go:nosplit
func (l *futexLock) acquire() {
	if atomic.CompareAndSwapUint32(&l.word, 0, 1) {
		return
	}
	for atomic.SwapUint32(&l.word, 2) != 0 {
		kernel.BlockingWait(&l.word, 2)
	}
}

//go:nosplit
func (l *futexLock) release() {
	if atomic.SwapUint32(&l.word, 0) == 2 {
		kernel.Wake(&l.word, 1)
	}
}
