package attr

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Pages is how many pages a process has on each NUMA node: "0:812 1:3".
type Pages map[int]uint64

func parsePages(text string) (pages Pages, ok bool) {
	pages = Pages{}
	for word := range strings.FieldsSeq(text) {
		node, count, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(node)
		if err != nil || n < 0 || n > int(cpuset.MaxCPU) {
			return nil, false
		}
		if pages[n], err = strconv.ParseUint(count, 10, 64); err != nil {
			return nil, false
		}
	}
	return pages, len(pages) > 0
}

func (p Pages) String() string {
	var words []string
	for _, node := range slices.Sorted(maps.Keys(p)) {
		words = append(words, fmt.Sprintf("%d:%d", node, p[node]))
	}
	return strings.Join(words, " ")
}

func (p Pages) total() uint64 { return p.outside(cpuset.Set{}) }

// Nodes returns the nodes that have any.
func (p Pages) Nodes() cpuset.Set {
	var b cpuset.Builder
	for node := range p {
		b.Add(cpuset.CPU(node))
	}
	return b.Set()
}

// outside counts the pages that are on none of the nodes.
func (p Pages) outside(nodes cpuset.Set) uint64 {
	var sum uint64
	for node, n := range p {
		if !nodes.Has(cpuset.CPU(node)) {
			sum += n
		}
	}
	return sum
}

// countPages counts the ordinary pages that the mappings' pages are as large as.
func countPages(all []procfs.NumaMap) Pages {
	out := Pages{}
	ordinary := uint64(os.Getpagesize() / 1024)
	for _, m := range all {
		for _, p := range m.Pages {
			if p.Pages > 0 {
				out[p.Node] += p.Pages * max(1, m.PageKB/ordinary)
			}
		}
	}
	return out
}

func (m *Machine) numaMaps(pid kernel.TID) ([]procfs.NumaMap, error) {
	return procfs.New(m.Proc.Root()).NumaMaps(pid)
}

const (
	movedAtOnce = 4096    // pages of one call
	mostPages   = 1 << 22 // looked at: 16 GiB of ordinary ones
)

// divide brings a process's pages to the shares of the nodes that they had. Which
// of them was where is not known, so it takes any, from the start.
func divide(w Write, all []procfs.NumaMap, now, want Pages) error {
	ends, err := w.mappingEnds(w.Change.PID)
	if err != nil {
		return err
	}
	d := division{task: w.Task, missing: map[int32]int64{}}
	for node := range now.Nodes().Or(want.Nodes()).All() {
		n := int(node)
		d.missing[int32(n)] = int64(want[n]*now.total()/max(1, want.total())) - int64(now[n])
	}
	looked := 0
	for _, m := range all {
		size, end := max(uint64(os.Getpagesize()), m.PageKB*1024), ends[m.Start]
		for at := m.Start; at < end && looked < mostPages && slices.ContainsFunc(m.Pages, d.tooMany); {
			var addrs []uint64
			for ; at < end && len(addrs) < movedAtOnce; at += size {
				addrs = append(addrs, at)
			}
			looked += len(addrs)
			if err := d.move(addrs, int64(size)/int64(os.Getpagesize())); err != nil {
				return err
			}
		}
	}
	return nil
}

// mappingEnds returns the end of each mapping by its start, from /proc/PID/maps.
func (m *Machine) mappingEnds(pid kernel.TID) (map[uint64]uint64, error) {
	data, err := procfs.New(m.Proc.Root()).Maps(pid)
	out := map[uint64]uint64{}
	for line := range bytes.Lines(data) {
		var start, end uint64
		if n, _ := fmt.Sscanf(string(line), "%x-%x ", &start, &end); n == 2 {
			out[start] = end
		}
	}
	return out, err
}

// division is one divide on its way.
type division struct {
	task    kernel.Task
	missing map[int32]int64 // pages by node; below 0 = it has too many
}

func (d *division) tooMany(p procfs.NodePages) bool { return d.missing[int32(p.Node)] < 0 }

// move moves those of some pages that are on a node with too many to one with
// too few; each counts as so many ordinary pages.
func (d *division) move(addrs []uint64, weight int64) error {
	at, err := d.task.MovePages(addrs, nil)
	if err != nil {
		return err
	}
	var chosen []uint64
	var nodes, from []int32
	for i, node := range at {
		to, ok := d.neediest()
		if !ok {
			break
		}
		if node >= 0 && d.missing[node] < 0 {
			d.missing[node] += weight
			d.missing[to] -= weight
			chosen, nodes, from = append(chosen, addrs[i]), append(nodes, to), append(from, node)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	now, err := d.task.MovePages(chosen, nodes)
	for i, to := range nodes {
		if err == nil && now[i] < 0 { // it stays: another process uses it too, or it is locked
			d.missing[to] += weight
			d.missing[from[i]] -= weight
		}
	}
	return err
}

// neediest is the node that misses most.
func (d *division) neediest() (node int32, ok bool) {
	most := int64(0)
	for n, missing := range d.missing {
		if missing > most || ok && missing == most && n < node {
			node, most, ok = n, missing, true
		}
	}
	return node, ok
}
