package chat

import (
	"context"
	"errors"

	"piton/internal/kernel"
	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "chat",
	Help:       "chat over TCP: hundreds of threads in few processes",
	Length:     "messages",
	Placements: []string{"normal", "pack", "spread"},
	Metric:     workload.Metric{Name: "throughput", Unit: "messages/s", HigherIsBetter: true},
	Params: []workload.Param{
		{Name: "rooms", Help: "rooms of 20 members with two threads each on both sides", Default: "10", Min: 1, Max: MaxRooms},
		{Name: "messages", Help: "messages per member", Default: "50", Min: 1, Max: MaxMessages},
		{Name: "pairs", Help: "client processes, each with its own server", Default: "1", Min: 1, Max: MaxPairs},
		{Name: "mapping", Help: "choice of CPUs: by the kernel, or one per process, pair or thread; or aggregate threads by address space", Default: string(ByKernel), Choices: workload.Words(Mappings)},
	},
	Check: func(v workload.Values) error { return optionsOf(v).Validate() },
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: r.Answer(), Seconds: r.Seconds, Value: r.PerS, Detail: r}, err
	},
	Process: runProcess,
	Result:  workload.ReadAs[Result],
}

func optionsOf(v workload.Values) Options {
	return Options{
		Rooms: v.Int("rooms"), Messages: v.Int("messages"), Pairs: v.Int("pairs"), Mapping: Mapping(v["mapping"]),
		Command: workload.OwnCommand("chat"), Scheduler: kernel.System(), Aggregator: OpenAggregator,
	}
}

// OpenAggregator is Options.Aggregator. The laboratory has it.
var OpenAggregator = func() (end func() (any, error), err error) {
	return nil, errors.New("this piton is built without the scheduler")
}
