package machine

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/topology"
)

// AvailableBytes is how much memory a workload may take: what the kernel says
// is available, less if a cgroup permits less; 0 when it cannot be told. Memory
// of the host tree below root.
func AvailableBytes(root string) int64 {
	meminfo, _ := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	available := topology.MeminfoBytes(meminfo, "MemAvailable")
	if left, limited := cgroupLeft(root); limited && (available == 0 || left < available) {
		available = left
	}
	return available
}

// NodeAvailableBytes is the same of one node: its free memory and the files'
// pages that can be dropped, as si_mem_available counts them for the whole.
func NodeAvailableBytes(root string, node int) int64 {
	b, _ := os.ReadFile(filepath.Join(root, "sys/devices/system/node/node"+strconv.Itoa(node), "meminfo"))
	return topology.MeminfoBytes(b, "MemFree") + (topology.MeminfoBytes(b, "Active(file)")+topology.MeminfoBytes(b, "Inactive(file)"))/2
}

// cgroupLeft is what the limits of the process's cgroup and of those above it
// leave, by memory.max and memory.current of version 2.
func cgroupLeft(root string) (bytes int64, limited bool) {
	groups, err := procfs.New(root).Cgroup(kernel.TID(os.Getpid()))
	if err != nil {
		return 0, false
	}
	path, ok := groups.Unified()
	if !ok {
		return 0, false
	}
	bytes = math.MaxInt64
	mount := filepath.Join(root, "sys/fs/cgroup")
	for dir := filepath.Join(mount, path); strings.HasPrefix(dir, mount); dir = filepath.Dir(dir) {
		most, haveMost := readBytes(filepath.Join(dir, "memory.max"))
		now, haveNow := readBytes(filepath.Join(dir, "memory.current"))
		if haveMost && haveNow {
			bytes, limited = min(bytes, max(most-now, 1)), true
		}
	}
	return bytes, limited
}

// readBytes reads a file of one number; "max" is none.
func readBytes(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0
}
