package rulescmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cli/app"
	"piton/internal/cli/output"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/rules"
	"piton/internal/rules/daemon"
	"piton/internal/sample"
	"piton/internal/shell"
)

type runOptions struct {
	output      output.Format
	dryRun, yes bool
}

func newRun(a *app.App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "apply a rules file until stopped",
		Long: `Apply a rules file to the running processes, then to each process as it starts, and print a line for each.
A rule is applied once to a process; one with a trigger, each time that it fires. With place = "auto" placements are tried
on the process 5 s later, one process at a time, as piton auto does, and the line of piton auto says what was kept.
With follow the packets of a rule's processes are steered as piton irq follow does, as long as one of them runs.
Processes are met by eBPF within milliseconds, by the kernel's process connector where eBPF does not work, else by a scan.
It runs in the foreground, one for each user. SIGHUP reads the file again, but not standard input; one with mistakes
is reported, and the old rules stay. SIGTERM and piton rules stop end it. What it did stays in force; piton rules stop --undo undoes it.
` + fileHelp + `
With -o json: daemon, applied, auto and steered lines (see piton schema).`,
		Example: "  piton rules run\n  piton rules run web.toml --dry-run\n  piton rules run /etc/piton/rules.toml -o json",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := findRules(a, args)
			if err != nil {
				return err
			}
			return runRun(cmd.Context(), a, path, o)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would be changed, and change nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "allow rules that make processes real-time: one that never sleeps keeps others from its CPU")
	return cmd
}

func runRun(ctx context.Context, a *app.App, path string, o runOptions) error {
	if !a.Live() {
		return change.ErrNotLive
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	a.WarnLostGuards()
	proc := procfs.New(a.HostRoot)
	j.Gone = func(e *change.Entry) bool { return history.Ended(proc, e) }
	j.CompactAt = 1 << 20 // seldom: each time it asks for every process whether it still runs
	if !o.dryRun {
		release, err := daemon.NewInstance(kernel.EUID(), j.Path()).Acquire(shell.Join(append([]string{"piton"}, a.Args...)...))
		if err != nil {
			return err
		}
		defer release()
	}
	machine, err := daemon.OpenLive(a.HostRoot, a.EBPF(sample.EBPFNow))
	if err != nil {
		return err
	}
	defer machine.Close()
	defer a.StayLight()()
	source := daemon.OpenSource(a.Source.Value != app.SourceProc)
	defer source.Close()
	reload := make(chan struct{}, 1)
	ctx, stop := a.Until(ctx, func(s syscall.Signal) bool {
		switch s {
		case syscall.SIGHUP:
			select {
			case reload <- struct{}{}:
			default: // it will be read once for both
			}
		case syscall.SIGTERM: // of systemd and piton rules stop
		default:
			a.Signal = s
		}
		return s != syscall.SIGHUP
	})
	defer stop()
	printer, silent := printer{a, path, source.Name, o.output}, false
	d, err := daemon.New(daemon.Options{
		Load:   loader(a, path, o),
		Reload: reload, Source: source.Source, Machine: machine, Self: kernel.TID(os.Getpid()),
		Applier:  &daemon.Changer{Tuner: a.RulesTuner(j, true), Wants: machine, DryRun: o.dryRun},
		Searcher: searcher(a, j, o),
		Follower: follower(a, j, o),
		Report: func(r daemon.Report) {
			printer.report(r)
			a.Changed = a.Changed || r.Effect != nil && r.Effect.Entry > 0
			switch {
			case a.WriteErr == nil:
			case !full(a.WriteErr): // nobody reads, as after the terminal was closed
				stop()
			case !silent:
				silent = true
				a.Warn("rules go on being applied, and nothing more is printed: %v", a.WriteErr)
			}
		},
	})
	if err != nil {
		return err
	}
	if source.Better != nil {
		a.Warn("processes are met by %s: %v", source.Name, source.Better)
	}
	state := "in force"
	if o.dryRun {
		state = "tried, and nothing is changed"
	}
	printer.report(daemon.Report{Kind: daemon.Started, Note: fmt.Sprintf("%d rules of %s are %s; processes are met by %s", d.Rules(), path, state, source.Name)})
	// A placement takes 0.1 ms, and the runtime's threads would wake each other ten times for
	// it: with one P, and a monitor thread that sleeps through it, they do not.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	_ = kernel.SlackTimers(10 * time.Millisecond) // without the right it costs more
	err = d.Run(ctx)
	printer.report(daemon.Report{Kind: daemon.Stopped, Note: fmt.Sprintf("%d rules were applied to processes", d.Stats().Applied)})
	return err
}

// full reports whether an error is of a disk that has no room for more of a log.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// searcher is for rules whose placement is found by trying; nil where nothing is changed.
func searcher(a *app.App, j *journal.Journal, o runOptions) daemon.Searcher {
	if o.dryRun {
		return nil
	}
	return &daemon.Seeker{Tuner: a.RulesTuner(j, false), Measure: a.Measure}
}

// follower is for rules whose packets follow processes; nil where nothing is changed.
func follower(a *app.App, j *journal.Journal, o runOptions) daemon.Follower {
	if o.dryRun {
		return nil
	}
	return &daemon.Steerer{Tuner: a.RulesTuner(j, false), Topology: a.Topology, Interrupts: a.Interrupts}
}

// loader returns what reads the rules at the start, and again for SIGHUP.
func loader(a *app.App, path string, o runOptions) func() (*rules.Set, error) {
	again := false
	return func() (*rules.Set, error) {
		if again && app.ReadOnce(path) {
			return nil, fmt.Errorf("%s is no file that can be read again", path)
		}
		again = true
		return permitted(a, path, o)
	}
}

// permitted reads a file whose rules may all be applied.
func permitted(a *app.App, path string, o runOptions) (*rules.Set, error) {
	set, err := readRules(a, path, !o.dryRun)
	if err != nil || o.yes || o.dryRun {
		return set, err
	}
	for _, r := range set.Rules {
		if r.RealTime() {
			return nil, fmt.Errorf("%s: line %d: %s makes processes real-time, and one that never sleeps keeps others from its CPU; --yes allows it",
				path, r.Line, r.Title())
		}
	}
	return set, nil
}
