package bench

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"piton/internal/topology"
)

// machine is the topology for the memory workloads. It is read once; it is empty
// when it cannot be read.
var machine = sync.OnceValue(func() *topology.Topology {
	topo, err := topology.Read("/")
	if err != nil {
		return &topology.Topology{}
	}
	return topo
})

// dataCaches are the caches of the first CPU that hold data, by level.
func dataCaches(t *topology.Topology) []topology.Cache {
	var out []topology.Cache
	for _, c := range t.Caches {
		if c.CPUs.Has(t.Online.First()) && c.Type != "Instruction" && c.SizeBytes > 0 {
			out = append(out, c)
		}
	}
	return out
}

// llcBytes is the size of the last of them, 0 when not known.
func llcBytes(t *topology.Topology) int64 {
	caches := dataCaches(t)
	if len(caches) == 0 {
		return 0
	}
	return caches[len(caches)-1].SizeBytes
}

// lineBytes is the size of a cache line, 64 where the kernel does not say.
func lineBytes() int {
	const usual = 64
	b, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size")
	if err != nil {
		return usual
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || n < 8 || n > 4096 || n&(n-1) != 0 {
		return usual
	}
	return n
}
