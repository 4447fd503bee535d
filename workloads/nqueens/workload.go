package nqueens

import (
	"context"
	"strconv"

	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "nqueens",
	Help:       "count N-queens solutions: integer work only",
	Length:     "n",
	Growth:     func(n int) float64 { return costs[min(max(n, 0), MaxN)] },
	Placements: []string{"normal", "least-loaded", "fifo:10", "rr:10"},
	Params: []workload.Param{
		{Name: "n", Help: "queens", Default: "13", Min: MinN, Max: MaxN},
		{Name: "threads", Help: "OS threads that share the first rows", Default: "1", Min: 1, Max: MaxThreads},
	},
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: strconv.FormatUint(r.Solutions, 10), Seconds: r.Seconds, Detail: r}, err
	},
}

func optionsOf(v workload.Values) Options {
	return Options{N: v.Int("n"), Threads: v.Int("threads")}
}
