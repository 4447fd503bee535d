package bench

import (
	"context"

	"piton/internal/kernel"
	"piton/workloads/ctxswitch"
)

var contextSwitch = Workload{
	Name:   "ctxswitch",
	Help:   "pass one CPU from process to process, by pipe, by futex or by the kernel's choice: the cost of a switch, the length of turns",
	Metric: Metric{Name: "context switch", Unit: "µs"},
	Params: []Param{
		{Name: "mode", Help: "pass a byte through pipes, wake by futex, or all want the CPU and take turns", Default: string(ctxswitch.Pipe), Choices: words(ctxswitch.Modes)},
		{Name: "procs", Help: "processes", Default: "2", Min: ctxswitch.MinProcs, Max: ctxswitch.MaxProcs},
		{Name: "kib", Help: "KiB of its own memory that a process reads at each switch; not for turns", Default: "0", Min: 0, Max: ctxswitch.MaxKiB},
		{Name: "rounds", Help: "rounds through all processes; not for turns", Default: "100000", Min: ctxswitch.MinRounds, Max: ctxswitch.MaxRounds},
		{Name: "ms", Help: "how long all want the CPU, in milliseconds; for turns", Default: "500", Min: ctxswitch.MinMs, Max: ctxswitch.MaxMs},
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
