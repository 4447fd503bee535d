package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

type topoOptions struct {
	output output
	all    bool
}

func newTopo(a *app) *cobra.Command {
	var o topoOptions
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "show CPUs, cores, caches, nodes and packages",
		Long: `Show which CPUs share a core, a last-level cache, a NUMA node, a package.

It shows the CPUs that this process may use: the online ones of its cpuset. --all adds the others.
With -o json: one {"type":"machine"} line, one {"type":"node"} a node and one {"type":"cpu"} a CPU, whose
core, llc and package are the cpulists of the CPUs that share them, null where the kernel has none.`,
		Example: "  piton topo\n  piton topo -o json\n  piton --host-root /srv/trees/db-3 topo",
		GroupID: groupLook,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			t, err := topology.Read(a.hostRoot)
			if err != nil {
				return fmt.Errorf("read the topology: %w", err)
			}
			runTopo(a, t, o)
			return nil
		},
	}
	o.output.addFlag(cmd.Flags(), asTable, asJSON, asCSV)
	cmd.Flags().BoolVar(&o.all, "all", false, "also CPUs that are offline or outside piton's cpuset")
	return cmd
}

func runTopo(w io.Writer, whole *topology.Topology, o topoOptions) {
	t := whole
	if !o.all {
		t = whole.Usable()
	}
	switch o.output.value {
	case asJSON:
		topoJSON(w, whole, t)
		return
	case asTable:
		topoHead(w, whole, t)
	}
	topoTable(t).writeAs(w, o.output)
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
		fmt.Fprintf(w, "node %d: CPUs %s, %.1f GiB", n.ID, dash(n.CPUs.String()), float64(n.MemoryBytes)/(1<<30))
		if len(n.Distances) > 1 {
			fmt.Fprint(w, ", distances")
			for _, id := range slices.Sorted(maps.Keys(n.Distances)) {
				fmt.Fprintf(w, " %d:%d", id, n.Distances[id])
			}
		}
		fmt.Fprintln(w)
	}
}

func topoTable(t *topology.Topology) *table {
	out := newTable(">CPU", "CORE", "LLC", "PACKAGE", ">NODE", "STATE")
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
		out.add(c.ID, dash(c.Core.String()), dash(c.LLC.String()), dash(c.Package.String()), orDash(int(c.Node)), strings.Join(state, ", "))
	}
	return out
}

func topoJSON(w io.Writer, whole, t *topology.Topology) {
	var l line
	l.start("machine").add("v", Version).add("online", whole.Online.String()).add("present", whole.Present.String()).
		add("isolated", whole.Isolated.String()).add("nohz_full", whole.NohzFull.String()).add("allowed", whole.Allowed.String()).write(w)
	for _, n := range t.Nodes {
		l.start("node").add("node", int(n.ID)).add("cpus", n.CPUs.String()).add("memory_bytes", n.MemoryBytes)
		ids := slices.Sorted(maps.Keys(n.Distances))
		l.addObject("distances", len(ids), func(i int) (string, any) { return fmt.Sprint(ids[i]), n.Distances[ids[i]] }).write(w)
	}
	for _, c := range t.CPUs {
		l.start("cpu").add("cpu", int(c.ID)).add("core", textOrNull(c.Core.String())).add("llc", textOrNull(c.LLC.String())).
			add("package", textOrNull(c.Package.String())).add("node", numberOrNull(int(c.Node))).
			add("online", c.Online).add("isolated", c.Isolated).add("kind", orNull(c.Kind.String(), c.Kind != topology.KindUniform)).write(w)
	}
}
