package bench

import (
	"context"

	"piton/internal/kernel"
	"piton/internal/topology"
	"piton/workloads/stream"
)

var streamBandwidth = Workload{
	Name:   "stream",
	Help:   "memory bandwidth (STREAM), also between NUMA nodes",
	Length: "reps",
	Metric: Metric{Name: "triad bandwidth", Unit: "MB/s", HigherIsBetter: true},
	Params: []Param{
		{Name: "size", Help: "MiB of each of the three arrays, 0 = four times the last-level cache", Default: "0", Min: 0, Max: stream.MaxMiB},
		{Name: "threads", Help: "OS threads that share the arrays", Default: "1", Min: 1, Max: stream.MaxThreads},
		{Name: "reps", Help: "repetitions per run; the first does not count", Default: "10", Min: stream.MinReps, Max: stream.MaxReps},
		{Name: "node", Help: "bind the memory to this node, -1 = none", Default: "-1", Min: stream.AnyNode, Max: 1023},
		{Name: "loops", Help: "vector stores that bypass the caches, plain Go, or the best available", Default: string(stream.Best), Choices: words(stream.AllLoops)},
		{Name: "matrix", Help: "measure from each node or CPU to the memory of each node", Default: string(stream.NoGrid), Choices: words(stream.Grids)},
	},
	Check: func(v Values) error { return streamOptions(v).Validate() },
	Run: func(ctx context.Context, v Values) (Outcome, error) {
		r, err := stream.Run(ctx, streamOptions(v))
		return Outcome{Answer: r.Answer, Seconds: r.Seconds, Value: r.Triad(), Detail: r}, err
	},
	Picture: picture(stream.Picture),
}

func streamOptions(v Values) stream.Options {
	topo := machine()
	o := stream.Options{
		MiB: v.Int("size"), Reps: v.Int("reps"), Threads: v.Int("threads"),
		Loops: stream.Loops(v["loops"]), Node: v.Int("node"), Grid: stream.Grid(v["matrix"]),
		LLCBytes: llcBytes(topo), AvailableBytes: availableBytes("/"), Nodes: streamNodes(topo),
		Mapper: kernel.Mappings(), Scheduler: kernel.System(),
	}
	if o.MiB == 0 {
		o.MiB = stream.AutoMiB(o.LLCBytes)
	}
	return o
}

func streamNodes(topo *topology.Topology) []stream.Node {
	var out []stream.Node
	for _, n := range topo.Nodes {
		distances := map[int]int{}
		for to, d := range n.Distances {
			distances[int(to)] = d
		}
		out = append(out, stream.Node{
			ID: int(n.ID), CPUs: n.CPUs, Memory: n.Allowed && n.MemoryBytes > 0,
			Distances: distances, AvailableBytes: nodeAvailableBytes("/", int(n.ID)),
		})
	}
	return out
}
