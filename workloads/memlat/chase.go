package memlat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"unsafe"
)

// line is the begin of a cache line. It is memory that the garbage collector
// does not know, and points only there.
type line struct {
	next  *line
	index uint64
}

// ring is memory with one element a cache line, all of them in one cycle in
// random order, so that each load must wait for the one before and no
// prefetcher can tell where it goes.
type ring struct {
	memory []byte
	stride int
	n      int // lines in the cycle so far
	at     *line
	rng    *rand.Rand
}

func newRing(memory []byte, stride int) *ring {
	// A fixed seed: every run goes the same way.
	r := &ring{memory: memory, stride: stride, rng: rand.New(rand.NewPCG(1, 0))}
	r.at = r.line(0)
	r.at.next, r.at.index, r.n = r.at, 0, 1
	return r
}

func (r *ring) line(i int) *line { return (*line)(unsafe.Pointer(&r.memory[i*r.stride])) }

// grow takes lines into the cycle until there are n, each at a place chosen at
// random, which makes all cycles equally likely. It looks at ctx every so often.
func (r *ring) grow(ctx context.Context, n int) error {
	for ; r.n < n; r.n++ {
		if r.n%(1<<16) == 0 && ctx.Err() != nil {
			return fmt.Errorf("lay out %d lines of memory: %w", n, ctx.Err())
		}
		before, fresh := r.line(r.rng.IntN(r.n)), r.line(r.n)
		fresh.next, fresh.index = before.next, uint64(r.n)
		before.next = fresh
	}
	return nil
}

// unroll is how many loads chase makes a turn.
const unroll = 16

// chase makes loads, a multiple of unroll, each of the address that the last
// one loaded.
func (r *ring) chase(loads int) {
	p := r.at
	for ; loads > 0; loads -= unroll {
		p = p.next.next.next.next.next.next.next.next
		p = p.next.next.next.next.next.next.next.next
	}
	r.at = p
}

// check looks at every line: each must be the next of exactly one.
func (r *ring) check(ctx context.Context) error {
	var sum, squares, want, wantSquares uint64
	for i := range r.n {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return fmt.Errorf("check %d lines of memory: %w", r.n, ctx.Err())
		}
		index := r.line(i).next.index
		sum, squares = sum+index, squares+index*index
		want, wantSquares = want+uint64(i), wantSquares+uint64(i)*uint64(i)
	}
	if sum != want || squares != wantSquares {
		return fmt.Errorf("the %d lines are not each the next of one", r.n)
	}
	return nil
}

// walk goes round the cycle once and counts the steps.
func (r *ring) walk() error {
	steps, p := 1, r.at.next
	for ; p != r.at && steps <= r.n; p = p.next {
		steps++
	}
	if steps != r.n {
		return fmt.Errorf("the way round %d lines took %d steps", r.n, steps)
	}
	return nil
}
