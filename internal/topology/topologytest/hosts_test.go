package topologytest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

var update = flag.Bool("update", false, "write testdata/hosts/*/topology.tree anew")

// shape is a host tree to generate.
type shape struct {
	name, about string
	spec        Spec
	old         bool // a kernel before 2.6.26: masks and no lists
	noNUMA      bool
}

var shapes = []shape{
	{name: "1c", about: "one CPU, a kernel without NUMA", noNUMA: true},
	{name: "2c", about: "a virtual machine of two CPUs", spec: Spec{CoresPerLLC: 2}},
	{name: "8c1n2t", about: "4 cores of 2 threads, an old kernel with hex masks only", spec: Spec{CoresPerLLC: 4, Threads: 2}, old: true},
	{name: "8c2p4e", about: "2 P cores of 2 threads and 4 E cores", spec: Spec{CoresPerLLC: 6, Threads: 2, ECores: 4}},
	{name: "64c4n", about: "64 CPUs on nodes 0, 1, 4 and 5; 8 offline, 4 isolated",
		spec: Spec{Nodes: 4, NodeIDs: []topology.NodeID{0, 1, 4, 5}, LLCsPerNode: 2, CoresPerLLC: 8,
			Offline: "7,56-62", Isolated: "12-15", NohzFull: "14-15"}},
	{name: "512c8n2t", about: "8 nodes of 4 LLCs of 8 cores of 2 threads", spec: Spec{Nodes: 8, LLCsPerNode: 4, CoresPerLLC: 8, Threads: 2}},
}

func TestHostTreesAreUpToDate(t *testing.T) {
	for _, s := range shapes {
		path := filepath.Join(hosts(t), s.name, "topology.tree")
		want := s.tree()
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, want == string(got), "%s differs from what this test generates; run it with -update", path)
	}
}

// TestReadFindsWhatTheTreesHold reads each tree back through topology.Read.
func TestReadFindsWhatTheTreesHold(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			want := Synthetic(s.spec)
			if s.noNUMA {
				want.Nodes[0].Distances = nil
			}
			got, err := topology.Read(Host(t, s.name))
			require.NoError(t, err)
			require.Len(t, got.CPUs, len(want.CPUs))
			for i := range want.CPUs {
				if s.old {
					want.CPUs[i].Die = cpuset.Set{}
				}
				assert.Equal(t, want.CPUs[i], got.CPUs[i])
			}
			assert.Equal(t, want.Nodes, got.Nodes)
			assert.Equal(t, want.Caches, got.Caches)
			assert.True(t, assert.ObjectsAreEqual(want, got), "lists, indices and groups agree")
		})
	}
}

const cpuDir = "sys/devices/system/cpu/"

// tree generates the packed host tree of a shape.
func (s shape) tree() string {
	m := Synthetic(s.spec)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s.\n# Generated: go test ./internal/topology/topologytest -update\n", s.name, s.about)
	s.lists(&b, m)
	for i, core := range m.Cores() {
		first, _ := m.CPU(core.First())
		s.set(&b, core, "topology/core_cpus", "topology/thread_siblings",
			"cache/index0/shared_cpu", "cache/index1/shared_cpu", "cache/index2/shared_cpu")
		line(&b, each(core)+"topology/core_id", fmt.Sprint(i))
		line(&b, each(core)+"topology/physical_package_id", fmt.Sprint(first.PackageIndex))
	}
	for _, pkg := range m.Packages() {
		s.set(&b, pkg, "topology/package_cpus", "topology/core_siblings", "topology/die_cpus")
	}
	for _, llc := range m.LLCs() {
		s.set(&b, llc, "cache/index3/shared_cpu")
	}
	for i, c := range []struct{ level, kind, size string }{
		{"1", "Data", "32K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "1024K"}, {"3", "Unified", "32768K"},
	} {
		at := fmt.Sprintf("%scache/index%d/", each(m.Online), i)
		line(&b, at+"level", c.level)
		line(&b, at+"type", c.kind)
		line(&b, at+"size", c.size)
	}
	s.nodes(&b, m)
	proc(&b, m)
	return b.String()
}

func (s shape) lists(b *strings.Builder, m *topology.Topology) {
	offline := m.Present.AndNot(m.Online)
	if !s.old {
		line(b, cpuDir+"{possible,present}", m.Present.String())
		line(b, cpuDir+"online", m.Online.String())
		line(b, cpuDir+"offline", offline.String())
		line(b, cpuDir+"isolated", m.Isolated.String())
		line(b, cpuDir+"nohz_full", m.NohzFull.String())
	}
	// The first CPU cannot be taken offline and has no such file.
	if rest := m.Online.AndNot(cpuset.Of(0)); !rest.Empty() {
		line(b, each(rest)+"online", "1")
	}
	if !offline.Empty() {
		line(b, each(offline)+"online", "0")
	}
	var kinds [3]cpuset.Builder
	for _, c := range m.CPUs {
		kinds[c.Kind].Add(c.ID)
	}
	if e := kinds[topology.KindEfficiency].Set(); !e.Empty() {
		line(b, "sys/devices/cpu_core/cpus", kinds[topology.KindPerformance].Set().String())
		line(b, "sys/devices/cpu_atom/cpus", e.String())
	}
}

// set writes the files that tell the CPUs of a set of each other, as masks and
// as lists; an old kernel lacks the lists and the names that came with 5.3.
func (s shape) set(b *strings.Builder, set cpuset.Set, stems ...string) {
	var masks, lists []string
	for _, stem := range stems {
		mask := stem
		if strings.HasPrefix(stem, "cache") {
			mask += "_map"
		}
		if s.old && strings.HasSuffix(stem, "_cpus") {
			continue
		}
		masks, lists = append(masks, mask), append(lists, stem+"_list")
	}
	line(b, each(set)+"{"+strings.Join(masks, ",")+"}", set.Mask())
	if !s.old {
		line(b, each(set)+"{"+strings.Join(lists, ",")+"}", set.String())
	}
}

func (s shape) nodes(b *strings.Builder, m *topology.Topology) {
	if s.noNUMA {
		return
	}
	var ids cpuset.Builder
	for _, n := range m.Nodes {
		ids.Add(cpuset.CPU(n.ID))
	}
	if !s.old {
		line(b, "sys/devices/system/node/{online,possible}", ids.Set().String())
	}
	for _, n := range m.Nodes {
		at := fmt.Sprintf("sys/devices/system/node/node%d/", n.ID)
		line(b, at+"cpumap", n.CPUs.Mask())
		if !s.old {
			line(b, at+"cpulist", n.CPUs.String())
		}
		var distances []string
		for id := range ids.Set().All() {
			distances = append(distances, fmt.Sprint(n.Distances[topology.NodeID(id)]))
		}
		line(b, at+"distance", strings.Join(distances, " "))
		kB := n.MemoryBytes >> 10
		fmt.Fprintf(b, "%smeminfo:\n\tNode %d MemTotal: %14d kB\n\tNode %d MemFree: %15d kB\n\tNode %d MemUsed: %15d kB\n",
			at, n.ID, kB, n.ID, kB/2, n.ID, kB/2)
	}
}

// proc writes the files of /proc that describe the host, at one moment.
func proc(b *strings.Builder, m *topology.Topology) {
	kB := int64(0)
	for _, n := range m.Nodes {
		kB += n.MemoryBytes >> 10
	}
	fmt.Fprintf(b, "proc/meminfo:\n\tMemTotal: %14d kB\n\tMemFree: %15d kB\n\tMemAvailable: %10d kB\n\tSwapTotal: %13d kB\n\tSwapFree: %14d kB\n",
		kB, kB/2, kB/4*3, 0, 0)
	line(b, "proc/loadavg", "0.42 0.31 0.25 1/321 4711")
	line(b, "proc/uptime", fmt.Sprintf("86400.00 %d.00", 86000*m.Online.Len()))
	line(b, "proc/self/cpuset", "/")
	b.WriteString("proc/stat:\n")
	n := m.Online.Len()
	fmt.Fprintf(b, "\tcpu  %d %d %d %d %d 0 %d 0 0 0\n", 3000*n, 20*n, 1000*n, 8600000*n, 100*n, 50*n)
	for id := range m.Online.All() {
		fmt.Fprintf(b, "\tcpu%d 3000 20 1000 8600000 100 0 50 0 0 0\n", id)
	}
	b.WriteString("\tintr 123456 0\n\tctxt 9876543\n\tbtime 1700000000\n\tprocesses 4711\n\tprocs_running 1\n\tprocs_blocked 0\n\tsoftirq 1000 0 0 0 0 0 0 0 0 0 0\n")
	b.WriteString("proc/cpuinfo:\n")
	for _, c := range m.CPUs {
		if c.Online {
			fmt.Fprintf(b, "\tprocessor\t: %d\n\tmodel name\t: Made up for a test\n\tphysical id\t: %d\n\tcore id\t\t: %d\n\t\n", c.ID, c.PackageIndex, c.CoreIndex)
		}
	}
}

// each is the directories of some CPUs.
func each(set cpuset.Set) string {
	if set.Len() == 1 {
		return fmt.Sprintf("%scpu%d/", cpuDir, set.First())
	}
	return fmt.Sprintf("%scpu{%s}/", cpuDir, set)
}

func line(b *strings.Builder, paths, content string) { fmt.Fprintf(b, "%s: %s\n", paths, content) }
