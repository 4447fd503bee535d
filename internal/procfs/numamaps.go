package procfs

import (
	"bytes"
	"strconv"

	"piton/internal/kernel"
)

// NumaMap is one mapping of a process in /proc/PID/numa_maps (numa(7)).
type NumaMap struct {
	Start  uint64 // address
	Policy string // of the mapping: "default", "bind:1"
	Pages  []NodePages
	PageKB uint64 // of each page; 0 = the kernel does not say, so ordinary ones
}

// NodePages is how many pages of a mapping are on a node.
type NodePages struct {
	Node  int
	Pages uint64
}

// NumaMaps reads /proc/PID/numa_maps; it takes as long as a walk over the page
// table. Kernels without CONFIG_NUMA have no such file.
func (f FS) NumaMaps(pid kernel.TID) ([]NumaMap, error) {
	b, err := f.traced(pid, "numa_maps")
	if err != nil {
		return nil, err
	}
	return ParseNumaMaps(b)
}

// Maps returns what /proc/PID/maps holds (proc_pid_maps(5)).
func (f FS) Maps(pid kernel.TID) ([]byte, error) { return f.traced(pid, "maps") }

// traced reads a file of a process that only those may open who may trace it: on this
// machine with CAP_SYS_PTRACE, where piton has that.
func (f FS) traced(pid kernel.TID, name string) ([]byte, error) {
	return f.taskBy(func(path string) ([]byte, error) {
		if !f.live {
			return readFile(path)
		}
		fd, err := kernel.OpenTraced(pid, name)
		if err != nil {
			return nil, err
		}
		return readAndClose(fd)
	}, pid, 0, name)
}

// ParseNumaMaps parses lines such as
// "7f3c8000 default file=/lib/x.so mapped=3 N0=2 N1=1 kernelpagesize_kB=4".
func ParseNumaMaps(b []byte) ([]NumaMap, error) {
	var out []NumaMap
	for line := range bytes.Lines(b) {
		words := bytes.Fields(line)
		if len(words) < 2 {
			return nil, malformed("numa_maps", line)
		}
		start, err := strconv.ParseUint(string(words[0]), 16, 64)
		if err != nil {
			return nil, malformed("numa_maps", line)
		}
		m := NumaMap{Start: start, Policy: string(words[1])}
		for _, word := range words[2:] {
			if err := m.word(word); err != nil {
				return nil, err
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// word reads the words that are counts of nodes, and the size of the pages; a
// file's name has its blanks escaped (mm/mempolicy.c, show_numa_map).
func (m *NumaMap) word(word []byte) error {
	name, value, ok := bytes.Cut(word, []byte("="))
	if !ok {
		return nil
	}
	isNode := len(name) > 1 && name[0] == 'N'
	if !isNode && string(name) != "kernelpagesize_kB" {
		return nil
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return malformed("numa_maps", word)
	}
	if !isNode {
		m.PageKB = n
		return nil
	}
	node, err := strconv.ParseUint(string(name[1:]), 10, 16)
	if err != nil {
		return malformed("numa_maps", word)
	}
	m.Pages = append(m.Pages, NodePages{int(node), n})
	return nil
}
