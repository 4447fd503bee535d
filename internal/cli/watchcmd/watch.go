package watchcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
)

type watchOptions struct {
	output  output.Format
	scope   flags.Scope
	length  flags.Interval
	wakes   bool
	changes bool
	delay   flags.Interval // of wakes
}

func newWatch(a *app.App) *cobra.Command {
	o := watchOptions{length: flags.Interval{Min: time.Millisecond, Max: 30 * 24 * time.Hour},
		delay: flags.Interval{Duration: time.Second, Min: 100 * time.Millisecond, Max: time.Hour}}
	cmd := &cobra.Command{
		Use:   "watch TARGET… [--for 10s] | --wakes [TARGET…] | --changes [TARGET…]",
		Short: "print each migration of tasks as it happens, which thread wakes which, or who changes what",
		Long: `Print each migration of the targets' threads, those born meanwhile too: time, thread, both CPUs, distance.
At the end (^C, --for, or the end of the last target) print the sums by thread, by distance and by pair of CPUs.

The sums are exact. They have the moves that came too fast to print, counted as lost, and those that the kernel hid
from eBPF with the task that was running (a hypervisor's agent, say), counted as unseen: each thread's own count has them.
Where eBPF cannot run, piton prints how often each thread moved every half second, without the CPUs.

With --wakes, print every second which thread wakes which instead, for the targets or for all tasks: wakeups a second of
WAKEE by WAKER and back, and how far apart the CPUs are on which the two last ran. A wakeup by a device, a timer or a
softirq counts as interrupt: the task that it interrupted is not the waker. It needs eBPF.

With --changes, print who changes how tasks and control groups are scheduled instead, of the targets or of all, as it
happens: affinity, policy, nice value and I/O priority of a thread, which control group it is in, and the weight, quota
and cpuset of control groups that targets are in. A line has the changer with its systemd unit, the values before and
after, and the error of a change that the kernel refused. Those of piton are marked: this program. At the end, how
often each program changed what. It needs eBPF. Changes by io_uring and by 32-bit programs are not seen.

` + flags.TargetHelp + `
With -o json: a watch line when it begins, a move line for each move (without eBPF a count line for each thread and half
second), then task lines, pair lines and a summary; with --wakes a wake line for each pair and interval, then a
wake_summary; with --changes a set line for each change, then setter lines and a set_summary (see piton schema).`,
		Example: "  piton watch 3641\n  piton watch nginx --for 10s -o json\n  piton watch 3650 --thread\n  piton watch --wakes nginx -d 5s\n  piton watch --changes nginx",
		GroupID: app.GroupLook,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.wakes || o.changes {
				return nil
			}
			return flags.NeedArgs(1, "a target")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runWatch(cmd.Context(), a, args, o)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	o.scope.AddFlags(cmd.Flags())
	cmd.Flags().Var(&o.length, "for", "end after so long (default: at ^C)")
	cmd.Flags().BoolVar(&o.wakes, "wakes", false, "print which thread wakes which instead, without targets of all tasks")
	cmd.Flags().BoolVar(&o.changes, "changes", false, "print who changes affinity, policy, nice value, weight, … instead, without targets of all")
	cmd.Flags().VarP(&o.delay, "delay", "d", "time between tables of --wakes, 100ms to 1h")
	return cmd
}

var errWatchLive = exit.With(exit.NotPermitted, errors.New("piton watch sees this machine only, not --host-root"))

func runWatch(ctx context.Context, a *app.App, words []string, o watchOptions) error {
	if err := o.scope.Check(); err != nil {
		return err
	}
	if o.wakes && o.changes {
		return exit.Usagef("--wakes and --changes exclude each other")
	}
	if o.delay.Given && !o.wakes {
		return exit.Usagef("-d is the time between tables of --wakes; without it each migration is printed as it happens")
	}
	if !a.Live() {
		return errWatchLive
	}
	fs := procfs.New(a.HostRoot)
	var found watch.Targets
	var missing, err error
	if len(words) > 0 {
		if found, missing, err = a.Watched(words, o.scope.Value()); err != nil {
			return err
		}
	}
	topo, err := a.Topology()
	if err != nil {
		return err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	switch {
	case o.changes:
		return runChanges(ctx, a, fs, found, missing, o)
	case o.wakes:
		return runWakes(ctx, a, fs, found, missing, topo, o)
	}
	src, better, err := watch.Open(fs, found)
	if err != nil {
		return exit.With(exit.NotPermitted, fmt.Errorf("no source of migrations works here: %w; and %w", better, err))
	}
	defer src.Close()
	if better != nil {
		a.Warn("%v; so moves are counted for each thread, their CPUs are not known", better)
	}
	began := time.Now()
	log := newWatchLog(a, src, &watch.Totals{Topo: topo}, o.output.JSON())
	log.begin(found)
	err = watch.Run(ctx, src, o.length.Duration, log.batch)
	return log.end(time.Since(began), errors.Join(err, missing))
}

// outletBytes is how much a slow reader of the output may be behind before
// lines are left out.
const outletBytes = 16 << 20

// watchLog makes lines of what happens and sums it up.
type watchLog struct {
	a      *app.App
	src    watch.Source
	fs     procfs.FS
	totals *watch.Totals
	out    *watch.Outlet
	json   bool
	line   []byte
	names  map[kernel.TID]string // comm by thread
	lines  uint64                // about single moves, that were taken
	behind uint64                // moves whose line the output had no room for
	epoch  time.Time             // when CLOCK_MONOTONIC was 0
}

// watchSummary is what stands at the end.
type watchSummary struct {
	took time.Duration
	lost uint64 // moves without a line
	code int
}

func newWatchLog(a *app.App, src watch.Source, totals *watch.Totals, json bool) *watchLog {
	return &watchLog{
		a: a, src: src, fs: procfs.New(a.HostRoot), totals: totals, out: watch.NewOutlet(a.Out, outletBytes),
		names: map[kernel.TID]string{}, epoch: time.Now().Add(-kernel.Monotonic()), json: json,
	}
}

func (l *watchLog) begin(t watch.Targets) {
	_, _ = l.out.Offer(l.beginning(t)) // it is empty, so there is room; the first line cannot have failed
}

// batch prints and adds up what happened.
func (l *watchLog) batch(b *watch.Batch) error {
	l.totals.Add(b)
	for i := range b.Moves {
		l.line = l.move(l.line[:0], &b.Moves[i])
		taken, err := l.out.Offer(l.line)
		if err != nil {
			return err
		}
		if taken {
			l.lines++
		} else {
			l.behind++
		}
	}
	if l.src.Single() {
		return nil // counts are of moves that were lost; the summary has them
	}
	now := time.Now()
	for _, c := range b.Counts {
		l.line = l.count(l.line[:0], now, c)
		if _, err := l.out.Offer(l.line); err != nil {
			return err
		}
	}
	return nil
}

// end prints the sums; err is what ended watching before its time.
func (l *watchLog) end(took time.Duration, err error) error {
	if l.a.Signal != 0 {
		err = exit.With(128+int(l.a.Signal), nil)
	}
	s := watchSummary{took: took, code: exit.Code(err)}
	if l.src.Single() {
		s.lost = l.totals.Moves - l.totals.Unseen - l.lines
	}
	if closed := l.out.Close(); closed != nil {
		return closed
	}
	_, _ = l.a.Write(l.summary(s))
	return err
}

// name is a thread's comm, kept for when it has ended; "" if it has already.
func (l *watchLog) name(pid, tid kernel.TID) string {
	name, known := l.names[tid]
	if !known {
		if st, err := l.fs.ThreadStat(pid, tid); err == nil {
			name = string(st.Comm)
		}
		l.names[tid] = name
	}
	return name
}

func (l *watchLog) wall(at time.Duration) time.Time { return l.epoch.Add(at) }

// sourceWords names a source in a sentence.
func (l *watchLog) sourceWords() string {
	if l.src.Single() {
		return "exact (eBPF)"
	}
	return "exact for each thread while it lives (/proc)"
}

func cleaned(s string) string { return output.Dash(field.Clean(s)) }
