// Package stream measures the bandwidth of memory with McCalpin's four loops,
// copy, scale, add and triad, over arrays that no cache holds; and from every
// node or CPU to the memory of every node, with whether the firmware's distances
// foretell it: part B of the course report.
//
// From where and to where is its own subject in that grid, for which it sets
// affinities and binds memory; it makes no other scheduling call. Start at Run.
package stream

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Limits of Options. 15^MaxReps, which array a grows to, is below 1e236.
const (
	MaxMiB     = 1 << 20
	MinReps    = 2
	MaxReps    = 200
	MaxThreads = 4096
	AnyNode    = -1
)

// Loops says which loops to run.
type Loops string

// The loops.
const (
	Best   Loops = "best"   // Vector where the CPU can, else Plain
	Vector Loops = "vector" // AVX2 with non-temporal stores
	Plain  Loops = "plain"  // in Go
)

// AllLoops lists them.
var AllLoops = []Loops{Best, Vector, Plain}

// Grid says from where to measure.
type Grid string

// The grids.
const (
	NoGrid Grid = "off"   // from where it runs
	Nodes  Grid = "nodes" // from each node to each node's memory
	CPUs   Grid = "cpus"  // from each CPU to each node's memory
)

// Grids lists them.
var Grids = []Grid{NoGrid, Nodes, CPUs}

// Node is a NUMA node as the kernel describes it.
type Node struct {
	ID        int
	CPUs      cpuset.Set
	Memory    bool        // it has some, and the process may use it
	Distances map[int]int // to nodes by number, from the firmware; 10 is local
	// AvailableBytes of memory, 0 = not known: taking more than there is from one
	// node ends in the kernel's killing the process.
	AvailableBytes int64
}

// Options is the work to do.
type Options struct {
	MiB     int    `json:"mib"`     // of each of the three arrays
	Reps    int    `json:"reps"`    // of the four loops; the first is not counted
	Threads int    `json:"threads"` // OS threads, 1..MaxThreads
	Loops   Loops  `json:"loops"`
	Node    int    `json:"node"` // to bind the memory to, or AnyNode
	Grid    Grid   `json:"grid"`
	Nodes   []Node `json:"-"` // of the machine, for Grid
	// LLCBytes is the last-level cache of one CPU, 0 = not known.
	LLCBytes int64 `json:"llc_bytes"`
	// AvailableBytes is what memory there is to take, 0 = not known.
	AvailableBytes int64         `json:"-"`
	Mapper         kernel.Mapper `json:"-"`
	Scheduler      kernel.Own    `json:"-"` // for Grid; otherwise it may be nil
}

// Validate says in one sentence what is wrong with the options together or on this
// machine. The limits of each are checked before, by workload.Param.
func (o Options) Validate() error {
	switch {
	case o.Loops == Vector && !haveVector():
		return fmt.Errorf("this CPU has no AVX2 for the vector loops")
	case o.Grid != NoGrid && o.Node != AnyNode:
		return fmt.Errorf("a grid goes over all nodes, so that node %d cannot be chosen with it", o.Node)
	case o.Grid != NoGrid && (o.Scheduler == nil || len(o.Nodes) == 0):
		return fmt.Errorf("a grid needs the machine's nodes and a scheduler to set affinities through")
	}
	return o.fits()
}

// fits says whether there is memory for the arrays, on every node that they are
// going to be on.
func (o Options) fits() error {
	need := int64(arrays) * int64(o.MiB) << 20
	if o.AvailableBytes > 0 && need > o.AvailableBytes {
		return fmt.Errorf("%d arrays of %d MiB need %d MiB where %d MiB of memory are available", arrays, o.MiB, need>>20, o.AvailableBytes>>20)
	}
	if o.Node != AnyNode && len(o.Nodes) > 0 && !slices.ContainsFunc(o.Nodes, func(n Node) bool { return n.ID == o.Node && n.Memory }) {
		return fmt.Errorf("there is no node %d with memory that may be used", o.Node)
	}
	for _, n := range o.Nodes {
		used := n.Memory && (o.Grid != NoGrid || o.Node == n.ID)
		if used && n.AvailableBytes > 0 && need > n.AvailableBytes {
			return fmt.Errorf("%d arrays of %d MiB need %d MiB where node %d has %d MiB", arrays, o.MiB, need>>20, n.ID, n.AvailableBytes>>20)
		}
	}
	return nil
}

// Result is what came out. Bandwidths are in 10^6 bytes a second, counted as
// STREAM does: what the loop reads and writes, without lines that the CPU reads
// because it is going to overwrite them.
type Result struct {
	Options
	Used        Loops   `json:"used"` // Vector or Plain
	CacheTimes  float64 `json:"array_over_llc"`
	Ops         []Op    `json:"ops,omitempty"`  // copy, scale, add, triad; the means over a grid's cells
	Cells       []Cell  `json:"grid,omitempty"` // by from and then memory node
	Fit         *Fit    `json:"fit,omitempty"`  // of a grid
	Answer      string  `json:"answer"`         // the last elements of the three arrays
	FillSeconds float64 `json:"fill_seconds"`   // mapping and first touch
	Seconds     float64 `json:"seconds"`        // in the loops
	HugeBytes   int64   `json:"huge_bytes"`     // of the arrays in huge pages, as far as known
}

// Op is one loop's bandwidth.
type Op struct {
	Name       string  `json:"name"`
	BestMBs    float64 `json:"best_mbs"` // as STREAM reports it
	MedianMBs  float64 `json:"median_mbs"`
	WorstMBs   float64 `json:"worst_mbs"`
	BytesMoved int64   `json:"bytes"` // by one repetition
}

// Triad is the median bandwidth of the last loop.
func (r Result) Triad() float64 {
	if len(r.Ops) < len(opNames) {
		return 0
	}
	return r.Ops[len(opNames)-1].MedianMBs
}

// Run measures. It fails when Validate does, when memory or CPUs cannot be had, when
// ctx ends, and when an array is wrong; then the Result is returned as well. The
// garbage collector is off and GOMAXPROCS raised while it runs, so that Go's own
// scheduling stays out of the measurement.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Validate(); err != nil {
		return Result{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), o.Threads+2)))
	r := Result{Options: o, Used: o.Loops}
	if o.Loops == Best {
		r.Used = Plain
		if haveVector() {
			r.Used = Vector
		}
	}
	if o.LLCBytes > 0 {
		r.CacheTimes = float64(int64(o.MiB)<<20) / float64(o.LLCBytes)
	}
	if o.Grid != NoGrid {
		return r, r.runGrid(ctx)
	}
	var err error
	r.Ops, err = r.measure(ctx, cpuset.Set{}, o.Node)
	return r, err
}

// measure runs the four loops on CPUs of from, if it is not empty, over memory
// of a node, if that is not AnyNode.
func (r *Result) measure(ctx context.Context, from cpuset.Set, node int) ([]Op, error) {
	begin := time.Now()
	crew, err := assemble(r.Options, from)
	if err != nil {
		return nil, err
	}
	defer crew.dismiss()
	a, err := r.fill(ctx, crew, node)
	if err != nil {
		return nil, err
	}
	r.FillSeconds += time.Since(begin).Seconds()
	times, err := r.repeat(ctx, crew, a)
	if err == nil {
		r.Answer = a.answer()
		err = a.check(ctx, r.Reps)
	}
	err = cmp.Or(err, r.Mapper.Unmap(a.memory))
	return newOps(times, len(a.a)), err
}

func (a *three) answer() string {
	text := func(s []float64) string { return strconv.FormatFloat(s[len(s)-1], 'g', 8, 64) }
	return text(a.a) + "," + text(a.b) + "," + text(a.c)
}
