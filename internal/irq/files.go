package irq

import (
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/procfs"
)

// readText returns the content of a small file without blanks around it, and
// whether it could be read.
func readText(path string) (string, bool) {
	b, err := procfs.ReadFile(path)
	return strings.Trim(string(b), cpuset.Blank), err == nil
}

// readList reads a file that holds a cpulist.
func readList(path string) Mask {
	text, ok := readText(path)
	if !ok {
		return Mask{}
	}
	set, err := cpuset.Parse(text)
	return Mask{set, err == nil}
}

// ReadMask reads a file that holds a cpumask.
func ReadMask(path string) Mask {
	text, ok := readText(path)
	if !ok {
		return Mask{}
	}
	set, err := cpuset.ParseMask(text)
	return Mask{set, err == nil}
}

// readNumber reads a file that holds a number, or returns none.
func readNumber(path string, none int) int {
	text, ok := readText(path)
	if !ok {
		return none
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return none
	}
	return n
}
