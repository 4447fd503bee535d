package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/procfs"
)

// newBenchAttach compares placements of a running process.
func newBenchAttach(a *app.App) *cobra.Command {
	o := newBenchOptions()
	o.warmup.N = 0
	period := flags.Interval{Duration: 5 * time.Second, Min: 100 * time.Millisecond, Max: time.Hour}
	rate := "run-delay"
	cmd := &cobra.Command{
		Use:   "attach TARGET",
		Short: "compare placements on a running process",
		Long: `Place a running process under several placements, interleaved, each for a period, and compare a rate of the process.
The placement is undone after each period, so normal is the state before. Rates:

` + runner.RateHelp(),
		Example: "  piton bench attach 3641 --place normal --place llc --period 5s --rate switches\n" +
			"  piton bench attach nginx --place normal --place spread --rate file:/run/app/requests",
		Args: flags.NeedArgs(1, "a process"),
		RunE: func(cmd *cobra.Command, args []string) error {
			figure, err := runner.RateFigure(rate)
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			return attachBench(cmd.Context(), a, args, bench.Study{Workload: bench.AttachWorkload, Figure: figure, Period: period.Duration}, o)
		},
	}
	fs := cmd.Flags()
	fs.Var(&period, "period", "time of each placement; the first tenth does not count")
	fs.StringVar(&rate, "rate", rate, "`RATE` to compare")
	o.addFlags(fs, usualPlaces)
	return cmd
}

func attachBench(ctx context.Context, a *app.App, words []string, study bench.Study, o *benchOptions) error {
	found, unmatched, err := a.Targets(words, change.ScopeProcess)
	if err := errors.Join(unmatched, err); err != nil {
		return err
	}
	if len(found.Targets) != 1 {
		return exit.Usagef("piton bench attach takes one process; %d match", len(found.Targets))
	}
	pid := found.Targets[0].TID
	st, err := procfs.New(a.HostRoot).Stat(pid)
	if errors.Is(err, procfs.ErrGone) {
		return fmt.Errorf("no process %d", pid)
	}
	if err != nil {
		return err
	}
	study.Args = []string{fmt.Sprint(pid), string(st.Comm)}
	return runBench(ctx, a, study, o)
}
