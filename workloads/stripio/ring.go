package stripio

import (
	"sync/atomic"
	"unsafe"

	"piton/internal/kernel"
)

// ring is what a reader hands strips to its merger in: memory that is shared by
// both modes alike, so that they differ in nothing but what they are about.
type ring struct {
	head *head
	slot [perTransfer][]uint64
}

// head is how far both are. Who waits sleeps in the kernel, and says so before.
type head struct {
	filled, mergerSleeps atomic.Uint32
	_                    [56]byte
	taken, readerSleeps  atomic.Uint32
}

const (
	headBytes = 4096
	ringBytes = headBytes + TransferBytes
)

// newRing lays a ring out in ringBytes of zeroed memory, or finds it there.
func newRing(memory []byte) *ring {
	r := &ring{head: (*head)(unsafe.Pointer(&memory[0]))}
	for i := range r.slot {
		first := &memory[headBytes+i*StripBytes]
		r.slot[i] = unsafe.Slice((*uint64)(unsafe.Pointer(first)), words)
	}
	return r
}

// await waits until done says so of the word.
func await(word, sleeps *atomic.Uint32, done func(uint32) bool) {
	for {
		now := word.Load()
		if done(now) {
			return
		}
		sleeps.Store(1)
		if word.Load() == now {
			kernel.BlockingWaitShared((*uint32)(unsafe.Pointer(word)), now)
		}
	}
}

// advance moves the word on and wakes who waits for it.
func advance(word, sleeps *atomic.Uint32, to uint32) {
	word.Store(to)
	if sleeps.Swap(0) == 1 {
		kernel.WakeShared((*uint32)(unsafe.Pointer(word)), 1)
	}
}

func (r *ring) free(k uint32) []uint64 {
	await(&r.head.taken, &r.head.readerSleeps, func(taken uint32) bool { return k-taken < perTransfer })
	return r.slot[k%perTransfer]
}

func (r *ring) full(k uint32) { advance(&r.head.filled, &r.head.mergerSleeps, k+1) }

func (r *ring) next(k uint32) []uint64 {
	await(&r.head.filled, &r.head.mergerSleeps, func(filled uint32) bool { return filled != k })
	return r.slot[k%perTransfer]
}

func (r *ring) done(k uint32) { advance(&r.head.taken, &r.head.readerSleeps, k+1) }
