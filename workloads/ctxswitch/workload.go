package ctxswitch

import (
	"context"

	"piton/internal/kernel"
	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "ctxswitch",
	Help:       "cost of a context switch, length of timeslices",
	Length:     "rounds",
	Placements: []string{"normal", "pack", "spread"},
	Metric:     workload.Metric{Name: "context switch", Unit: "µs"},
	Params: []workload.Param{
		{Name: "mode", Help: "hand over by pipe or futex, or share the CPU by timeslices (turns)", Default: string(Pipe), Choices: workload.Words(Modes)},
		{Name: "procs", Help: "processes", Default: "2", Min: MinProcs, Max: MaxProcs},
		{Name: "kib", Help: "KiB that a process reads at each switch; not with turns", Default: "0", Min: 0, Max: MaxKiB},
		{Name: "rounds", Help: "rounds through all processes; not with turns", Default: "100000", Min: MinRounds, Max: MaxRounds},
		{Name: "ms", Help: "observation time in milliseconds; with turns", Default: "500", Min: MinMs, Max: MaxMs},
	},
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: r.Answer, Seconds: r.Seconds, Value: r.Switch(), Detail: r}, err
	},
	Process: runProcess,
	Result:  workload.ReadAs[Result],
}

func optionsOf(v workload.Values) Options {
	return Options{
		Mode: Mode(v["mode"]), Procs: v.Int("procs"), KiB: v.Int("kib"), Rounds: v.Int("rounds"), Ms: v.Int("ms"),
		Command: workload.OwnCommand("ctxswitch"), Scheduler: kernel.System(),
	}
}
