// Package memlat measures how long one load takes that must wait for the one
// before, over ever more memory: LMbench's lat_mem_rd with a random order. From
// the curve it finds the steps, that is the caches and the memory behind them,
// without being told their sizes.
//
// Which node the memory is on is its own subject; it makes no scheduling call.
// Start at Run.
package memlat

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"piton/internal/kernel"
	"piton/workloads/internal/cycle"
)

// Limits of Options.
const (
	MaxMiB  = 1 << 18
	AnyNode = -1
)

// The sizes measured.
const (
	smallest  = 4 << 10
	perOctave = 3
)

// How each size is measured: the least of several times that are long beside the
// clock's resolution and short beside the turn of a task that shares the CPU.
const (
	tries    = 15
	tryTime  = 400 * time.Microsecond
	warmMost = 200_000 // loads
	walkMost = 1 << 17 // lines that are gone round to check the answer
)

// Cache is one that the kernel tells of.
type Cache struct {
	Level int   `json:"level"`
	Bytes int64 `json:"bytes"`
}

// Options is the work to do.
type Options struct {
	MiB       int     `json:"mib"`        // the largest size
	LineBytes int     `json:"line_bytes"` // a power of two, 16 at least
	Nodes     []int   `json:"nodes"`      // a curve for memory on each, or of AnyNode
	Caches    []Cache `json:"caches"`     // from /sys, to compare with; by level
	// AvailableBytes is what memory there is to take, 0 = not known.
	AvailableBytes int64         `json:"-"`
	Mapper         kernel.Mapper `json:"-"`
}

// Validate says in one sentence what is wrong with the options together or on this
// machine. The limits of each are checked before, by workload.Param.
func (o Options) Validate() error {
	switch {
	case o.LineBytes < 16 || o.LineBytes > smallest/unroll || o.LineBytes&(o.LineBytes-1) != 0:
		return fmt.Errorf("the size of a cache line must be a power of two from 16 to %d, not %d", smallest/unroll, o.LineBytes)
	case len(o.Nodes) == 0:
		return fmt.Errorf("there is no node to measure the memory of")
	}
	if need := int64(o.MiB) << 20; o.AvailableBytes > 0 && need > o.AvailableBytes {
		return fmt.Errorf("%d MiB are asked for where %d MiB of memory are available", o.MiB, o.AvailableBytes>>20)
	}
	return nil
}

// Result is what came out.
type Result struct {
	Options
	CoreHz  float64 `json:"core_hz"` // estimated while measuring, 0 = not known
	Curves  []Curve `json:"curves"`  // by node
	Lines   int     `json:"lines"`   // of the largest size, each seen to be in the cycle
	Seconds float64 `json:"seconds"` // in timed loads
	// HugeShare is how much of the memory was in huge pages, where known; with
	// small pages, large sizes have the time to look up addresses in them.
	HugeShare *float64 `json:"huge_share,omitempty"`
}

// Curve is the latencies of the memory of one node.
type Curve struct {
	Node   int     `json:"node"` // AnyNode: not bound
	Points []Point `json:"points"`
	Levels []Level `json:"levels"` // caches and memory as found, fastest first
}

// Point is the time of one load among so many bytes.
type Point struct {
	Bytes int     `json:"bytes"`
	Ns    float64 `json:"ns"`
}

// Slowest is the latency of the last level of the first curve, in ns.
func (r Result) Slowest() float64 {
	if len(r.Curves) == 0 || len(r.Curves[0].Levels) == 0 {
		return 0
	}
	levels := r.Curves[0].Levels
	return levels[len(levels)-1].Ns
}

// Run measures. It fails when Validate does, when memory cannot be had, when ctx
// ends, and when the way through the memory was not the right one; then the Result
// is returned as well. The garbage collector is off while it runs, and the goroutine
// has an OS thread to itself.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := Result{Options: o}
	for _, node := range o.Nodes {
		if err := r.curve(ctx, node); err != nil {
			return r, err
		}
	}
	// At the end, when the core has long been at its working frequency.
	r.CoreHz = cycle.Best(10 * time.Millisecond).CoreHz()
	for i := range r.Curves {
		r.Curves[i].Levels = levels(r.Curves[i].Points, r.CoreHz, o.Caches)
	}
	return r, nil
}

func (r *Result) curve(ctx context.Context, node int) error {
	memory, err := r.Mapper.Map(r.MiB<<20, node)
	if err != nil {
		return fmt.Errorf("get %d MiB of memory: %w", r.MiB, err)
	}
	c := Curve{Node: node}
	ring := newRing(memory, r.LineBytes)
	for _, bytes := range sizes(r.MiB << 20) {
		if err = ring.grow(ctx, bytes/r.LineBytes); err != nil {
			break
		}
		var p Point
		if p, err = r.point(ctx, ring); err != nil {
			break
		}
		c.Points = append(c.Points, p)
		if ring.n > walkMost {
			continue
		}
		if err = ring.walk(); err != nil {
			break
		}
	}
	share := min(float64(hugeBytes())/float64(r.MiB<<20), 1)
	r.HugeShare = &share
	if err == nil {
		err = ring.check(ctx)
	}
	if err == nil {
		r.Curves, r.Lines = append(r.Curves, c), ring.n
	}
	return cmp.Or(err, r.Mapper.Unmap(memory))
}

// sizes are the sizes to measure, the last one as given.
func sizes(largest int) []int {
	var out []int
	for i := 0; ; i++ {
		bytes := int(smallest * math.Exp2(float64(i)/perOctave))
		if float64(bytes) > float64(largest)*0.99 {
			return append(out, largest)
		}
		out = append(out, bytes)
	}
}

// point times loads among the lines in the ring so far.
func (r *Result) point(ctx context.Context, ring *ring) (Point, error) {
	warm := roundUp(min(ring.n, warmMost))
	begin := time.Now()
	ring.chase(warm)
	each := max(time.Since(begin).Seconds()/float64(warm), 1e-10)
	loads := roundUp(int(min(tryTime.Seconds()/each, 1e8)))
	best := math.Inf(1)
	for range tries {
		if err := ctx.Err(); err != nil {
			return Point{}, fmt.Errorf("time loads from %d KiB: %w", ring.n*r.LineBytes>>10, err)
		}
		begin := time.Now()
		ring.chase(loads)
		took := time.Since(begin).Seconds()
		r.Seconds += took
		best = min(best, took/float64(loads))
	}
	return Point{Bytes: ring.n * r.LineBytes, Ns: math.Round(best*1e12) / 1e3}, nil
}

func roundUp(loads int) int { return (max(loads, 1) + unroll - 1) / unroll * unroll }
