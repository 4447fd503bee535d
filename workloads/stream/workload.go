package stream

import (
	"context"

	"piton/internal/kernel"
	"piton/internal/topology"
	"piton/workloads/machine"
	"piton/workloads/workload"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "stream",
	Help:       "memory bandwidth (STREAM), also between NUMA nodes",
	Length:     "reps",
	Placements: []string{"normal", "least-loaded"},
	Metric:     workload.Metric{Name: "triad bandwidth", Unit: "MB/s", HigherIsBetter: true},
	Params: []workload.Param{
		{Name: "size", Help: "MiB of each of the three arrays, 0 = four times the last-level cache", Default: "0", Min: 0, Max: MaxMiB},
		{Name: "threads", Help: "OS threads that share the arrays", Default: "1", Min: 1, Max: MaxThreads},
		{Name: "reps", Help: "repetitions per run; the first does not count", Default: "10", Min: MinReps, Max: MaxReps},
		{Name: "node", Help: "bind the memory to this node, -1 = none", Default: "-1", Min: AnyNode, Max: 1023},
		{Name: "loops", Help: "vector stores that bypass the caches, plain Go, or the best available", Default: string(Best), Choices: workload.Words(AllLoops)},
		{Name: "matrix", Help: "measure from each node or CPU to the memory of each node", Default: string(NoGrid), Choices: workload.Words(Grids)},
	},
	Check: func(v workload.Values) error { return optionsOf(v).Validate() },
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: r.Answer, Seconds: r.Seconds, Value: r.Triad(), Detail: r}, err
	},
	Result: workload.ReadAs[Result],
}

func optionsOf(v workload.Values) Options {
	topo := machine.Topology()
	o := Options{
		MiB: v.Int("size"), Reps: v.Int("reps"), Threads: v.Int("threads"),
		Loops: Loops(v["loops"]), Node: v.Int("node"), Grid: Grid(v["matrix"]),
		LLCBytes: machine.LLCBytes(topo), AvailableBytes: machine.AvailableBytes("/"), Nodes: nodes(topo),
		Mapper: kernel.Mappings(), Scheduler: kernel.System(),
	}
	if o.MiB == 0 {
		o.MiB = machine.AutoMiB(o.LLCBytes, MaxMiB)
	}
	return o
}

func nodes(topo *topology.Topology) []Node {
	var out []Node
	for _, n := range topo.Nodes {
		distances := map[int]int{}
		for to, d := range n.Distances {
			distances[int(to)] = d
		}
		out = append(out, Node{
			ID: int(n.ID), CPUs: n.CPUs, Memory: n.Allowed && n.MemoryBytes > 0,
			Distances: distances, AvailableBytes: machine.NodeAvailableBytes("/", int(n.ID)),
		})
	}
	return out
}
