package wakeup

import (
	"context"

	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "wakeup",
	Help:       "wakeup latency at a paced load, as schbench",
	Length:     "requests",
	Placements: []string{"normal", "pack", "spread"},
	Metric:     workload.Metric{Name: "wakeup p99", Unit: "µs"},
	Params: []workload.Param{
		{Name: "messages", Help: "message threads, which wake workers", Default: "1", Min: 1, Max: MaxMessages},
		{Name: "workers", Help: "worker threads of each message thread", Default: "4", Min: 1, Max: MaxWorkers},
		{Name: "rate", Help: "requests a second of each message thread", Default: "1000", Min: MinRate, Max: MaxRate},
		{Name: "ksteps", Help: "work of a request, in thousand steps of a generator (some 1 µs each)", Default: "100", Min: 0, Max: MaxKSteps},
		{Name: "requests", Help: "requests in all", Default: "2000", Min: MinRequests, Max: MaxRequests},
	},
	Check: func(v workload.Values) error { return optionsOf(v).Validate() },
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: r.Answer, Seconds: r.Seconds, Value: r.Wakeups.P99, Detail: r}, err
	},
	Result: workload.ReadAs[Result],
}

func optionsOf(v workload.Values) Options {
	return Options{Messages: v.Int("messages"), Workers: v.Int("workers"), Rate: v.Int("rate"), KSteps: v.Int("ksteps"), Requests: v.Int("requests")}
}
