package cli

import (
	"context"

	"github.com/spf13/pflag"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/tunecmd"
	"piton/internal/cli/watchcmd"
)

// rootOptions are the flags of piton without a command.
type rootOptions struct {
	version  bool
	headless bool
	monitor  watchcmd.Monitor
	tuning   tunecmd.Settings
	apply    changes.Options
}

func newRootOptions() *rootOptions {
	return &rootOptions{monitor: watchcmd.NewMonitor()}
}

// addFlags leaves out those of changes in read-only mode.
func (o *rootOptions) addFlags(fs *pflag.FlagSet, readonly bool) {
	fs.BoolVar(&o.headless, "headless", false, "no screen: print samples, or change the tasks of --pid and end")
	o.monitor.AddFlags(fs)
	if readonly {
		return
	}
	o.tuning.AddFlags(fs)
	o.apply.AddChangeFlags(fs)
}

func runRoot(ctx context.Context, a *app.App, o *rootOptions, fs *pflag.FlagSet) error {
	if err := o.monitor.LimitCPUs(a.FlagCPUs); err != nil {
		return err
	}
	ofChange := func(f *pflag.Flag) bool { return tunecmd.ChangeFlags().Lookup(f.Name) != nil }
	if !o.headless {
		headless := func(f *pflag.Flag) bool { return ofChange(f) || flags.Headless.Of(f) }
		if name := flags.FirstGiven(fs, headless); name != "" {
			return exit.Usagef("--%s is for --headless", name)
		}
		return runScreen(ctx, a, o)
	}
	if o.tuning.Any() {
		return runHeadlessTuning(ctx, a, o, fs)
	}
	if name := flags.FirstGiven(fs, ofChange); name != "" {
		return exit.Usagef("--%s needs something to change: --pin, --nice, --policy, --ioprio, --slice, --uclamp or --mem", name)
	}
	return watchcmd.RunMonitor(ctx, a, &o.monitor)
}

// runHeadlessTuning changes the tasks of --pid.
func runHeadlessTuning(ctx context.Context, a *app.App, o *rootOptions, fs *pflag.FlagSet) error {
	if name := flags.FirstGiven(fs, flags.Samples.Of); name != "" {
		return exit.Usagef("--%s is for samples, not for a change", name)
	}
	if len(o.monitor.PIDs) == 0 {
		return exit.Usagef("missing --pid: use --pid PID,...")
	}
	want, err := o.tuning.Tuning(a)
	if err != nil {
		return err
	}
	if err := o.tuning.Scope.Check(); err != nil {
		return err
	}
	o.apply.Output = o.monitor.Output
	if !a.Live() {
		return change.ErrNotLive
	}
	targets := o.monitor.PIDs.Targets(o.tuning.Scope.Value())
	if err := a.MissingTasks(targets); err != nil {
		return err
	}
	return tunecmd.Tune(ctx, a, app.Chosen{Targets: targets}, want, o.apply)
}
