package topology_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// read packs a small host tree of a test, and reads it.
func read(t *testing.T, tree string) *topology.Topology {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, topologytest.Unpack([]byte(tree), root))
	got, err := topology.Read(root)
	require.NoError(t, err)
	return got
}

func TestNothingToRead(t *testing.T) {
	root := t.TempDir()
	_, err := topology.Read(root)
	assert.EqualError(t, err, "read CPU topology below "+root+": neither sys/devices/system/cpu nor proc/cpuinfo there lists a CPU")
	_, err = topology.Read(root + "/absent")
	assert.ErrorContains(t, err, "lists a CPU")
	require.NoError(t, topologytest.Unpack([]byte("sys/devices/system/cpu/online: garbage\nproc/cpuinfo: processor : x"), root))
	_, err = topology.Read(root)
	assert.ErrorContains(t, err, "lists a CPU")
}

func TestCPUInfoAlone(t *testing.T) {
	x86 := read(t, `
proc/cpuinfo:
	processor	: 0
	physical id	: 0
	core id		: 4
	flags		: a b
	
	processor	: 1
	physical id	: 1
	core id		: 4
	
	processor	: 3
	physical id	: 0
	core id		: 4
proc/meminfo: MemTotal:       2048 kB
`)
	assert.Equal(t, "0-1,3", x86.Online.String())
	assert.Equal(t, "0-1,3", x86.Present.String())
	assert.Equal(t, []cpuset.Set{cpuset.Of(0, 3), cpuset.Of(1)}, x86.Cores())
	assert.Equal(t, []cpuset.Set{cpuset.Of(0, 3), cpuset.Of(1)}, x86.Packages())
	assert.Empty(t, x86.LLCs())
	assert.Equal(t, []topology.Node{{ID: 0, CPUs: cpuset.Of(0, 1, 3), MemoryBytes: 2 << 20, Allowed: true}}, x86.Nodes)
	c, ok := x86.CPU(3)
	require.True(t, ok)
	assert.Equal(t, -1, c.LLCIndex)
	_, ok = x86.CPU(2)
	assert.False(t, ok)

	arm := read(t, "proc/cpuinfo:\n\tprocessor : 0\n\tBogoMIPS : 50.00\n\t\n\tprocessor : 1\n")
	assert.Equal(t, []cpuset.Set{cpuset.Of(0), cpuset.Of(1)}, arm.Cores())
	assert.Empty(t, arm.Packages())
	assert.Zero(t, arm.Nodes[0].MemoryBytes)
}

func TestOnlineWithoutDetails(t *testing.T) {
	// A container whose /sys shows the lists alone.
	m := read(t, `
sys/devices/system/cpu/{online,present}: 0-3
proc/cpuinfo:
	processor : 0
	physical id : 0
	core id : 0
	processor : 2
	physical id : 0
	core id : 0
	processor : 9
	physical id : 0
	core id : 0
`)
	assert.Equal(t, "0-3", m.Online.String())
	assert.Equal(t, []cpuset.Set{cpuset.Of(0, 2), cpuset.Of(1), cpuset.Of(3)}, m.Cores())
	assert.Equal(t, []cpuset.Set{cpuset.Of(0, 2)}, m.Packages())
}

func TestListsWithoutMasks(t *testing.T) {
	m := read(t, `
sys/devices/system/cpu/{online,present}: 0-3
sys/devices/system/cpu/cpu{0,2}/{topology/thread_siblings_list,cache/index0/shared_cpu_list}: 0,2
sys/devices/system/cpu/cpu{1,3}/{topology/core_cpus_list,cache/index0/shared_cpu_list}: 1,3
sys/devices/system/cpu/cpu{0-3}/topology/core_siblings_list: 0-3
sys/devices/system/cpu/cpu{0-3}/cache/index0/level: 2
sys/devices/system/cpu/cpu{0-3}/cache/index0/type: Unified
sys/devices/system/cpu/cpu{0-3}/cache/index0/size: 4M
sys/devices/system/node/node0/cpulist: 0-1
sys/devices/system/node/node3/cpulist: 2-3
`)
	assert.Equal(t, []cpuset.Set{cpuset.Of(0, 2), cpuset.Of(1, 3)}, m.Cores())
	assert.Equal(t, m.Cores(), m.LLCs())
	assert.Equal(t, []topology.Cache{
		{Level: 2, Type: "Unified", SizeBytes: 4 << 20, CPUs: cpuset.Of(0, 2)},
		{Level: 2, Type: "Unified", SizeBytes: 4 << 20, CPUs: cpuset.Of(1, 3)},
	}, m.Caches)
	require.Len(t, m.Nodes, 2)
	assert.Equal(t, topology.NodeID(3), m.Nodes[1].ID)
	assert.Nil(t, m.Nodes[1].Distances)
	n, ok := m.Node(3)
	assert.True(t, ok)
	assert.Equal(t, "2-3", n.CPUs.String())
	_, ok = m.Node(1)
	assert.False(t, ok)
}

// Some kernels put a NUL behind a set.
func TestFilesThatEndWithNUL(t *testing.T) {
	for _, shape := range topologytest.Shapes(t) {
		root := topologytest.Host(t, shape)
		want, err := topology.Read(root)
		require.NoError(t, err)
		require.NoError(t, filepath.WalkDir(filepath.Join(root, "sys/devices"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			return os.WriteFile(path, append(text, 0), 0o644)
		}))
		got, err := topology.Read(root)
		require.NoError(t, err)
		assert.Equal(t, want, got, shape)
	}
}

func TestContradictoryFiles(t *testing.T) {
	// Sets that overlap, name CPUs that are not online, or are no sets at all.
	m := read(t, `
sys/devices/system/cpu/{online,present}: 0-3
sys/devices/system/cpu/cpu0/topology/core_cpus: 0000ff03
sys/devices/system/cpu/cpu1/topology/core_cpus: 6
sys/devices/system/cpu/cpu2/topology/core_cpus: e
sys/devices/system/cpu/cpu3/topology/core_cpus: what?
sys/devices/system/cpu/cpu{0-3}/topology/package_cpus: 0
sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_map: f
sys/devices/system/cpu/cpu0/cache/index0/level: high
sys/devices/system/cpu/cpu0/cache/index0/size: -3K
sys/devices/system/node/online: 0
sys/devices/system/node/node0/cpumap: f00
sys/devices/system/node/node0/distance: 10 20 30
`)
	assert.Equal(t, []cpuset.Set{cpuset.Of(0, 1), cpuset.Of(2, 3)}, m.Cores())
	assert.Len(t, m.Packages(), 4)
	assert.Empty(t, m.LLCs())
	assert.Zero(t, m.Caches[0].SizeBytes)
	assert.Equal(t, []topology.Node{{ID: 0, Allowed: true}}, m.Nodes)
	assert.Equal(t, "0-3", m.Groups()[0].CPUs.String(), "CPUs on no node are shown all the same")
	assert.Equal(t, []cpuset.CPU{0, 1, 2, 3}, m.Order())
}

const fourCPUs = `
sys/devices/system/cpu/{online,present}: 0-3
sys/devices/system/cpu/cpu{0-3}/topology/package_cpus: f
`

func TestKinds(t *testing.T) {
	kinds := func(tree string) (out []topology.Kind) {
		for _, c := range read(t, fourCPUs+tree).CPUs {
			out = append(out, c.Kind)
		}
		return out
	}
	const p, e, u = topology.KindPerformance, topology.KindEfficiency, topology.KindUniform
	assert.Equal(t, []topology.Kind{u, u, u, u}, kinds(""))
	assert.Equal(t, []topology.Kind{p, p, e, e}, kinds("sys/devices/cpu_core/cpus: 0-1\nsys/devices/cpu_atom/cpus: 2-3\n"))
	assert.Equal(t, []topology.Kind{p, p, e, e}, kinds("sys/devices/cpu_core/cpus: 0-1\nsys/devices/cpu_atom/cpus: 2\nsys/devices/cpu_lowpower/cpus: 3\n"))
	assert.Equal(t, []topology.Kind{e, e, p, p},
		kinds("sys/devices/system/cpu/cpu{0,1}/cpu_capacity: 446\nsys/devices/system/cpu/cpu{2,3}/cpu_capacity: 1024\n"))
	assert.Equal(t, []topology.Kind{u, u, u, u},
		kinds("sys/devices/system/cpu/cpu{0,1}/cpu_capacity: 1000\nsys/devices/system/cpu/cpu{2,3}/cpu_capacity: 1024\n"),
		"a few percent make no other kind of core")
	assert.Equal(t, []topology.Kind{u, u, u, u}, kinds("sys/devices/system/cpu/cpu0/cpu_capacity: 446\n"), "not known for all")
	assert.Equal(t, "P E", p.String()+" "+e.String()+u.String())
}

func TestAllowed(t *testing.T) {
	const nodes = "sys/devices/system/node/online: 0-1\nsys/devices/system/node/node0/cpulist: 0-1\nsys/devices/system/node/node1/cpulist: 2-3\n"
	for _, tt := range []struct{ name, tree, cpus, nodes string }{
		{"no cgroups", "", "0-3", "0,1"},
		{"v2", "proc/self/cpuset: /a/b\nsys/fs/cgroup/a/b/cpuset.cpus.effective: 1-2\nsys/fs/cgroup/a/b/cpuset.mems.effective: 1\n", "1-2", "1"},
		{"v2 without the controller below", "proc/self/cgroup: 0::/a/b\nsys/fs/cgroup/a/cpuset.cpus.effective: 3\nsys/fs/cgroup/a/b/cgroup.procs: 1\n", "3", "0,1"},
		{"v1", "proc/self/cgroup: 3:cpuset,cpu:/x\nsys/fs/cgroup/cpuset/x/cpuset.cpus: 0\nsys/fs/cgroup/cpuset/x/cpuset.mems: 0\n", "0", "0"},
		{"v1 elsewhere", "proc/self/cpuset: /x\nproc/mounts: none /dev/cpuset cgroup rw,cpuset,noprefix 0 0\ndev/cpuset/x/cpus: 2\ndev/cpuset/x/mems: 1\n", "2", "1"},
		{"v1 of other controllers", "proc/self/cpuset: /x\nproc/mounts: none /cg cgroup rw,cpuacct 0 0\ncg/x/cpus: 2\n", "0-3", "0,1"},
		{"nothing online of it", "proc/self/cpuset: /x\nsys/fs/cgroup/x/cpuset.cpus.effective: 7\n", "0-3", "0,1"},
		{"a path that climbs", "proc/self/cpuset: /../../x\nsys/fs/cgroup/x/cpuset.cpus.effective: 1\n", "1", "0,1"},
		{"unreadable", "proc/self/cgroup: ::\nproc/mounts: x\n", "0-3", "0,1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := read(t, fourCPUs+nodes+tt.tree)
			assert.Equal(t, tt.cpus, m.Allowed.String())
			assert.Equal(t, "0-3", m.Online.String())
			var allowed cpuset.Builder
			for _, n := range m.Nodes {
				if n.Allowed {
					allowed.Add(cpuset.CPU(n.ID))
				}
			}
			assert.Equal(t, tt.nodes, strings.ReplaceAll(allowed.Set().String(), "-", ","))
			usable := m.Usable()
			assert.Equal(t, tt.cpus, usable.Online.String())
			assert.Equal(t, tt.cpus, usable.Packages()[0].String())
		})
	}
}

func TestDistance(t *testing.T) {
	m := topologytest.Synthetic(topologytest.Spec{Nodes: 2, LLCsPerNode: 2, CoresPerLLC: 2, Threads: 2, Offline: "15"})
	for _, tt := range []struct {
		a, b cpuset.CPU
		want topology.Distance
	}{
		{0, 0, topology.SameCPU},
		{0, 8, topology.SMTSibling},
		{0, 1, topology.SameLLC},
		{0, 2, topology.SameNode},
		{0, 4, topology.OtherNode},
		{0, 15, topology.OtherNode},
		{15, 15, topology.SameCPU},
		{0, 99, topology.OtherNode},
		{-1, 0, topology.OtherNode},
	} {
		assert.Equal(t, tt.want, m.Distance(tt.a, tt.b), "%d to %d", tt.a, tt.b)
		assert.Equal(t, tt.want, m.Distance(tt.b, tt.a), "%d to %d", tt.b, tt.a)
		assert.NotEmpty(t, tt.want.String())
	}
}

func TestGroups(t *testing.T) {
	m := topologytest.Synthetic(topologytest.Spec{Nodes: 2, NodeIDs: []topology.NodeID{1, 7}, LLCsPerNode: 2, CoresPerLLC: 1, Threads: 2, Offline: "3"})
	assert.Equal(t, []topology.NodeGroup{
		{Node: 1, CPUs: cpuset.Of(0, 1, 4, 5), LLCs: []topology.LLCGroup{
			{Index: 0, CPUs: cpuset.Of(0, 4), Cores: []topology.CoreGroup{{Index: 0, CPUs: []cpuset.CPU{0, 4}}}},
			{Index: 1, CPUs: cpuset.Of(1, 5), Cores: []topology.CoreGroup{{Index: 1, CPUs: []cpuset.CPU{1, 5}}}},
		}},
		{Node: 7, CPUs: cpuset.Of(2, 6, 7), LLCs: []topology.LLCGroup{
			{Index: 2, CPUs: cpuset.Of(2, 6), Cores: []topology.CoreGroup{{Index: 2, CPUs: []cpuset.CPU{2, 6}}}},
			{Index: 3, CPUs: cpuset.Of(7), Cores: []topology.CoreGroup{{Index: 3, CPUs: []cpuset.CPU{7}}}},
		}},
		{Node: -1, CPUs: cpuset.Of(3), LLCs: []topology.LLCGroup{
			{Index: -1, CPUs: cpuset.Of(3), Cores: []topology.CoreGroup{{Index: -1, CPUs: []cpuset.CPU{3}}}},
		}},
	}, m.Groups())
	assert.Equal(t, []cpuset.CPU{0, 4, 1, 5, 2, 6, 7, 3}, m.Order())
}

// What is read for an expression gives what all would.
func TestReadFor(t *testing.T) {
	root := topologytest.Host(t, "64c4n")
	bare := t.TempDir() // without lists
	require.NoError(t, topologytest.Unpack([]byte("proc/cpuinfo: processor : 0"), bare))
	for _, root := range []string{root, bare} {
		all, err := topology.Read(root)
		require.NoError(t, err)
		for _, expr := range []string{"0", "0-14:2", "0xff", "online^3", "^0", "isolated", "nohz_full", "node:1", "llc:0,3", "core:2-3^2", "package:9", "99", "1-", "socket:1", ""} {
			want, wantErr := topology.ParseCPUs(expr, all)
			some, err := topology.ReadFor(root, expr)
			require.NoError(t, err)
			got, err := topology.ParseCPUs(expr, some)
			assert.Equal(t, wantErr, err, expr)
			assert.Equal(t, want, got, expr)
		}
	}
	_, err := topology.ReadFor(t.TempDir(), "0")
	assert.ErrorContains(t, err, "lists a CPU")
}

// A kernel without nohz_full= at boot says "(null)" up to 6.12, and nothing on 7.2 and 7.3;
// isolated is empty then on each.
func TestNoHzFull(t *testing.T) {
	for kernel, c := range map[string]struct{ text, want string }{
		"6.1": {"(null)\n", ""}, "6.12": {"(null)\n", ""}, "7.2": {"\n", ""}, "7.3": {"\n", ""}, "with nohz_full=2-3": {"2-3\n", "2-3"},
	} {
		root := t.TempDir()
		require.NoError(t, topologytest.Unpack([]byte("sys/devices/system/cpu/{online,present}: 0-3\nsys/devices/system/cpu/isolated:"), root))
		require.NoError(t, os.WriteFile(filepath.Join(root, "sys/devices/system/cpu/nohz_full"), []byte(c.text), 0o644))
		got, err := topology.Read(root)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.NohzFull.String(), kernel)
		assert.True(t, got.Isolated.Empty(), kernel)
		_, err = topology.ParseCPUs("nohz_full", got)
		assert.Equal(t, c.want == "", err != nil, kernel)
	}
}
