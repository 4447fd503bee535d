package tune

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// The value of Memory is a process's pages by NUMA node, "0:812 1:3"; what is
// asked for is nodes, "1", wherever on those.

// Pages is how many pages a process has on each node.
type Pages map[int]uint64

// ParsePages reads the value of a Change of Memory; ok is false for one that
// only names nodes, as before the change was made.
func ParsePages(value string) (pages Pages, ok bool) {
	pages = Pages{}
	for _, word := range strings.Fields(value) {
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

// String is "0:812 1:3".
func (p Pages) String() string {
	var words []string
	for _, node := range slices.Sorted(maps.Keys(p)) {
		words = append(words, fmt.Sprintf("%d:%d", node, p[node]))
	}
	return strings.Join(words, " ")
}

func (p Pages) total() uint64 {
	var sum uint64
	for _, n := range p {
		sum += n
	}
	return sum
}

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

// nodesOf returns the nodes of either kind of value.
func nodesOf(value string) cpuset.Set {
	if pages, ok := ParsePages(value); ok {
		return pages.Nodes()
	}
	nodes, _ := cpuset.Parse(value)
	return nodes
}

// memoryAlike tells whether pages are where they are meant to be. A process that
// runs gets and gives back pages all the time, so shares of the whole count.
func memoryAlike(a, b string) bool {
	const apart = 0.05
	x, xCounted := ParsePages(a)
	y, yCounted := ParsePages(b)
	switch {
	case !xCounted && !yCounted:
		return a == b
	case !xCounted:
		return y.outside(nodesOf(a)) == 0
	case !yCounted:
		return x.outside(nodesOf(b)) == 0
	}
	for node := range x.Nodes().Or(y.Nodes()).All() {
		share := float64(x[int(node)])/float64(x.total()) - float64(y[int(node)])/float64(y.total())
		if share > apart || share < -apart {
			return false
		}
	}
	return true
}

// pages counts the ordinary pages that the mappings' pages are as large as.
func pages(all []procfs.NumaMap) Pages {
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

func (t *Tuner) numaMaps(pid kernel.TID) ([]procfs.NumaMap, error) {
	data, err := t.o.Proc.File(strconv.Itoa(int(pid)), "numa_maps")
	if err != nil {
		return nil, err
	}
	return procfs.ParseNumaMaps(data)
}

func readMemory(t *Tuner, c Change) (string, error) {
	all, err := t.numaMaps(c.PID)
	return pages(all).String(), err
}

func writeMemory(t *Tuner, c Change) error {
	all, err := t.numaMaps(c.PID)
	if err != nil {
		return err
	}
	now := pages(all)
	want, counted := ParsePages(c.After)
	to := nodesOf(c.After)
	if counted && to.Len() > 1 {
		return t.divide(c.PID, all, now, want)
	}
	from := now.Nodes().AndNot(to)
	if from.Empty() {
		return nil
	}
	_, err = t.o.Sched.MigratePages(c.PID, from, to) // what was left is seen by reading back
	return err
}

// memory finds out on which nodes the process's CPUs are.
func (p *planner) memory(k task, c *Change) {
	if k.flags&flagKernelThread != 0 || c.Before == "" {
		refuse(c, "it has no memory of its own: it is a kernel thread, or ends")
		return
	}
	cpus, err := cpuset.Parse(c.After)
	if err == nil && cpus.Empty() {
		cpus, err = p.t.o.Sched.Affinity(k.pid)
	}
	if err != nil {
		refuse(c, "%v", err)
		return
	}
	nodes := p.t.nodesWith(cpus)
	if nodes.Empty() {
		refuse(c, "the nodes of %s have no memory of their own", cpus.InWords())
		return
	}
	c.After = nodes.String()
	if memoryAlike(c.Before, c.After) {
		c.After = c.Before
	}
}

// nodesWith returns the nodes with memory that CPUs are on.
func (t *Tuner) nodesWith(cpus cpuset.Set) cpuset.Set {
	dir := filepath.Join(t.o.Proc.Root(), "sys/devices/system/node")
	memory, err := readSet(filepath.Join(dir, "has_memory"))
	if err != nil {
		return cpuset.Of(0) // no NUMA: everything is on one node
	}
	var out cpuset.Builder
	for node := range memory.All() {
		there, err := readSet(filepath.Join(dir, fmt.Sprintf("node%d/cpulist", node)))
		if err == nil && !there.And(cpus).Empty() {
			out.Add(node)
		}
	}
	return out.Set()
}

// partly recognises pages that the kernel left where they were: those that other
// processes use too (without CAP_SYS_NICE), locked ones, and those of devices.
func (r *run) partly(c *Change, want, now string) bool {
	was, _ := ParsePages(c.Before)
	is, ok := ParsePages(now)
	if !ok {
		return false
	}
	to := nodesOf(want)
	left := is.outside(to)
	if left == 0 { // on the right nodes, if in other shares: what an undo can do
		c.Reason = "as near to what it was as can be told: pages are not known one by one"
		return true
	}
	if left >= was.outside(to) {
		return false
	}
	c.Reason = fmt.Sprintf("%d of %d pages stayed on %s: others use them too, or they cannot be moved",
		left, is.total(), nodeText(is.Nodes().AndNot(to)))
	return true
}

// nodeText names nodes in a sentence: "node 1", "nodes 0-1".
func nodeText(nodes cpuset.Set) string {
	if nodes.Len() == 1 {
		return "node " + nodes.String()
	}
	return "nodes " + nodes.String()
}
