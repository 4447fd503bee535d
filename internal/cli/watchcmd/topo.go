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
	"piton/internal/field"
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
With -o json: one machine line, then a node line for each node and a cpu line for each CPU (see piton schema).`,
		Example: "  piton topo\n  piton topo -o json\n  piton --host-root /srv/trees/db-3 topo",
		GroupID: app.GroupLook,
		Args:    flags.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			t, err := a.Topology()
			if err == nil {
				runTopo(a, t, o)
			}
			return err
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
		machineList.JSON(w, whole)
		nodeList.Write(w, t.Nodes, o.output)
	case output.AsTable:
		topoHead(w, whole, t)
	}
	cpus := make([]topoCPU, len(t.CPUs))
	for i, c := range t.CPUs {
		cpus[i] = topoCPU{c, t.Allowed.Has(c.ID)}
	}
	cpuList.Write(w, cpus, o.output)
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

// topoCPU is a CPU, and whether piton may run there.
type topoCPU struct {
	topology.CPU
	allowed bool
}

func (c topoCPU) state() string {
	var state []string
	if c.Kind != topology.KindUniform {
		state = append(state, c.Kind.String()+"-core")
	}
	if !c.Online {
		state = append(state, "offline")
	} else if !c.allowed {
		state = append(state, "outside piton's cpuset")
	}
	if c.Isolated {
		state = append(state, "isolated")
	}
	return strings.Join(state, ", ")
}

var (
	machineList = output.NewList("topo", "machine", "the CPUs of the machine, as cpulists",
		output.Col("online", "", output.Text, "CPUs that run tasks", func(t *topology.Topology) any { return t.Online.String() }),
		output.Col("present", "", output.Text, "CPUs that there are", func(t *topology.Topology) any { return t.Present.String() }),
		output.Col("isolated", "", output.Text, "CPUs isolated at boot", func(t *topology.Topology) any { return t.Isolated.String() }),
		output.Col("nohz_full", "", output.Text, "CPUs without a tick", func(t *topology.Topology) any { return t.NohzFull.String() }),
		output.Col("allowed", "", output.Text, "CPUs that piton may run on", func(t *topology.Topology) any { return t.Allowed.String() }))
	nodeList = output.NewList("topo", "node", "a NUMA node",
		output.Col("node", "", output.Int, "its number", func(n topology.Node) any { return int(n.ID) }),
		output.Col("cpus", "", output.Text, "its CPUs, a cpulist", func(n topology.Node) any { return n.CPUs.String() }),
		output.Col("memory_bytes", "", output.Int, "its memory", func(n topology.Node) any { return n.MemoryBytes }),
		output.Col("distances", "", output.Numbers, "distance to each node, 10 to itself", func(n topology.Node) any {
			out := []field.Member{}
			for _, id := range slices.Sorted(maps.Keys(n.Distances)) {
				out = append(out, field.Member{Name: fmt.Sprint(id), Value: n.Distances[id]})
			}
			return out
		}))
	cpuList = output.NewList("topo", "cpu", "a CPU and what it shares, as cpulists",
		output.Col("cpu", ">CPU", output.Int, "its number", func(c topoCPU) any { return int(c.ID) }),
		output.Col("core", "CORE", output.MaybeText, "CPUs of its core", func(c topoCPU) any { return field.NonEmpty(c.Core.String()) }),
		output.Col("llc", "LLC", output.MaybeText, "CPUs of its last-level cache",
			func(c topoCPU) any { return field.NonEmpty(c.LLC.String()) }),
		output.Col("package", "PACKAGE", output.MaybeText, "CPUs of its package",
			func(c topoCPU) any { return field.NonEmpty(c.Package.String()) }),
		output.Col("node", ">NODE", output.MaybeInt, "its NUMA node", func(c topoCPU) any { return field.NonNegative(int(c.Node)) }),
		output.Col("online", "STATE", output.Bool, "it runs tasks", func(c topoCPU) any { return c.Online }).As(topoCPU.state),
		output.Col("isolated", "", output.Bool, "isolated at boot", func(c topoCPU) any { return c.Isolated }),
		output.Col("kind", "", output.MaybeText, "performance or efficiency core, where they differ",
			func(c topoCPU) any { return field.Known(c.Kind.String(), c.Kind != topology.KindUniform) }),
		output.Col("allowed", "", output.Bool, "online, and piton's cpuset allows it", func(c topoCPU) any { return c.allowed }))
)
