package bench

import (
	"context"
	"strconv"

	"piton/internal/kernel"
	"piton/workloads/matrix"
	"piton/workloads/nqueens"
)

// Workloads is the table of built-in workloads: the command line's flags, the
// screen's form and the child process are all made from it.
var Workloads = []Workload{nQueens, matrixMultiply, streamBandwidth, memoryLatency, activityTracker, contextSwitch, chatRooms, stripIO}

var nQueens = Workload{
	Name:   "nqueens",
	Help:   "count N-queens solutions: integer work only",
	Length: "n",
	Params: []Param{
		{Name: "n", Help: "queens", Default: "13", Min: nqueens.MinN, Max: nqueens.MaxN},
		{Name: "threads", Help: "OS threads that share the first rows", Default: "1", Min: 1, Max: nqueens.MaxThreads},
	},
	Check: func(v Values) error { return nqueensOptions(v).Validate() },
	Run: func(ctx context.Context, v Values) (Outcome, error) {
		r, err := nqueens.Run(ctx, nqueensOptions(v))
		return Outcome{Answer: strconv.FormatUint(r.Solutions, 10), Seconds: r.Seconds, Detail: r}, err
	},
}

func nqueensOptions(v Values) nqueens.Options {
	return nqueens.Options{N: v.Int("n"), Threads: v.Int("threads")}
}

var matrixMultiply = Workload{
	Name:   "matrix",
	Help:   "multiply matrices in double precision, many threads",
	Length: "n",
	Params: []Param{
		{Name: "n", Help: "rows and columns", Default: "500", Min: 1, Max: matrix.MaxN},
		{Name: "threads", Help: "OS threads, at most one per row", Default: "100", Min: 1, Max: matrix.MaxThreads},
		{Name: "mapping", Help: "choice of CPUs: by the kernel, or round robin (manual)", Default: string(matrix.ByKernel), Choices: words(matrix.Mappings)},
		{Name: "kernel", Help: "loop order: naive, or tiled to fit the cache", Default: string(matrix.Naive), Choices: words(matrix.Kernels)},
	},
	Check: func(v Values) error { return matrixOptions(v).Validate() },
	Run: func(ctx context.Context, v Values) (Outcome, error) {
		r, err := matrix.Run(ctx, matrixOptions(v))
		return Outcome{Answer: strconv.FormatInt(r.Checksum, 10), Seconds: r.Seconds, Detail: r}, err
	},
}

func matrixOptions(v Values) matrix.Options {
	return matrix.Options{
		N: v.Int("n"), Threads: v.Int("threads"),
		Mapping: matrix.Mapping(v["mapping"]), Kernel: matrix.Kernel(v["kernel"]),
		Scheduler: kernel.System(),
	}
}

func words[W ~string](list []W) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
