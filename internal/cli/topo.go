package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
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

Shown is what this process may use: online CPUs of its cpuset. --all adds the others.
With -o json: one {"type":"machine"} line, one {"type":"node"} a node and one {"type":"cpu"} a CPU, whose
core, llc and package are the cpulists of the CPUs that share them, null where the kernel tells none.`,
		Example: "  piton topo\n  piton topo -o json\n  piton --host-root /srv/trees/db-3 topo",
		GroupID: groupLook,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			t, err := topology.Read(a.hostRoot)
			if err != nil {
				return fmt.Errorf("read the topology: %w", err)
			}
			return runTopo(a.Out, t, o)
		},
	}
	o.output.addFlag(cmd.Flags(), asTable, asJSON, asCSV)
	cmd.Flags().BoolVar(&o.all, "all", false, "also CPUs that are offline or outside piton's cpuset")
	return cmd
}

func runTopo(w io.Writer, whole *topology.Topology, o topoOptions) error {
	t := whole
	if !o.all {
		t = whole.Usable()
	}
	switch o.output.value {
	case asJSON:
		return topoJSON(w, whole, t)
	case asCSV:
		return topoTable(t).writeCSV(w)
	}
	if err := topoHead(w, whole, t); err != nil {
		return err
	}
	return topoTable(t).write(w)
}

// topoHead prints what concerns the machine and its nodes.
func topoHead(w io.Writer, whole, t *topology.Topology) error {
	var b strings.Builder
	fmt.Fprintf(&b, "online %s of %s present", whole.Online, whole.Present)
	for _, list := range []struct {
		name string
		cpus cpuset.Set
	}{{"isolated", whole.Isolated}, {"nohz_full", whole.NohzFull}} {
		if !list.cpus.Empty() {
			fmt.Fprintf(&b, ", %s %s", list.name, list.cpus)
		}
	}
	if !whole.Allowed.Equal(whole.Online) {
		fmt.Fprintf(&b, ", allowed to piton %s", whole.Allowed)
	}
	b.WriteByte('\n')
	for _, n := range t.Nodes {
		fmt.Fprintf(&b, "node %d: CPUs %s, %.1f GiB", n.ID, dash(n.CPUs.String()), float64(n.MemoryBytes)/(1<<30))
		if len(n.Distances) > 1 {
			b.WriteString(", distances")
			for _, id := range slices.Sorted(maps.Keys(n.Distances)) {
				fmt.Fprintf(&b, " %d:%d", id, n.Distances[id])
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
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
		node := "-"
		if c.Node >= 0 {
			node = strconv.Itoa(int(c.Node))
		}
		out.add(c.ID, dash(c.Core.String()), dash(c.LLC.String()), dash(c.Package.String()), node, strings.Join(state, ", "))
	}
	return out
}

func topoJSON(w io.Writer, whole, t *topology.Topology) error {
	var l line
	l.start("machine").add("v", Version).add("online", whole.Online.String()).add("present", whole.Present.String()).
		add("isolated", whole.Isolated.String()).add("nohz_full", whole.NohzFull.String()).add("allowed", whole.Allowed.String())
	if err := l.write(w); err != nil {
		return err
	}
	for _, n := range t.Nodes {
		l.start("node").add("node", int(n.ID)).add("cpus", n.CPUs.String()).add("memory_bytes", n.MemoryBytes)
		l.addNumbers("distances", n.Distances)
		if err := l.write(w); err != nil {
			return err
		}
	}
	for _, c := range t.CPUs {
		l.start("cpu").add("cpu", int(c.ID)).add("core", orNull(c.Core)).add("llc", orNull(c.LLC)).
			add("package", orNull(c.Package)).add("node", nodeOrNull(c.Node)).
			add("online", c.Online).add("isolated", c.Isolated).add("kind", kindOrNull(c.Kind))
		if err := l.write(w); err != nil {
			return err
		}
	}
	return nil
}

func orNull(s cpuset.Set) any {
	if s.Empty() {
		return nil
	}
	return s.String()
}

func nodeOrNull(n topology.NodeID) any {
	if n < 0 {
		return nil
	}
	return int(n)
}

func kindOrNull(k topology.Kind) any {
	if k == topology.KindUniform {
		return nil
	}
	return k.String()
}

// addNumbers adds an object of numbers by node number.
func (l *line) addNumbers(name string, values map[topology.NodeID]int) {
	l.b = append(l.b, `,"`+name+`":{`...)
	for i, id := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			l.b = append(l.b, ',')
		}
		l.b = fmt.Appendf(l.b, `"%d":%d`, id, values[id])
	}
	l.b = append(l.b, '}')
}
