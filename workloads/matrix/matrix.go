// Package matrix multiplies two square matrices in double precision with one
// equal share of the rows per OS thread: the workload of the thread-mapping
// study (Nita et al., 2010), which compares the kernel's placement of up to a
// thousand threads with one CPU per thread set by hand.
//
// That mapping is its own subject, so it sets affinities when asked to; it
// makes no other scheduling call. Start at Run.
package matrix

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"piton/internal/kernel"
)

// Limits of Options. With N at most 16384 every sum below stays under 2^53, so
// that float64 holds it exactly.
const (
	MaxN       = 16384
	MaxThreads = 4096
)

// Mapping says who chooses the CPU of a thread.
type Mapping string

// The mappings.
const (
	ByKernel Mapping = "kernel" // the kernel does
	Manual   Mapping = "manual" // thread t runs on the t-th allowed CPU, round robin
)

// Mappings lists them.
var Mappings = []Mapping{ByKernel, Manual}

// Kernel is the order of the three loops.
type Kernel string

// The kernels.
const (
	Naive   Kernel = "naive"   // rows times columns, as written on paper
	Blocked Kernel = "blocked" // in tiles that stay in the first two caches
)

// Kernels lists them.
var Kernels = []Kernel{Naive, Blocked}

// Options is the work to do.
type Options struct {
	N       int     `json:"n"`       // rows and columns, 1..MaxN
	Threads int     `json:"threads"` // OS threads, 1..MaxThreads and at most one a row
	Mapping Mapping `json:"mapping"`
	Kernel  Kernel  `json:"kernel"`
	// Scheduler sets the affinity for Manual; otherwise it may be nil.
	Scheduler kernel.Own `json:"-"`
}

// Validate says in one sentence what is wrong with the options together. The limits
// of each are checked before, by workload.Param.
func (o Options) Validate() error {
	if o.Threads > o.N {
		return fmt.Errorf("%d threads are more than the %d rows to share out", o.Threads, o.N)
	}
	return nil
}

// Result is what came out, and what each phase and thread did.
type Result struct {
	Options
	Checksum     int64    `json:"checksum"`
	FillSeconds  float64  `json:"fill_seconds"`  // making the factors
	StartSeconds float64  `json:"start_seconds"` // starting the threads and mapping them
	Seconds      float64  `json:"seconds"`       // multiplying, from releasing the threads to the last one's end
	MFLOPS       float64  `json:"mflops"`        // 2·n³ operations over Seconds, in millions a second
	CPUs         string   `json:"cpus"`          // cpulist that Manual mapped to, else ""
	Shortest     float64  `json:"shortest_thread_seconds"`
	Longest      float64  `json:"longest_thread_seconds"`
	PerThread    []Thread `json:"-"` // too long for a line of results
}

// Thread is one thread's share.
type Thread struct {
	Rows    int
	Seconds float64
}

// Run multiplies. It fails when Validate does, when a thread cannot be mapped, when
// ctx ends, and when the product is wrong; then the Result is returned as well. The
// garbage collector is off and GOMAXPROCS raised while it runs, so that Go's own
// scheduling stays out of the measurement.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), o.Threads+2)))

	r := Result{Options: o}
	begin := time.Now()
	a, b, c := left(o.N), right(o.N), make([]float64, o.N*o.N)
	r.FillSeconds = time.Since(begin).Seconds()

	multiply := rowsNaive
	if o.Kernel == Blocked {
		multiply = rowsBlocked
	}
	err := share(ctx, &r, func(ctx context.Context, first, end int) {
		// A few rows at a time, so that ctx is looked at every so often.
		for ; first < end && ctx.Err() == nil; first += tileRows {
			multiply(a, b, c, o.N, first, min(first+tileRows, end))
		}
	})
	if err != nil {
		return r, err
	}
	n := float64(o.N)
	r.MFLOPS = 2 * n * n * n / r.Seconds / 1e6
	r.Checksum = checksum(c, o.N)
	r.Shortest = r.PerThread[0].Seconds
	for _, t := range r.PerThread {
		r.Shortest, r.Longest = min(r.Shortest, t.Seconds), max(r.Longest, t.Seconds)
	}
	return r, r.Check()
}
