package matrix

import (
	"context"
	"strconv"

	"piton/internal/kernel"
	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "matrix",
	Help:       "multiply matrices in double precision, many threads",
	Length:     "n",
	Growth:     func(n int) float64 { return float64(n) * float64(n) * float64(n) },
	Placements: []string{"normal", "spread", "llc"},
	Params: []workload.Param{
		{Name: "n", Help: "rows and columns", Default: "500", Min: 1, Max: MaxN},
		{Name: "threads", Help: "OS threads, at most one per row", Default: "100", Min: 1, Max: MaxThreads},
		{Name: "mapping", Help: "choice of CPUs: by the kernel, or round robin (manual)", Default: string(ByKernel), Choices: workload.Words(Mappings)},
		{Name: "kernel", Help: "loop order: naive, or tiled to fit the cache", Default: string(Naive), Choices: workload.Words(Kernels)},
	},
	Check: func(v workload.Values) error { return optionsOf(v).Validate() },
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: strconv.FormatInt(r.Checksum, 10), Seconds: r.Seconds, Detail: r}, err
	},
}

func optionsOf(v workload.Values) Options {
	return Options{
		N: v.Int("n"), Threads: v.Int("threads"),
		Mapping: Mapping(v["mapping"]), Kernel: Kernel(v["kernel"]),
		Scheduler: kernel.System(),
	}
}
