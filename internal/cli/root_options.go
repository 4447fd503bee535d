package cli

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"piton/internal/change"
)

// rootOptions are the flags of piton without a command.
type rootOptions struct {
	headless bool
	monitor  monitorOptions
	tuning   tuningOptions
	apply    applyOptions
}

func newRootOptions() *rootOptions {
	return &rootOptions{monitor: newMonitorOptions()}
}

// addFlags leaves out those of changes in read-only mode.
func (o *rootOptions) addFlags(fs *pflag.FlagSet, readonly bool) {
	fs.BoolVar(&o.headless, "headless", false, "no screen: print samples, or change the tasks of --pid and end")
	o.monitor.addFlags(fs)
	if readonly {
		return
	}
	o.tuning.addFlags(fs)
	o.apply.addApplyFlags(fs)
}

func runRoot(ctx context.Context, a *app, o *rootOptions, fs *pflag.FlagSet) error {
	if err := o.monitor.limit(a); err != nil {
		return err
	}
	ofChange := func(name string) bool { return changeFlags().Lookup(name) != nil }
	if !o.headless {
		headless := func(name string) bool {
			return ofChange(name) || slices.Contains([]string{"count", "output", "pid"}, name)
		}
		if name := given(fs, headless); name != "" {
			return usagef("--%s is for --headless", name)
		}
		return runScreen(ctx, a, o)
	}
	if o.tuning.any() {
		return runHeadlessTuning(ctx, a, o, fs)
	}
	if name := given(fs, ofChange); name != "" {
		return usagef("--%s needs something to change: --pin, --nice, --policy, --ioprio, --slice, --uclamp or --mem", name)
	}
	return runMonitor(ctx, a, &o.monitor)
}

// runHeadlessTuning changes the tasks of --pid.
func runHeadlessTuning(ctx context.Context, a *app, o *rootOptions, fs *pflag.FlagSet) error {
	watching := []string{"count", "columns", "sort", "filter", "cpus", "threads"}
	if name := given(fs, func(name string) bool { return slices.Contains(watching, name) }); name != "" {
		return usagef("--%s is for samples, not for a change", name)
	}
	if len(o.monitor.pids) == 0 {
		return usagef("missing --pid: use --pid PID,...")
	}
	want, err := o.tuning.change(a)
	if err != nil {
		return err
	}
	if err := o.tuning.scope.check(); err != nil {
		return err
	}
	o.apply.output = o.monitor.output
	if !a.live() {
		return change.ErrNotLive
	}
	targets := o.monitor.pids.targets(o.tuning.scope.scope())
	if err := a.noTask(targets); err != nil {
		return err
	}
	return a.tune(ctx, chosen{targets: targets}, want, o.apply)
}
