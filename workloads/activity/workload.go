package activity

import (
	"context"
	"strconv"

	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "activity",
	Help:       "CPU time lost to other tasks and interrupts",
	Length:     "ms",
	Placements: []string{"normal", "least-loaded", "fifo:10"},
	Metric:     workload.Metric{Name: "time lost", Unit: "%"},
	Params: []workload.Param{
		{Name: "ms", Help: "observation time in milliseconds", Default: "1000", Min: MinMs, Max: MaxMs},
		{Name: "counter", Help: "time source: counter of the CPU, or clock of the kernel", Default: string(Auto), Choices: workload.Words(Counters)},
	},
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		w := watchCPUs()
		r, err := Run(ctx, optionsOf(v))
		r.Occupants, r.Unnamed = w.occupants(r.CPUs)
		return workload.Outcome{Answer: strconv.Itoa(r.Ms), Seconds: r.Observed, Value: r.Share * 100, Detail: r}, err
	},
	Result: workload.ReadAs[Result],
}

func optionsOf(v workload.Values) Options {
	return Options{Ms: v.Int("ms"), Counter: Counter(v["counter"])}
}
