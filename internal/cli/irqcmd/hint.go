package irqcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/bpf/hint"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/feature"
	"piton/internal/procfs"
)

func newIRQHint(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hint",
		Short: "let the CPU of a consumer travel with TCP connections",
		Long: `A client can ask in its packets for the CPU on which the replies shall be processed: where the thread that reads them is.
The server's side sends that back in the replies, and the client's side steers by it. Clients and servers stay unchanged.

The CPU travels as a TCP option (kind 253, 8 bytes) of each packet, not of SYN.`,
		Example: "  piton irq hint serve",
	}
	cmd.AddCommand(newHintServe(a))
	flags.NeedsCommand(cmd)
	return cmd
}

type hintOptions struct {
	output output.Format
	length flags.Length
	cgroup string
}

func newHintServe(a *app.App) *cobra.Command {
	o := hintOptions{length: flags.Length{Interval: flags.Interval{Min: time.Millisecond, Max: 30 * 24 * time.Hour}}}
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

With -o json: a serve line when it begins, and a hints line with the counts at the end (see piton schema hint).`,
		Example: "  piton irq hint serve\n  piton irq hint serve --for 10m -o json\n  piton irq hint serve --cgroup /sys/fs/cgroup/system.slice/nginx.service",
		Args:    flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHintServe(cmd.Context(), a, o)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().Var(&o.length, "for", "end after so long (default: at ^C)")
	cmd.Flags().StringVar(&o.cgroup, "cgroup", "", "only servers in the cgroup with this `FOLDER` and in those below (default: all)")
	return cmd
}

// serving is a run of piton irq hint serve.
type serving struct {
	cgroup string
	took   time.Duration
	sums   hint.Sums
}

func runHintServe(ctx context.Context, a *app.App, o hintOptions) error {
	if !a.Live() {
		return exit.With(exit.NotPermitted, errors.New("piton irq hint serve acts on this machine only, not --host-root"))
	}
	s := serving{cgroup: o.cgroup}
	if s.cgroup == "" {
		var err error
		if s.cgroup, err = procfs.New(a.HostRoot).UnifiedCgroup(); err != nil {
			return exit.With(exit.NotPermitted, err)
		}
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	h, err := hint.Serve(hint.Options{Cgroup: s.cgroup})
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
		output.Col("time", "", output.Text, "when it began", func(serving) any { return output.Stamp(time.Now()) }),
		output.Col("cgroup", "", output.Text, "folder of the cgroup whose servers reply with the echo", func(s serving) any { return s.cgroup }))
	hintsList = output.NewList("hint", "hints", "what was echoed",
		output.Col("duration_s", "", output.Number, "time from begin to end", func(s serving) any { return s.took.Seconds() }),
		output.Col("connections", "", output.Int, "connections accepted", func(s serving) any { return s.sums.Connections }),
		output.Col("hinted", "", output.Int, "of them with hints of the client", func(s serving) any { return s.sums.Hinted }),
		output.Col("replies", "", output.Int, "packets with an echo, before the interface cuts them into segments", func(s serving) any { return s.sums.Written }))
)
