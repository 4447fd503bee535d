package irqcmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/topology"
	"piton/internal/watch"
)

const followLong = `With --show, print every second the flows that processes read from: the CPUs on which the kernel handled their packets
(HANDLED ON), the CPUs on which the processes read (READ ON), and the share of bytes that was read on the same CPU, in its
last-level cache and on its node, all counted by eBPF at each read. Nothing is changed, and nothing stays attached.

WAY is what decides on which CPU packets are handled: rfs (the reader's CPU, if RFS knows the flow), rps (one of the
queue's RPS CPUs), irq (the CPU that took the queue's interrupt) or sender (the CPU that sent them, for lo and veth).
Flows are of TCP and UDP. The handling CPU of an unconnected UDP socket is not known, nor the interface of a UDP socket
that is not bound to one. What splice(2) takes from a socket, and UDP before Linux 6.3, is counted where eBPF programs
can be hooked to functions of the kernel (fentry).

Without --show, look for 2 s, and then have packets handled where a policy says, until ^C, --for or the end of the
processes; after that everything is as it was before, also if piton is killed. Policies: current, the CPU of the reader;
request, the CPU on which the connection was written to last; least-loaded, the CPU with the most idle time, chosen anew
each second; dedicated=CPUS; apart, another CPU of the reader's last-level cache (pin a reader that follows its packets there).
Nothing is set where it would gain nothing: for current and request, 95 % are read where they were handled already.
Ways, of which --via auto takes the first that there is, and prints why a better one is not to be had:
  arfs         RFS by filters of the NIC, which the kernel writes for each flow and moves with its reader (current); ntuple
               means the same. They must be on: ethtool -K NIC ntuple on
  rfs          rps_sock_flow_entries, and rps_flow_cnt of the queues of the interfaces that the flows come in by (current)
  xdp          a program in the driver hands packets to the other CPU (all policies)
  irq          the affinity of those queues' interrupts (least-loaded, dedicated, apart)
  rps          rps_cpus of those queues (least-loaded, dedicated, apart)
  xdp-generic  the same after the driver, for each packet by itself (all policies)
  hint         the reader's CPU travels in a TCP option of the requests, piton irq hint serve on the other side sends it back,
               and the replies are handed to it (current, request); for connections made afterwards, and only if asked for.
               --hint-carrier ip takes the option {0xA0|CPU, 2, 0, 0} of IPv4 instead: Linux 6.6, CPUs 0 to 31. It costs 26 to
               29 % of the throughput, as the kernel merges no such packets (GRO), and routers may drop them
arfs, rfs, irq and rps concern all flows of the interface; xdp and hint those of the processes, with --tree also
of those that they begin, within a second; they end with piton without a trace. RFS is to be had in the initial network
namespace only, and interfaces are those of piton's own namespace: ip netns exec NAME piton irq follow … steers in another
one. Steering ends after 23 hours at the latest. Settings are one entry of the journal, under a guard.
--try 60s steers and does not steer in turn, in pairs of periods in tossed order, and judges by the bytes that the
processes receive and send, as piton bench attach does.

TARGET is a PID, a name, a glob, /regex/ on the name, cmd:/regex/ on the command line, user:NAME or cgroup:PATH; it means
whole processes (see piton help targets).
With -o json: with --show a flow line for each flow and interval, with --dry-run the changes; then a follow line (see
piton schema follow).`

type followOptions struct {
	output output.Format
	length flags.Interval
	delay  flags.Interval
	tree   bool
	show   bool
	steer  steerOptions
}

func newIRQFollow(a *app.App) *cobra.Command {
	o := followOptions{length: flags.Interval{Min: time.Millisecond, Max: 30 * 24 * time.Hour},
		delay: flags.Interval{Duration: time.Second, Min: 100 * time.Millisecond, Max: time.Hour}}
	cmd := &cobra.Command{
		Use:   "follow TARGET…",
		Short: "show where the packets of processes are handled and read, and have both on one CPU",
		Long:  followLong,
		Example: "  piton irq follow nginx --show\n  piton irq follow 3641 --show --for 10s -o json\n  piton irq follow 3641 --tree --show -d 5s\n" +
			"  piton irq follow nginx\n  piton irq follow 3641 --policy request --for 10m\n  piton irq follow 3641 --policy dedicated=2-3 --dry-run\n" +
			"  piton irq follow 3641 --try 60s",
		Args: flags.NeedArgs(1, "a target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if steers := changedFlags(cmd.Flags(), steerFlags...); steers != "" && o.show {
				return exit.Usagef("give --show or --%s, not both", steers)
			} else if steers == "" && a.ReadOnly {
				o.show = true
			}
			return runFollow(cmd.Context(), a, args, o)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().Var(&o.length, "for", "end after so long (default: at ^C)")
	cmd.Flags().VarP(&o.delay, "delay", "d", "time between tables of --show, 100ms to 1h")
	cmd.Flags().BoolVar(&o.show, "show", false, "only show, change nothing")
	cmd.Flags().BoolVar(&o.tree, "tree", false, "the processes and all their descendants")
	o.steer.addFlags(cmd.Flags())
	return cmd
}

var errFollowLive = exit.With(exit.NotPermitted, errors.New("piton irq follow sees this machine only, not --host-root"))

func runFollow(ctx context.Context, a *app.App, words []string, o followOptions) error {
	if !a.Live() {
		return errFollowLive
	}
	scope := change.ScopeProcess
	if o.tree {
		scope = change.ScopeTree
	}
	found, missing, err := a.Watched(words, scope)
	if err != nil {
		return err
	}
	if len(found.IDs) == 0 {
		return missing
	}
	if found.Scope == watch.Thread {
		return exit.Usagef("thread:/regex/ means single threads, and flows are of whole processes")
	}
	if o.show {
		return showFlows(ctx, a, found, missing, o)
	}
	return errors.Join(steer(ctx, a, found, o), missing)
}

// showFlows prints until it is to end; missing is an error about targets that are not there
// while others are.
func showFlows(ctx context.Context, a *app.App, t watch.Targets, missing error, o followOptions) error {
	topo, err := a.Topology()
	if err != nil {
		return err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	f, err := watch.OpenFollow(procfs.New(a.HostRoot), t)
	if err != nil {
		return exit.With(exit.NotPermitted, err)
	}
	defer f.Close()
	if !f.UDP() {
		a.Warn("this kernel tells of TCP alone: before Linux 6.3 UDP takes eBPF programs at functions (fentry), which it refuses")
	}
	l := &flowLog{a: a, topo: topo, json: o.output.JSON(), pids: f.PIDs(), fs: irq.New(a.HostRoot),
		sockets: map[uint64]bool{}, byVia: map[irq.Via]uint64{}, steered: unsteered()}
	err = errors.Join(f.Run(ctx, o.delay.Duration, o.length.Duration, l.interval), missing)
	if a.Signal != 0 {
		err = exit.With(128+int(a.Signal), nil)
	}
	l.code = exit.Code(err)
	l.end()
	return err
}

// flowLog prints the flows of each interval, and sums them up.
type flowLog struct {
	a         *app.App
	topo      *topology.Topology
	fs        irq.FS
	json      bool
	pids      []kernel.TID
	intervals int
	took      time.Duration
	all       model.Locality
	lost      uint64
	sockets   map[uint64]bool    // by their cookies
	byVia     map[irq.Via]uint64 // bytes
	code      int
	steered   *steerEnd
}
