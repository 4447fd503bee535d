package memlat

import (
	"context"
	"os"
	"strconv"

	"piton/internal/kernel"
	"piton/internal/topology"
	"piton/workloads/machine"
	"piton/workloads/workload"
)

const (
	localMemory = "local"
	allMemory   = "all"
)

// Workload is this package's entry in the table of workloads.
var Workload = workload.Workload{
	Name:       "memlat",
	Help:       "latency of each cache level and of memory",
	Length:     "size",
	Placements: []string{"normal", "least-loaded"},
	Metric:     workload.Metric{Name: "memory latency", Unit: "ns"},
	Params: []workload.Param{
		{Name: "size", Help: "MiB of the largest size, 0 = four times the last-level cache", Default: "0", Min: 0, Max: MaxMiB},
		{Name: "nodes", Help: "memory to measure: as allocated by default, or of each node", Default: localMemory, Choices: []string{localMemory, allMemory}},
	},
	Check: func(v workload.Values) error { return optionsOf(v).Validate() },
	Run: func(ctx context.Context, v workload.Values) (workload.Outcome, error) {
		r, err := Run(ctx, optionsOf(v))
		return workload.Outcome{Answer: strconv.Itoa(r.Lines), Seconds: r.Seconds, Value: r.Slowest(), Detail: r}, err
	},
	Result: workload.ReadAs[Result],
}

func optionsOf(v workload.Values) Options {
	topo := machine.Topology()
	o := Options{
		MiB: v.Int("size"), LineBytes: machine.LineBytes(), Nodes: []int{AnyNode},
		AvailableBytes: machine.AvailableBytes("/"), Mapper: kernel.Mappings(),
	}
	if o.MiB == 0 {
		o.MiB = machine.AutoMiB(machine.LLCBytes(topo), MaxMiB)
	}
	for _, c := range machine.DataCaches(topo) {
		o.Caches = append(o.Caches, Cache{Level: c.Level, Bytes: c.SizeBytes})
	}
	if v["nodes"] == allMemory {
		o.Nodes = memoryNodes(topo)
	}
	return o
}

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
