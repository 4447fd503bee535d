package attr

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Memory is the pages of a process by NUMA node, a MemoryValue.
const Memory Attribute = "memory"

// MemoryValue is a process's pages by node, "0:812 1:3"; the nodes that they are to
// be on, wherever on those, "1"; or, as a wish, the CPUs whose nodes those are,
// "cpus 0-3", "cpus" for those that the process may use.
type MemoryValue struct {
	Pages Pages
	Nodes cpuset.Set
	Near  bool       // a wish: near CPUs
	CPUs  cpuset.Set // of a wish; none = the process's own
}

const nearWord = "cpus"

var memory = spec{
	needs: kernel.CapSysPtrace, process: true,
	parse: parseMemory, read: readMemory, write: writeMemory, prepare: prepareMemory,
	alike:    func(a, b Value) bool { return memoryAlike(a.(MemoryValue), b.(MemoryValue)) },
	adjusted: partlyMoved, risk: riskMemory,
	words:  func(v Value) string { return "memory on " + nodeText(v.(MemoryValue).nodes()) },
	absent: lacking("NUMA nodes (CONFIG_NUMA): there is one memory for all CPUs", syscall.ENOSYS, syscall.ENOENT),
	explain: func(_ *Machine, c Change, errno syscall.Errno) string {
		if errno == syscall.EINVAL {
			return "its cpuset allows no memory on " + nodeText(c.After.(MemoryValue).nodes()) + ": widen the group's cpuset.mems"
		}
		return ""
	},
	setBy: []string{"numad", "NUMAPolicy", "NUMAMask", "AllowedMemoryNodes"},
}

// SetMemoryNear asks for the pages to be on the nodes of CPUs, none = those that the
// process may use.
func SetMemoryNear(cpus cpuset.Set) Setting {
	return Setting{Memory, MemoryValue{Near: true, CPUs: cpus}}
}

func (v MemoryValue) String() string {
	switch {
	case v.Near:
		return strings.TrimSpace(nearWord + " " + v.CPUs.String())
	case v.Pages != nil:
		return v.Pages.String()
	}
	return v.Nodes.String()
}

// nodes returns the nodes of either kind of value.
func (v MemoryValue) nodes() cpuset.Set {
	if v.Pages != nil {
		return v.Pages.Nodes()
	}
	return v.Nodes
}

func parseMemory(text string) (Value, error) {
	if list, near := strings.CutPrefix(text, nearWord); near {
		cpus, err := cpuset.Parse(strings.TrimSpace(list))
		if err != nil {
			return nil, Usagef("memory %q: %v", text, err)
		}
		return MemoryValue{Near: true, CPUs: cpus}, nil
	}
	if pages, ok := parsePages(text); ok {
		return MemoryValue{Pages: pages}, nil
	}
	nodes, err := cpuset.Parse(text)
	if err != nil {
		return nil, Usagef("memory %q is neither pages by node (0:812 1:3) nor nodes", text)
	}
	return MemoryValue{Nodes: nodes}, nil
}

// memoryAlike reports whether pages are where they are meant to be. A process that
// runs gets and frees pages all the time, so shares of the whole count.
func memoryAlike(a, b MemoryValue) bool {
	const apart = 0.05
	switch {
	case a.Near || b.Near || a.Pages == nil && b.Pages == nil:
		return a.String() == b.String()
	case a.Pages == nil:
		return b.Pages.outside(a.Nodes) == 0
	case b.Pages == nil:
		return a.Pages.outside(b.Nodes) == 0
	}
	for node := range a.Pages.Nodes().Or(b.Pages.Nodes()).All() {
		share := float64(a.Pages[int(node)])/float64(a.Pages.total()) - float64(b.Pages[int(node)])/float64(b.Pages.total())
		if share > apart || share < -apart {
			return false
		}
	}
	return true
}

func readMemory(m *Machine, o Object) (Value, error) {
	all, err := m.numaMaps(o.PID)
	return MemoryValue{Pages: countPages(all)}, err
}

func writeMemory(w Write) error {
	all, err := w.numaMaps(w.Change.PID)
	if err != nil {
		return err
	}
	now, want := countPages(all), w.Change.After.(MemoryValue)
	to := want.nodes()
	if want.Pages != nil && to.Len() > 1 {
		return divide(w, all, now, want.Pages)
	}
	if from := now.Nodes().AndNot(to); !from.Empty() {
		_, err = w.Task.MigratePages(from, to) // what was left is seen by reading back
	}
	return err
}

// prepareMemory finds out on which nodes the process's CPUs are.
func prepareMemory(v *View, k Task, c *Change) {
	want := c.After.(MemoryValue)
	if k.IsKernel() || len(c.Before.(MemoryValue).Pages) == 0 {
		c.Refuse("it has no memory of its own: it is a kernel thread, or ends")
		return
	}
	if !want.Near {
		return
	}
	cpus := want.CPUs
	if cpus.Empty() {
		var err error
		if cpus, err = v.Sched.Affinity(k.PID); err != nil {
			v.RefuseFor(c, err)
			return
		}
	}
	nodes := v.nodesWith(cpus)
	if nodes.Empty() {
		c.Refuse("the nodes of %s have no memory of their own", cpus.InWords())
		return
	}
	c.After = MemoryValue{Nodes: nodes}
	if c.Same() {
		c.After = c.Before
	}
}

// nodesWith returns the nodes with memory that CPUs are on.
func (m *Machine) nodesWith(cpus cpuset.Set) cpuset.Set {
	dir := filepath.Join(m.Proc.Root(), "sys/devices/system/node")
	memory, err := ReadSet(filepath.Join(dir, "has_memory"))
	if err != nil {
		return cpuset.Of(0) // no NUMA: everything is on one node
	}
	var out cpuset.Builder
	for node := range memory.All() {
		there, err := ReadSet(filepath.Join(dir, fmt.Sprintf("node%d/cpulist", node)))
		if err == nil && !there.And(cpus).Empty() {
			out.Add(node)
		}
	}
	return out.Set()
}

// partlyMoved recognises pages that the kernel left where they were: those that
// other processes use too (without CAP_SYS_NICE), locked ones, and those of devices.
func partlyMoved(_ *Machine, c *Change, now Value) bool {
	was, is := c.Before.(MemoryValue).Pages, now.(MemoryValue).Pages
	to := c.After.(MemoryValue).nodes()
	left := is.outside(to)
	if left == 0 { // on the right nodes, if in other shares: what an undo can do
		c.Reason = "on the right nodes in other shares: which page was where is not known"
		return true
	}
	if left >= was.outside(to) {
		return false
	}
	c.Reason = fmt.Sprintf("%d of %d pages stayed on %s: others use them too, or they cannot be moved",
		left, is.total(), nodeText(is.Nodes().AndNot(to)))
	return true
}

// riskMemory says that new pages may still come from elsewhere.
func riskMemory(v *View, c Change) {
	all, err := v.numaMaps(c.PID)
	if err != nil {
		return
	}
	for _, m := range all {
		mode, list, _ := strings.Cut(m.Policy, ":") // "bind:0", "interleave:0-1", "prefer=static:0"
		nodes, err := cpuset.Parse(list)
		if err == nil && !nodes.SubsetOf(c.After.(MemoryValue).nodes()) {
			v.Warn(Note, "%d has a memory policy of its own (%s %s): what it allocates later goes there, only its pages of now move", c.PID, mode, nodes)
			return
		}
	}
}

// nodeText names nodes in a sentence: "node 1", "nodes 0-1".
func nodeText(nodes cpuset.Set) string {
	if nodes.Len() == 1 {
		return "node " + nodes.String()
	}
	return "nodes " + nodes.String()
}
