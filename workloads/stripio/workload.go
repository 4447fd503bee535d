package stripio

import (
	"context"

	"piton/internal/kernel"
	"piton/workloads/machine"
	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "stripio",
	Help:       "merge file strips: source-aware interrupts, modelled",
	Length:     "size",
	Placements: []string{"normal", "pack", "spread"},
	Metric:     workload.Metric{Name: "bandwidth", Unit: "MB/s", HigherIsBetter: true},
	Params: []workload.Param{
		{Name: "apps", Help: "concurrent applications", Default: "1", Min: 1, Max: MaxApps},
		{Name: "mode", Help: "reader and merger of an application: two threads of a process, or two processes", Default: string(Threads), Choices: workload.Words(Modes)},
		{Name: "mapping", Help: "choice of CPUs: by the kernel, both on one (source), or on two (apart)", Default: string(ByKernel), Choices: workload.Words(Mappings)},
		{Name: "files", Help: "files that the strips come from, round robin", Default: "16", Min: 1, Max: MaxFiles},
		{Name: "size", Help: "MiB that each application reads", Default: "1024", Min: 1, Max: MaxMiB},
	},
	Check: func(v workload.Values) error { return optionsOf(v).Validate() },
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: r.Answer(), Seconds: r.Seconds, Value: r.MBs, Detail: r}, err
	},
	Process: runProcess,
	Result:  workload.ReadAs[Result],
}

func optionsOf(v workload.Values) Options {
	return Options{
		Apps: v.Int("apps"), Files: v.Int("files"), MiB: v.Int("size"),
		Mode: Mode(v["mode"]), Mapping: Mapping(v["mapping"]),
		Command: workload.OwnCommand("stripio"), Scheduler: kernel.System(), AvailableBytes: machine.AvailableBytes("/"),
	}
}
