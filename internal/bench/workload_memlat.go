package bench

import (
	"context"
	"os"
	"strconv"

	"piton/internal/kernel"
	"piton/internal/topology"
	"piton/workloads/memlat"
)

// Which nodes' memory memlat measures.
const (
	localMemory = "local"
	allMemory   = "all"
)

var memoryLatency = Workload{
	Name:   "memlat",
	Help:   "latency of each cache level and of memory",
	Length: "size",
	Metric: Metric{Name: "memory latency", Unit: "ns"},
	Params: []Param{
		{Name: "size", Help: "MiB of the largest size, 0 = four times the last-level cache", Default: "0", Min: 0, Max: memlat.MaxMiB},
		{Name: "nodes", Help: "memory to measure: as allocated by default, or of each node", Default: localMemory, Choices: []string{localMemory, allMemory}},
	},
	Check: func(v Values) error { return memlatOptions(v).Validate() },
	Run: func(ctx context.Context, v Values) (Outcome, error) {
		r, err := memlat.Run(ctx, memlatOptions(v))
		return Outcome{Answer: strconv.Itoa(r.Lines), Seconds: r.Seconds, Value: r.Slowest(), Detail: r}, err
	},
	Picture: picture(memlat.Picture),
}

func memlatOptions(v Values) memlat.Options {
	topo := machine()
	o := memlat.Options{
		MiB: v.Int("size"), LineBytes: lineBytes(), Nodes: []int{memlat.AnyNode},
		AvailableBytes: availableBytes("/"), Mapper: kernel.Mappings(), CountHuge: hugeBytes,
	}
	if o.MiB == 0 {
		o.MiB = memlat.AutoMiB(llcBytes(topo))
	}
	for _, c := range dataCaches(topo) {
		o.Caches = append(o.Caches, memlat.Cache{Level: c.Level, Bytes: c.SizeBytes})
	}
	if v["nodes"] == allMemory {
		o.Nodes = memoryNodes(topo)
	}
	return o
}

// memoryNodes are the nodes whose memory the process may use.
func memoryNodes(topo *topology.Topology) []int {
	var out []int
	for _, n := range topo.Nodes {
		if n.Allowed && n.MemoryBytes > 0 {
			out = append(out, int(n.ID))
		}
	}
	return out
}

// hugeBytes is how much of this process's anonymous memory is in huge pages.
func hugeBytes() int64 {
	b, _ := os.ReadFile("/proc/self/smaps_rollup")
	return topology.MeminfoBytes(b, "AnonHugePages")
}
