package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree makes a host tree of files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

func TestAvailableMemory(t *testing.T) {
	meminfo := "MemTotal:       1000 kB\nMemFree:         1 kB\nMemAvailable:    500 kB\n"
	cgroup := fmt.Sprintf("proc/%d/cgroup", os.Getpid())
	assert.Equal(t, int64(0), AvailableBytes(t.TempDir()), "not known")
	assert.Equal(t, int64(500<<10), AvailableBytes(tree(t, map[string]string{"proc/meminfo": meminfo})))
	limited := map[string]string{
		"proc/meminfo": meminfo, cgroup: "0::/a/b\n",
		"sys/fs/cgroup/a/memory.max": "300000\n", "sys/fs/cgroup/a/memory.current": "100000\n",
		"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "100000\n",
	}
	assert.Equal(t, int64(200_000), AvailableBytes(tree(t, limited)), "of the cgroup above")
	limited["sys/fs/cgroup/a/memory.current"] = "400000\n"
	assert.Equal(t, int64(1), AvailableBytes(tree(t, limited)), "none is left")
}

func TestAvailableMemoryOfANode(t *testing.T) {
	root := tree(t, map[string]string{"sys/devices/system/node/node3/meminfo": "Node 3 MemTotal: 9 kB\nNode 3 MemFree:   100 kB\n" +
		"Node 3 Active(file):    40 kB\nNode 3 Inactive(file):  20 kB\n"})
	assert.Equal(t, int64(130<<10), NodeAvailableBytes(root, 3))
	assert.Equal(t, int64(0), NodeAvailableBytes(root, 4))
}

func TestThisMachine(t *testing.T) {
	assert.Positive(t, AvailableBytes("/"))
	assert.NotZero(t, LineBytes())
	assert.NotEmpty(t, Topology().CPUs)
}

func TestAutomaticSize(t *testing.T) {
	assert.Equal(t, 128, AutoMiB(32<<20, 1<<20))
	assert.Equal(t, 128, AutoMiB(0, 1<<20), "not known")
	assert.Equal(t, 1, AutoMiB(1000, 1<<20))
	assert.Equal(t, 64, AutoMiB(32<<20, 64))
}
