package bench

import (
	"context"
	"io"
	"os"

	"piton/internal/kernel"
	"piton/workloads/stripio"
)

var stripIO = Workload{
	Name:   "stripio",
	Help:   "merge file strips: source-aware interrupts, modelled",
	Length: "size",
	Metric: Metric{Name: "bandwidth", Unit: "MB/s", HigherIsBetter: true},
	Params: []Param{
		{Name: "apps", Help: "concurrent applications", Default: "1", Min: 1, Max: stripio.MaxApps},
		{Name: "mode", Help: "reader and merger of an application: two threads of a process, or two processes", Default: string(stripio.Threads), Choices: words(stripio.Modes)},
		{Name: "mapping", Help: "choice of CPUs: by the kernel, both on one (source), or on two (apart)", Default: string(stripio.ByKernel), Choices: words(stripio.Mappings)},
		{Name: "files", Help: "files that the strips come from, round robin", Default: "16", Min: 1, Max: stripio.MaxFiles},
		{Name: "size", Help: "MiB that each application reads", Default: "1024", Min: 1, Max: stripio.MaxMiB},
	},
	Check: func(v Values) error { return stripOptions(v).Validate() },
	Run: func(ctx context.Context, v Values) (Outcome, error) {
		o := stripOptions(v)
		var err error
		if o.Command, err = ownPeerCommand("stripio"); err != nil {
			return Outcome{}, err
		}
		r, err := stripio.Run(ctx, o)
		return Outcome{Answer: r.Answer(), Seconds: r.Seconds, Value: r.MBs, Detail: r}, err
	},
	Peer:    func(_ []string, in *os.File, out io.Writer) int { return stripio.Process(in, out) },
	Picture: picture(stripio.Picture),
}

func stripOptions(v Values) stripio.Options {
	return stripio.Options{
		Apps: v.Int("apps"), Files: v.Int("files"), MiB: v.Int("size"),
		Mode: stripio.Mode(v["mode"]), Mapping: stripio.Mapping(v["mapping"]),
		Scheduler: kernel.System(), AvailableBytes: availableBytes("/"),
	}
}
