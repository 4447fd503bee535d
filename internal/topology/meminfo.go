package topology

import (
	"bytes"
	"strconv"
)

// MeminfoBytes finds a line such as "MemFree:   123 kB" of /proc/meminfo or of
// smaps_rollup, or "Node 0 MemFree: 123 kB" of a node's meminfo; 0 when there is
// none. MemTotal has huge pages in it.
func MeminfoBytes(meminfo []byte, name string) int64 {
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
