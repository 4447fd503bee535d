package bench

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// availableBytes is how much memory a workload may take: what the kernel says
// is available, less if a cgroup permits less; 0 when it cannot be told. Memory
// of the host tree below root.
func availableBytes(root string) int64 {
	meminfo, _ := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	available := meminfoBytes(meminfo, "MemAvailable")
	if left, limited := cgroupLeft(root); limited && (available == 0 || left < available) {
		available = left
	}
	return available
}

// nodeAvailableBytes is the same of one node: its free memory and the files'
// pages that can be dropped, as si_mem_available counts them for the whole.
func nodeAvailableBytes(root string, node int) int64 {
	b, _ := os.ReadFile(filepath.Join(root, "sys/devices/system/node/node"+strconv.Itoa(node), "meminfo"))
	return meminfoBytes(b, "MemFree") + (meminfoBytes(b, "Active(file)")+meminfoBytes(b, "Inactive(file)"))/2
}

// meminfoBytes finds a line such as "MemFree:   123 kB" or "Node 0 MemFree: 123 kB".
func meminfoBytes(meminfo []byte, name string) int64 {
	for line := range bytes.Lines(meminfo) {
		key, value, found := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(key)
		if !found || len(fields) == 0 || string(fields[len(fields)-1]) != name {
			continue
		}
		number, _, _ := bytes.Cut(bytes.TrimSpace(value), []byte(" "))
		kB, err := strconv.ParseInt(string(number), 10, 53)
		if err != nil || kB < 0 {
			return 0
		}
		return kB << 10
	}
	return 0
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
