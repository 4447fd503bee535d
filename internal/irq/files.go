package irq

import (
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// readText returns the content of a small file without blanks around it, and
// whether it could be read.
func readText(path string) (string, bool) {
	fd, err := kernel.OpenFile(kernel.NoDir, append([]byte(path), 0))
	if err != nil {
		return "", false
	}
	defer kernel.CloseFile(fd)
	buf := make([]byte, 512)
	for n := 0; ; {
		got, err := kernel.ReadFileAt(fd, buf[n:], int64(n))
		if err != nil {
			return "", false
		}
		if n += got; got == 0 {
			return strings.Trim(string(buf[:n]), cpuset.Blank), true
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
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
