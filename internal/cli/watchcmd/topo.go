package watchcmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/topology"
)

type topoOptions struct {
	output output.Format
	all    bool
}

func newTopo(a *app.App) *cobra.Command {
	var o topoOptions
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "show CPUs, cores, caches, nodes and packages",
		Long: `Show which CPUs share a core, a last-level cache, a NUMA node, a package.

It shows the CPUs that this process may use: the online ones of its cpuset. --all adds the others.
With -o json: one {"type":"machine"} line, one {"type":"node"} a node and one {"type":"cpu"} a CPU, whose
core, llc and package are the cpulists of the CPUs that share them, null where the kernel has none.`,
		Example: "  piton topo\n  piton topo -o json\n  piton --host-root /srv/trees/db-3 topo",
		GroupID: app.GroupLook,
		Args:    flags.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			t, err := topology.Read(a.HostRoot)
			if err != nil {
				return fmt.Errorf("read the topology: %w", err)
			}
			runTopo(a, t, o)
			return nil
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON, output.AsCSV)
	cmd.Flags().BoolVar(&o.all, "all", false, "also CPUs that are offline or outside piton's cpuset")
	return cmd
}

func runTopo(w io.Writer, whole *topology.Topology, o topoOptions) {
	t := whole
	if !o.all {
		t = whole.Usable()
	}
	switch o.output.Value {
	case output.AsJSON:
		topoJSON(w, whole, t)
		return
	case output.AsTable:
		topoHead(w, whole, t)
	}
	topoTable(t).WriteAs(w, o.output)
}

// topoHead prints what concerns the machine and its nodes.
func topoHead(w io.Writer, whole, t *topology.Topology) {
	fmt.Fprintf(w, "online %s of %s present", whole.Online, whole.Present)
	for _, list := range []struct {
		name string
		cpus cpuset.Set
	}{{"isolated", whole.Isolated}, {"nohz_full", whole.NohzFull}} {
		if !list.cpus.Empty() {
			fmt.Fprintf(w, ", %s %s", list.name, list.cpus)
		}
	}
	if !whole.Allowed.Equal(whole.Online) {
		fmt.Fprintf(w, ", allowed to piton %s", whole.Allowed)
	}
	fmt.Fprintln(w)
	for _, n := range t.Nodes {
		fmt.Fprintf(w, "node %d: CPUs %s, %.1f GiB", n.ID, output.Dash(n.CPUs.String()), output.GiB(n.MemoryBytes))
		if len(n.Distances) > 1 {
			fmt.Fprint(w, ", distances")
			for _, id := range slices.Sorted(maps.Keys(n.Distances)) {
				fmt.Fprintf(w, " %d:%d", id, n.Distances[id])
			}
		}
		fmt.Fprintln(w)
	}
}

func topoTable(t *topology.Topology) *output.Table {
	out := output.NewTable(">CPU", "CORE", "LLC", "PACKAGE", ">NODE", "STATE")
	for _, c := range t.CPUs {
		var state []string
		if c.Kind != topology.KindUniform {
			state = append(state, c.Kind.String()+"-core")
		}
		if !c.Online {
			state = append(state, "offline")
		} else if !t.Allowed.Has(c.ID) {
			state = append(state, "outside piton's cpuset")
		}
		if c.Isolated {
			state = append(state, "isolated")
		}
		out.Add(c.ID, output.Dash(c.Core.String()), output.Dash(c.LLC.String()), output.Dash(c.Package.String()),
			output.NumberOrDash(int(c.Node)), strings.Join(state, ", "))
	}
	return out
}

func topoJSON(w io.Writer, whole, t *topology.Topology) {
	var l output.Line
	l.Start("machine").Add("online", whole.Online.String()).Add("present", whole.Present.String()).
		Add("isolated", whole.Isolated.String()).Add("nohz_full", whole.NohzFull.String()).Add("allowed", whole.Allowed.String()).Write(w)
	for _, n := range t.Nodes {
		l.Start("node").Add("node", int(n.ID)).Add("cpus", n.CPUs.String()).Add("memory_bytes", n.MemoryBytes)
		ids := slices.Sorted(maps.Keys(n.Distances))
		l.AddObject("distances", len(ids), func(i int) (string, any) { return fmt.Sprint(ids[i]), n.Distances[ids[i]] }).Write(w)
	}
	for _, c := range t.CPUs {
		l.Start("cpu").Add("cpu", int(c.ID)).Text("core", c.Core.String()).Text("llc", c.LLC.String()).
			Text("package", c.Package.String()).Number("node", int(c.Node)).
			Add("online", c.Online).Add("isolated", c.Isolated).Known("kind", c.Kind.String(), c.Kind != topology.KindUniform).Write(w)
	}
}
