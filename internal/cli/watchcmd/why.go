package watchcmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/procfs"
	"piton/internal/target"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/facts"
	"piton/internal/why/session"
)

type whyOptions struct {
	output output.Format
	scope  flags.Scope
	length flags.Interval
	blame  bool
}

func newWhy(a *app.App) *cobra.Command {
	o := whyOptions{length: flags.Interval{Duration: 10 * time.Second, Min: 100 * time.Millisecond, Max: 24 * time.Hour}}
	cmd := &cobra.Command{
		Use:   "why TARGET… [--for 10s] [--blame]",
		Short: "print why tasks wait for a CPU: causes, the verdict, and what helps",
		Long: `Observe the targets' threads, and print for what they waited from when they could run until they ran, by what the CPU
did meanwhile: self (their own threads), neighbour (other tasks, by control group), real time (FIFO, RR, DEADLINE), limit
(the CPU limit of a control group), kernel (interrupts and kernel threads), host (steal), waking (a CPU out of idle).
Shares add up to 100 %, times to the kernel's own figure (run_delay of /proc/PID/schedstat).

The first word is the verdict: the cause of most of the waiting, MASK where a CPU was idle that the affinity excludes, or
NOTHING. A second one is the cause of the longest waits, where that is another one. ms/s a thread is what administrators
of VMware know as CPU Ready. What helps is a command of piton, or a sentence.
avoidable is the waiting while another CPU was idle, at least.

--blame turns it round: for each offender, whom it kept waiting, each target by itself. Without targets these are the
services, containers and sessions of the machine, by control group.

A target cgroup:PATH is the group itself: processes count that come later. It ends after --for, at ^C, or with the last target, with the answer so far. Where eBPF cannot run, sums, pressure (PSI)
and limits come from /proc and the files of control groups, and causes are not known.

` + flags.TargetHelp + `
With -o json: a wait line for each cause, then a why line; with --blame a blame line for each offender and target, then a
blame_summary (see piton schema).`,
		Example: "  piton why nginx\n  piton why cgroup:system.slice/nginx.service --for 30s\n  piton why 3641 --tree -o json\n  piton why --blame nginx sshd\n  piton why --blame --for 30s",
		GroupID: app.GroupLook,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.blame {
				return nil
			}
			return flags.NeedArgs(1, "a target")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runWhy(cmd.Context(), a, args, o) },
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	o.scope.AddFlags(cmd.Flags())
	cmd.Flags().Var(&o.length, "for", "observe so long")
	cmd.Flags().BoolVar(&o.blame, "blame", false, "print who kept the targets, or all tasks, waiting, and how long each of them; needs eBPF")
	return cmd
}

var errWhyLive = exit.With(exit.NotPermitted, errors.New("piton why sees this machine only, not --host-root"))

func runWhy(ctx context.Context, a *app.App, words []string, o whyOptions) error {
	if err := o.scope.Check(); err != nil {
		return err
	}
	if !a.Live() {
		return errWhyLive
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	if o.blame {
		return runBlame(ctx, a, words, o)
	}
	found, missing, err := whyTargets(a, words, o.scope.Value())
	if err != nil {
		return err
	}
	seen, target, err := observe(ctx, procfs.New(a.HostRoot), o.length.Duration, found)
	if err != nil {
		return err
	}
	if a.Signal != 0 {
		missing = exit.With(128+int(a.Signal), nil)
	}
	target.Name, target.Words, target.Flags = strings.Join(words, " "), words, scopeFlags(o.scope.Value())
	w := whyAnswer{Answer: why.Explain(seen, target), at: time.Now(), code: exit.Code(missing)}
	w.print(a, o.output)
	return missing
}

// whyTargets are the tasks that the words mean. A control group is observed as such, so that
// processes count that come later.
func whyTargets(a *app.App, words []string, scope change.Scope) (t watch.Targets, missing, err error) {
	if t, missing, err = a.Watched(words, scope); err != nil || t.Scope == watch.Thread {
		return t, missing, err
	}
	var others []string
	mount, _ := procfs.New(a.HostRoot).CgroupMount("cpu") // without one they are processes
	for _, word := range words {
		e, err := target.Parse(word)
		if err == nil && e.Group() != "" && len(procfs.GroupProcesses(mount.File(e.Group(), ""))) > 0 {
			t.Groups = append(t.Groups, e.Group())
			continue
		}
		others = append(others, word)
	}
	switch {
	case t.Groups == nil:
	case others == nil:
		t.IDs = nil
	default:
		rest, _, err := a.Watched(others, scope)
		if err != nil { // they match nothing, of which missing tells
			rest.IDs = nil
		}
		t.IDs = rest.IDs
	}
	return t, missing, nil
}

// scopeFlags are the flags of a command that mean a scope.
func scopeFlags(s change.Scope) []string {
	switch s {
	case change.ScopeThread:
		return []string{"--thread"}
	case change.ScopeTree:
		return []string{"--tree"}
	}
	return nil
}

// observe looks at targets until ctx ends, for a length of time, or until none is left.
func observe(ctx context.Context, fs procfs.FS, length time.Duration, t watch.Targets) (o why.Observation, of *why.Target, err error) {
	s, err := session.Open(fs, t)
	if err != nil {
		return o, nil, err
	}
	defer s.Close()
	if err := while(ctx, length, s.Look); err != nil {
		return o, nil, err
	}
	return s.Take()
}

// while waits until ctx ends, for a length of time, or until nothing is left.
func while(ctx context.Context, length time.Duration, look func() (left bool, err error)) (err error) {
	end, tick := time.NewTimer(length), time.NewTicker(facts.Every)
	defer end.Stop()
	defer tick.Stop()
	for left := true; left && err == nil; {
		select {
		case <-ctx.Done():
			left = false
		case <-end.C:
			left = false
		case <-tick.C:
			left, err = look()
		}
	}
	return err
}
