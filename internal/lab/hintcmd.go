package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/irqcmd"
	"piton/internal/cli/output"
	"piton/internal/feature"
	"piton/internal/field"
	"piton/internal/lab/hint"
	"piton/internal/procfs"
)

func newHint(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hint",
		Short: "let the CPU of a consumer travel with TCP connections",
		Long: `A client can ask in its packets for the CPU on which the replies shall be processed: where the thread that reads them is.
The server's side sends that back in the replies, and the client's side steers by it. Clients and servers stay unchanged.

The CPU travels as a TCP option (kind 253, 8 bytes) of each packet, not of SYN, or with --hint-carrier ip as the option
{0xA0|CPU, 2, 0, 0} of IPv4. Both sides take the same carrier.`,
		Example: "  piton irq hint serve",
	}
	cmd.AddCommand(newHintServe(a))
	flags.NeedsCommand(cmd)
	return cmd
}

type hintOptions struct {
	output output.Format
	length flags.Interval
	cgroup string
	by     flags.Choice
}

// carriers are the values of --hint-carrier.
var carriers = map[string]hint.Carrier{irqcmd.CarrierTCP: hint.TCP, irqcmd.CarrierIP: hint.IP}

func newHintServe(a *app.App) *cobra.Command {
	o := hintOptions{by: irqcmd.NewCarrier(), length: flags.Interval{Min: time.Millisecond, Max: 30 * 24 * time.Hour}}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "send the hints of clients back in the replies of this machine's servers",
		Long: `Send the CPU that a client asks for back in each reply, whatever server of this machine accepts the connection, until ^C
or --for. It is done by eBPF; nothing stays in the kernel after the command, also if it is killed.

Limits:
  Only connections that are accepted after the command began take part; connections without hints stay as they are.
  The option takes 8 bytes of each reply, so its data become 8 bytes fewer. GRO merges packets as before.
  Middleboxes may remove the option, then replies are steered as without it; a few drop packets with unknown options.
  MPTCP has no room for it. It takes a cgroup hierarchy of version 2, CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON.
With --hint-carrier ip:
  It costs 26 to 29 % of the throughput (measured over veth), as the kernel merges no packets with IP options (GRO).
  Five bits name CPUs 0 to 31; packets for other CPUs have no option. IPv6 has no such option.
  Routers and firewalls often drop packets with IP options; then connections that have them stand still.
  It takes Linux 6.6, and the interfaces of piton's network namespace that are up when it begins.
  Packets that would become larger than the interface allows have no option; the client's piton asks for smaller ones.

With -o json: a serve line when it begins, and a hints line with the counts at the end (see piton schema hint).`,
		Example: "  piton irq hint serve\n  piton irq hint serve --for 10m -o json\n  piton irq hint serve --hint-carrier ip\n  piton irq hint serve --cgroup /sys/fs/cgroup/system.slice/nginx.service",
		Args:    flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHintServe(cmd.Context(), a, o)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().Var(&o.length, "for", "end after so long (default: at ^C)")
	cmd.Flags().Var(&o.by, irqcmd.CarrierFlag, "what carries the CPU, as the clients' piton has it")
	cmd.Flags().StringVar(&o.cgroup, "cgroup", "", "only servers in the cgroup with this `FOLDER` and in those below (default: all)")
	return cmd
}

// serving is a run of piton irq hint serve.
type serving struct {
	cgroup string
	by     hint.Carrier
	took   time.Duration
	sums   hint.Sums
}

func runHintServe(ctx context.Context, a *app.App, o hintOptions) error {
	if !a.Live() {
		return exit.With(exit.NotPermitted, errors.New("piton irq hint serve acts on this machine only, not --host-root"))
	}
	s := serving{cgroup: o.cgroup, by: carriers[o.by.Value]}
	if s.cgroup == "" {
		var err error
		if s.cgroup, err = procfs.New(a.HostRoot).UnifiedCgroup(); err != nil {
			return exit.With(exit.NotPermitted, err)
		}
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	options := hint.Options{Cgroup: s.cgroup, Carrier: s.by}
	if s.by == hint.IP {
		a.Warn("--%s ip costs %s", irqcmd.CarrierFlag, action.HintIPCost)
		var err error
		if options.Interfaces, err = interfacesUp(); err != nil {
			return err
		}
	}
	h, err := hint.Serve(options)
	if errors.Is(err, feature.ErrNotSupported) {
		return exit.With(exit.NotPermitted, err)
	}
	if err != nil {
		return err
	}
	defer h.Close()
	began := time.Now()
	s.begin(a, o.output)
	if o.length.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.length.Duration)
		defer cancel()
	}
	<-ctx.Done()
	s.took = time.Since(began)
	if s.sums, err = h.Read(); err != nil {
		return err
	}
	s.end(a, o.output)
	if a.Signal != 0 {
		return exit.With(128+int(a.Signal), nil)
	}
	return nil
}

// interfacesUp are those that are up and whose packets have the header of Ethernet.
func interfacesUp() (indices []int, err error) {
	all, err := net.Interfaces()
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && (i.Flags&net.FlagLoopback != 0 || len(i.HardwareAddr) == 6) {
			indices = append(indices, i.Index)
		}
	}
	return indices, err
}

func (s serving) begin(a *app.App, o output.Format) {
	if o.JSON() {
		serveList.JSON(a, s)
		return
	}
	fmt.Fprintf(a, "echo the hints of clients in replies of servers below %s, in connections from now on; ^C ends it\n", output.Dash(s.cgroup))
}

func (s serving) end(a *app.App, o output.Format) {
	if o.JSON() {
		hintsList.JSON(a, s)
		return
	}
	fmt.Fprintf(a, "%s accepted in %.3g s, %d with hints; %s with an echo\n", chart.Plural(int(s.sums.Connections), "connection"),
		s.took.Seconds(), s.sums.Hinted, chart.Plural(int(s.sums.Written), "packet"))
}

var (
	serveList = output.NewList("hint", "serve", "the beginning of the echo of hints",
		output.Col("time", "", output.Text, "when it began", func(serving) any { return field.Stamp(time.Now()) }),
		output.Col("cgroup", "", output.Text, "folder of the cgroup whose servers reply with the echo", func(s serving) any { return s.cgroup }),
		output.Col("carrier", "", output.Text, "what carries the hints: an option of tcp or of ip (IPv4)", func(s serving) any { return s.by.String() }))
	hintsList = output.NewList("hint", "hints", "what was echoed",
		output.Col("duration_s", "", output.Number, "time from begin to end", func(s serving) any { return s.took.Seconds() }),
		output.Col("connections", "", output.Int, "connections accepted", func(s serving) any { return s.sums.Connections }),
		output.Col("hinted", "", output.Int, "of them with hints of the client", func(s serving) any { return s.sums.Hinted }),
		output.Col("replies", "", output.Int, "packets with an echo, before the interface cuts them into segments", func(s serving) any { return s.sums.Written }))
)
