package topology

import (
	"bytes"
	"strconv"
)

// MeminfoBytes is Meminfo, 0 where there is nothing.
func MeminfoBytes(meminfo []byte, name string) int64 {
	n, _ := Meminfo(meminfo, name)
	return n
}

// Meminfo finds a line such as "MemFree:   123 kB" of /proc/meminfo or of
// smaps_rollup, or "Node 0 MemFree: 123 kB" of a node's meminfo; not ok when there is
// none, or it is cut or malformed. MemTotal has huge pages in it.
func Meminfo(meminfo []byte, name string) (n int64, ok bool) {
	for line := range bytes.Lines(meminfo) {
		key, value, found := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(key)
		if !found || len(fields) == 0 || string(fields[len(fields)-1]) != name {
			continue
		}
		number, unit, _ := bytes.Cut(bytes.TrimSpace(value), []byte(" "))
		kB, err := strconv.ParseInt(string(number), 10, 53)
		if err != nil || kB < 0 || string(bytes.TrimSpace(unit)) != "kB" {
			return 0, false
		}
		return kB << 10, true
	}
	return 0, false
}
