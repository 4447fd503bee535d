package irq

import (
	"piton/internal/cpuset"
	"piton/internal/procfs"
)

// readList reads a file that holds a cpulist.
func readList(path string) Mask {
	set, ok := procfs.CPUs(path)
	return Mask{set, ok}
}

// ReadMask reads a file that holds a cpumask.
func ReadMask(path string) Mask {
	text, ok := procfs.Text(path)
	set, err := cpuset.ParseMask(text)
	return Mask{set, ok && err == nil}
}

// readNumber reads a file that holds a number, or returns none.
func readNumber(path string, none int) int {
	if n, ok := procfs.Number(path); ok {
		return n
	}
	return none
}
