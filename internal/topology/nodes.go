package topology

import (
	"bytes"
	"strconv"

	"piton/internal/cpuset"
	"piton/internal/procfs"
)

// readNodes fills Nodes and the Node of the online CPUs. A machine without
// /sys/devices/system/node (no NUMA in the kernel) has one node that holds
// everything, as hwloc has it.
func (t *Topology) readNodes(path, meminfo string) {
	d := dir(path)
	ids, ok := d.list("online")
	if !ok {
		ids = d.numbered("node")
	}
	if ids.Empty() {
		data, _ := procfs.ReadFile(meminfo)
		t.addNode(Node{ID: 0, CPUs: t.Online, MemoryBytes: MeminfoBytes(data, "MemTotal")})
		return
	}
	for id := range ids.All() {
		at := "node" + strconv.Itoa(int(id)) + "/"
		n := Node{ID: NodeID(id)}
		n.CPUs, _ = d.set(at, "cpumap", "cpulist")
		n.CPUs = n.CPUs.And(t.Online)
		data, _ := d.read(at, "meminfo")
		n.MemoryBytes = MeminfoBytes([]byte(data), "MemTotal")
		data, _ = d.read(at, "distance")
		n.Distances = distances([]byte(data), ids)
		t.addNode(n)
	}
}

func (t *Topology) addNode(n Node) {
	n.Allowed = true
	t.Nodes = append(t.Nodes, n)
	for i := range t.CPUs {
		if n.CPUs.Has(t.CPUs[i].ID) {
			t.CPUs[i].Node = n.ID
		}
	}
}

// distances reads a node's distance file: one number for each online node, in
// their order. Anything else means that they are not known.
func distances(text []byte, ids cpuset.Set) map[NodeID]int {
	fields := bytes.Fields(text)
	if len(fields) != ids.Len() {
		return nil
	}
	out := make(map[NodeID]int, len(fields))
	next := 0
	for id := range ids.All() {
		n, err := strconv.Atoi(string(fields[next]))
		if err != nil {
			return nil
		}
		out[NodeID(id)] = n
		next++
	}
	return out
}

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
