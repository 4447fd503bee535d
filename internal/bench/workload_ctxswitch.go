package bench

import (
	"context"

	"piton/internal/kernel"
	"piton/workloads/ctxswitch"
)

var contextSwitch = Workload{
	Name:   "ctxswitch",
	Help:   "cost of a context switch, length of timeslices",
	Length: "rounds",
	Metric: Metric{Name: "context switch", Unit: "µs"},
	Params: []Param{
		{Name: "mode", Help: "hand over by pipe or futex, or share the CPU by timeslices (turns)", Default: string(ctxswitch.Pipe), Choices: words(ctxswitch.Modes)},
		{Name: "procs", Help: "processes", Default: "2", Min: ctxswitch.MinProcs, Max: ctxswitch.MaxProcs},
		{Name: "kib", Help: "KiB that a process reads at each switch; not with turns", Default: "0", Min: 0, Max: ctxswitch.MaxKiB},
		{Name: "rounds", Help: "rounds through all processes; not with turns", Default: "100000", Min: ctxswitch.MinRounds, Max: ctxswitch.MaxRounds},
		{Name: "ms", Help: "observation time in milliseconds; with turns", Default: "500", Min: ctxswitch.MinMs, Max: ctxswitch.MaxMs},
	},
	Check: func(v Values) error { return ctxswitchOptions(v).Validate() },
	Run: func(ctx context.Context, v Values) (Outcome, error) {
		o := ctxswitchOptions(v)
		command, err := ownPeerCommand("ctxswitch")
		if err != nil {
			return Outcome{}, err
		}
		o.Command = command
		r, err := ctxswitch.Run(ctx, o)
		return Outcome{Answer: r.Answer, Seconds: r.Seconds, Value: r.Switch(), Detail: r}, err
	},
	Peer:    ctxswitch.Peer,
	Picture: picture(ctxswitch.Picture),
}

func ctxswitchOptions(v Values) ctxswitch.Options {
	return ctxswitch.Options{
		Mode: ctxswitch.Mode(v["mode"]), Procs: v.Int("procs"), KiB: v.Int("kib"), Rounds: v.Int("rounds"), Ms: v.Int("ms"),
		Scheduler: kernel.System(),
	}
}
