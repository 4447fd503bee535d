// Package machine is what workloads ask the machine that they run on: its caches and
// nodes, and how much memory they may take.
package machine

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"piton/internal/topology"
)

// Topology is read once; it is empty when it cannot be read.
var Topology = sync.OnceValue(func() *topology.Topology {
	topo, err := topology.Read("/")
	if err != nil {
		return &topology.Topology{}
	}
	return topo
})

// DataCaches are the caches of the first CPU that hold data, by level.
func DataCaches(t *topology.Topology) []topology.Cache {
	var out []topology.Cache
	for _, c := range t.Caches {
		if c.CPUs.Has(t.Online.First()) && c.Type != "Instruction" && c.SizeBytes > 0 {
			out = append(out, c)
		}
	}
	return out
}

// LLCBytes is the size of the last of them, 0 when not known.
func LLCBytes(t *topology.Topology) int64 {
	caches := DataCaches(t)
	if len(caches) == 0 {
		return 0
	}
	return caches[len(caches)-1].SizeBytes
}

// AutoMiB is a size of which most is in no cache of llcBytes, 0 = not known: as many
// times its size as STREAM's rules have it, from 1 to most MiB.
func AutoMiB(llcBytes int64, most int) int {
	const unknown = 32 << 20
	if llcBytes <= 0 {
		llcBytes = unknown
	}
	return int(min(max((CacheTimes*llcBytes+1<<20-1)>>20, 1), int64(most)))
}

// CacheTimes is how many times the last-level cache an array should be.
const CacheTimes = 4

// LineBytes is the size of a cache line, 64 where the kernel does not say.
func LineBytes() int {
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
