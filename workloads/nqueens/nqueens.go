// Package nqueens counts the ways to put N queens on an N×N board so that none
// attacks another: pure integer work in registers and on the stack, the
// workload of the PI-Tool study (2014).
//
// It makes no scheduling call; whoever starts it places it. Start at Run.
package nqueens

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of Options.
const (
	MinN       = 1
	MaxN       = 18 // 666,090,624 solutions, about ten minutes on one core of 2024
	MaxThreads = 4096
)

// solutions[n] is the number of solutions, https://oeis.org/A000170.
var solutions = [MaxN + 1]uint64{1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712,
	365_596, 2_279_184, 14_772_512, 95_815_104, 666_090_624}

// costs[n] is the work for n queens, that for 13 being 1, as measured. Below 8 starting the
// thread takes longer.
var costs = [MaxN + 1]float64{0, 0.0003, 0.0003, 0.0003, 0.0003, 0.0003, 0.0003, 0.0003, 0.0003, 0.0012, 0.006, 0.035, 0.175,
	1, 5.6, 34.5, 228, 1640, 12000}

// Options is the work to do, within the limits of Workload's parameters.
type Options struct {
	N       int `json:"n"`       // queens, MinN..MaxN
	Threads int `json:"threads"` // OS threads, 1..MaxThreads
}

// Result is what came out, and what each phase and thread did.
type Result struct {
	Options
	Solutions uint64 `json:"solutions"`
	// Boards is the number of boards with their first rows filled that were dealt
	// out to the threads.
	Boards       int      `json:"boards"`
	SplitSeconds float64  `json:"split_seconds"` // filling the first rows
	Seconds      float64  `json:"seconds"`       // searching, from the first thread's start to the last one's end
	Shortest     float64  `json:"shortest_thread_seconds"`
	Longest      float64  `json:"longest_thread_seconds"`
	PerThread    []Thread `json:"-"` // too long for a line of results
}

// Thread is one thread's share of the search.
type Thread struct {
	Boards    int
	Solutions uint64
	Seconds   float64
}

// Check compares the count with the known one.
func (r Result) Check() error {
	if want := solutions[r.N]; r.Solutions != want {
		return fmt.Errorf("found %d solutions for %d queens where there are %d", r.Solutions, r.N, want)
	}
	return nil
}

// Run searches the board. The first rows are filled to make boards enough for
// all threads, which then take one after the other. It fails when ctx ends, and when
// the count is wrong; then the Result is returned as well. It does not check the
// options; their limits are checked by workload.Param. The garbage collector is off
// and GOMAXPROCS raised while it runs, so that Go's own scheduling stays out of the
// measurement.
func Run(ctx context.Context, o Options) (Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := Result{Options: o, PerThread: make([]Thread, o.Threads)}
	full := uint32(1)<<o.N - 1
	begin := time.Now()
	// 64 boards a thread even out the threads' shares and let ctx end a search of
	// minutes soon; the recursion saved is less than a millionth of the work.
	boards := split(full, 64*o.Threads)
	r.Boards = len(boards)
	start := time.Now()
	r.SplitSeconds = start.Sub(begin).Seconds()
	search(ctx, full, boards, r.PerThread)
	r.Seconds = time.Since(start).Seconds()
	if err := ctx.Err(); err != nil {
		return r, fmt.Errorf("count the solutions for %d queens: %w", o.N, err)
	}
	r.Shortest = r.PerThread[0].Seconds
	for _, t := range r.PerThread {
		r.Solutions += t.Solutions
		r.Shortest, r.Longest = min(r.Shortest, t.Seconds), max(r.Longest, t.Seconds)
	}
	return r, r.Check()
}

// board is a board with its first rows filled: the columns taken, and the
// diagonals that the queens reach in the next row.
type board struct{ cols, left, right uint32 }

// split fills row by row until there are at least want boards, or all rows but
// one are filled.
func split(full uint32, want int) []board {
	boards := []board{{}}
	for range bits.OnesCount32(full) - 1 {
		if len(boards) >= want {
			break
		}
		var next []board
		for _, b := range boards {
			for free := full &^ (b.cols | b.left | b.right); free != 0; free &= free - 1 {
				q := free & -free
				next = append(next, board{b.cols | q, (b.left | q) << 1, (b.right | q) >> 1})
			}
		}
		boards = next
	}
	return boards
}

// search runs one goroutine on an OS thread of its own for each of threads.
func search(ctx context.Context, full uint32, boards []board, threads []Thread) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), len(threads)+2)))
	var next atomic.Int64
	var wait sync.WaitGroup
	for i := range threads {
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var t Thread // threads[i] itself would share a cache line with the neighbours
			start := time.Now()
			for n := next.Add(1) - 1; n < int64(len(boards)) && ctx.Err() == nil; n = next.Add(1) - 1 {
				t.Solutions += count(full, boards[n].cols, boards[n].left, boards[n].right)
				t.Boards++
			}
			t.Seconds = time.Since(start).Seconds()
			threads[i] = t
		})
	}
	wait.Wait()
}

// count returns the number of solutions below a row of which left and right are
// the diagonals under attack. It keeps the rows it has to come back to on a
// stack of its own: recursion costs Go a quarter more, and gcc a fifth.
func count(full, cols, left, right uint32) uint64 {
	if cols == full {
		return 1
	}
	free := full &^ (cols | left | right)
	if free == 0 {
		return 0
	}
	var stack [32]row // MaxN rows at most; a power of two lets the mask stand for a bounds check
	var depth int
	var n uint64
	for {
		queen := free & -free
		rest := free ^ queen
		c, l, r := cols|queen, (left|queen)<<1, (right|queen)>>1
		if below := full &^ (c | l | r); below != 0 {
			if rest != 0 {
				stack[depth&31] = row{rest, cols, left, right}
				depth++
			}
			free, cols, left, right = below, c, l, r
			continue
		}
		if c == full {
			n++
		}
		if rest != 0 {
			free = rest
			continue
		}
		if depth == 0 {
			return n
		}
		depth--
		up := &stack[depth&31]
		free, cols, left, right = up.free, up.cols, up.left, up.right
	}
}

// row is a row to come back to: its columns not yet tried, and what attacks it.
type row struct{ free, cols, left, right uint32 }
