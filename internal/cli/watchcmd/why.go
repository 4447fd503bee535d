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

// mostVictims is how many targets --blame takes: each is watched by itself.
const mostVictims = 16

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

It ends after --for, at ^C, or with the last target, with the answer so far. Where eBPF cannot run, sums, pressure (PSI)
and limits come from /proc and the files of control groups, and causes are not known.

` + flags.TargetHelp + `
With -o json: a wait line for each cause, then a why line; with --blame a blame line for each offender and target (see
piton schema).`,
		Example: "  piton why nginx\n  piton why cgroup:system.slice/nginx.service --for 30s\n  piton why 3641 --tree -o json\n  piton why --blame nginx sshd",
		GroupID: app.GroupLook,
		Args:    flags.NeedArgs(1, "a target"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runWhy(cmd.Context(), a, args, o) },
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	o.scope.AddFlags(cmd.Flags())
	cmd.Flags().Var(&o.length, "for", "observe so long")
	cmd.Flags().BoolVar(&o.blame, "blame", false, "print who kept the targets waiting, and how long each of them; needs eBPF")
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
	asked := [][]string{words}
	if o.blame { // each word is a victim of its own
		asked = nil
		for _, word := range words {
			asked = append(asked, []string{word})
		}
	}
	if len(asked) > mostVictims {
		return exit.Usagef("--blame takes at most %d targets; a control group is one", mostVictims)
	}
	var all []*observed
	var missing error
	for _, words := range asked {
		found, unmatched, err := a.Watched(words, o.scope.Value())
		if err != nil {
			return err
		}
		missing = errors.Join(missing, unmatched)
		if len(found.IDs) > 0 {
			all = append(all, &observed{words: words, targets: found})
		}
	}
	if len(all) == 0 {
		return missing
	}
	if missing != nil {
		missing = exit.With(exit.Some, missing)
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	if err := observe(ctx, procfs.New(a.HostRoot), o.length.Duration, all); err != nil {
		return err
	}
	if a.Signal != 0 {
		missing = exit.With(128+int(a.Signal), nil)
	}
	if o.blame {
		return errors.Join(printBlame(a, o.output, all), missing)
	}
	target := all[0].target
	target.Name, target.Words, target.Flags = strings.Join(words, " "), words, scopeFlags(o.scope.Value())
	w := whyAnswer{Answer: why.Explain(all[0].Observation, target), at: time.Now(), code: exit.Code(missing)}
	w.print(a, o.output)
	return missing
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

// observed is what was seen of a target, and what is known of it.
type observed struct {
	words   []string
	targets watch.Targets
	lacking error // why causes are not known
	session *session.Session
	why.Observation
	target *why.Target
}

// observe looks at targets until ctx ends, for a length of time, or until none is left.
func observe(ctx context.Context, fs procfs.FS, length time.Duration, all []*observed) (err error) {
	for _, o := range all {
		if o.session, err = session.Open(fs, o.targets); err != nil {
			return err
		}
		defer o.session.Close()
		o.lacking = o.session.Lacking
	}
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
			left, err = lookAt(all)
		}
	}
	for _, o := range all {
		if err == nil {
			o.Observation, o.target, err = o.session.Take()
		}
	}
	return err
}

// lookAt reports whether a target is left.
func lookAt(all []*observed) (left bool, err error) {
	for _, o := range all {
		one, err := o.session.Look()
		if err != nil {
			return false, err
		}
		left = left || one
	}
	return left, nil
}
