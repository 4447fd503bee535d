package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"32K": 32 << 10, "1024K": 1 << 20, "8M": 8 << 20, "512": 512,
		"": 0, "K": 0, "-1K": 0, "x": 0, "99999999999999K": 0, "1G": 0,
	} {
		assert.Equal(t, want, parseSize([]byte(text)), text)
	}
}

func TestMemTotal(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:        7825624 kB\nMemFree: 1 kB\n":          7825624 << 10,
		"Node 0 MemTotal:       5 kB\nNode 0 MemFree:   1 kB\n": 5 << 10,
		"":                             0,
		"MemTotal:":                    0,
		"MemTotal: many kB":            0,
		"MemTotal: -4 kB":              0,
		"MemTotal: 99999999999999999 ": 0,
	} {
		assert.Equal(t, want, MeminfoBytes([]byte(text), "MemTotal"), text)
	}
}

func TestDistancesOfNodes(t *testing.T) {
	ids := cpuset.Of(0, 4)
	assert.Equal(t, map[NodeID]int{0: 10, 4: 32}, distances([]byte("10 32"), ids))
	assert.Nil(t, distances([]byte("10"), ids))
	assert.Nil(t, distances([]byte("10 x"), ids))
	assert.Nil(t, distances(nil, ids))
}

// FuzzHostFiles feeds everything that reads the content of a file.
func FuzzHostFiles(f *testing.F) {
	for _, seed := range []string{
		"processor\t: 0\nphysical id\t: 1\ncore id\t: 2\n", "processor: 99999999\ncore id: 1\n", "core id: 1\n",
		"MemTotal: 12 kB", "32K", "10 20", "0::/a\n", "none /cgroup cgroup2 rw 0 0\n", "x cgroup cgroup rw,cpuset\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for id, is := range parseCPUInfo(data) {
			assert.True(t, id >= 0 && id <= cpuset.MaxCPU)
			assert.True(t, is.pkg >= -1 && is.core >= -1)
		}
		assert.GreaterOrEqual(t, MeminfoBytes(data, "MemTotal"), int64(0))
		assert.GreaterOrEqual(t, parseSize(data), int64(0))
		if d := distances(data, cpuset.Of(1, 2)); d != nil {
			assert.Len(t, d, 2)
		}
		for _, mount := range cpusetMounts(data) {
			assert.NotEmpty(t, mount)
		}
	})
}

func FuzzMeminfo(f *testing.F) {
	f.Add([]byte("MemFree: 1 kB\n"), "MemFree")
	f.Add([]byte("Node 0 MemFree: -1 kB\n::\nMemFree"), "MemFree")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		assert.GreaterOrEqual(t, MeminfoBytes(content, name), int64(0))
	})
}

func TestParseCPUInfoOfS390(t *testing.T) {
	text := "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3000.00\n" +
		"processor 0: version = FF,  identification = 000001,  machine = 3906\nprocessor 3: version = FF,  identification = 000001,  machine = 3906\n"
	assert.Equal(t, map[cpuset.CPU]coreID{0: {-1, -1}, 3: {-1, -1}}, parseCPUInfo([]byte(text)))
	text += "\ncpu number      : 0\nphysical id     : 1\ncore id         : 5\n\ncpu number      : 3\nphysical id     : 1\ncore id         : 6\n"
	assert.Equal(t, map[cpuset.CPU]coreID{0: {1, 5}, 3: {1, 6}}, parseCPUInfo([]byte(text)))
}
