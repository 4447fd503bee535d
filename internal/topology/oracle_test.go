package topology_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// answer is what ../shared/tools/topo-oracle prints: hwloc's view of a tree.
type answer struct {
	CPUs []struct {
		CPU     int
		Core    string
		LLC     *string
		Package *string
		Node    []int
	}
	Nodes []struct {
		Node   int
		CPUs   string
		Memory int64
	}
}

// TestAgreesWithHwloc compares Read with hwloc, CPU by CPU, on recorded
// machines and on this one.
func TestAgreesWithHwloc(t *testing.T) {
	shared := filepath.Join("..", "..", "..", "shared")
	oracle := filepath.Join(shared, "tools", "topo-oracle")
	if _, err := os.Stat(oracle); err != nil {
		t.Skip("the recorded machines beside the repository are not there: ", err)
	}
	if _, err := exec.LookPath("lstopo-no-graphics"); err != nil {
		t.Skip("hwloc is not installed (Debian: hwloc-nox): ", err)
	}
	archives, err := filepath.Glob(filepath.Join(shared, "topologies", "*.tar.bz2"))
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	t.Run("this machine", func(t *testing.T) { compare(t, oracle, "/") })
	for _, shape := range topologytest.Shapes(t) {
		t.Run(shape, func(t *testing.T) { compare(t, oracle, topologytest.Host(t, shape)) })
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			t.Parallel()
			compare(t, oracle, topologytest.Extract(t, archive))
		})
	}
}

func compare(t *testing.T, oracle, root string) {
	out, err := exec.Command(oracle, root).Output()
	require.NoError(t, err)
	var want answer
	require.NoError(t, json.Unmarshal(out, &want))
	whole, err := topology.Read(root)
	require.NoError(t, err)
	got := whole.Usable()

	require.Len(t, got.CPUs, len(want.CPUs))
	for i, w := range want.CPUs {
		c := got.CPUs[i]
		assert.EqualValues(t, w.CPU, c.ID)
		assert.Equal(t, w.Core, c.Core.String(), "core of CPU %d", w.CPU)
		assert.Equal(t, orEmpty(w.LLC), c.LLC.String(), "LLC of CPU %d", w.CPU)
		assert.Equal(t, orEmpty(w.Package), c.Package.String(), "package of CPU %d", w.CPU)
		nodes := []int{}
		if c.Node >= 0 {
			nodes = append(nodes, int(c.Node))
		}
		assert.Equal(t, w.Node, nodes, "node of CPU %d", w.CPU)
	}
	require.Len(t, got.Nodes, len(want.Nodes))
	for i, w := range want.Nodes {
		assert.EqualValues(t, w.Node, got.Nodes[i].ID)
		assert.Equal(t, w.CPUs, got.Nodes[i].CPUs.String(), "CPUs of node %d", w.Node)
		assert.Equal(t, w.Memory, got.Nodes[i].MemoryBytes, "memory of node %d", w.Node)
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
