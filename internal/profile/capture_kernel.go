package profile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/irq"
	"piton/internal/partition"
	"piton/internal/pattern"
	"piton/internal/sample"
)

var (
	perCPU    = pattern.Lazy(`/[0-9]+$`)                          // ksoftirqd/3
	ofLine    = pattern.Lazy(`^irq/[0-9]+-`)                      // irq/24-eth0; lines have other numbers after a boot
	fleeting  = pattern.Lazy(`^kworker(/|$)`)                     // renamed with each piece of work
	immovable = pattern.Lazy(`^(migration/|cpuhp/|idle_inject/)`) // the scheduler's own
)

// usualKthreads are the values that the kernel gives its own threads, by the beginnings of
// their names: mm/khugepaged.c, mm/ksm.c, and sched_set_fifo and
// sched_set_fifo_low (kernel/sched/syscalls.c), which are FIFO 50 and 1.
var usualKthreads = []struct {
	prefix    string
	attribute attr.Attribute
	value     string
}{
	{"khugepaged", attr.Nice, "19"}, {"ksmd", attr.Nice, "5"},
	{"irq/", attr.Policy, "FIFO:50"}, {"watchdogd", attr.Policy, "FIFO:50"},
	{"card", attr.Policy, "FIFO:50"}, {"sugov:", attr.Policy, "FIFO:50"},
	{"irq_work/", attr.Policy, "FIFO:1"}, {"psimon", attr.Policy, "FIFO:1"},
	{"rcu", attr.Policy, "FIFO:1"},
}

// usualKthread reports whether a kernel thread has a value from its birth on.
func usualKthread(comm string, a attr.Attribute, value string) bool {
	for _, u := range usualKthreads {
		if u.attribute == a && u.value == value && strings.HasPrefix(comm, u.prefix) {
			return true
		}
	}
	return false
}

// kthreads captures kernel threads. They come and go with kernels and devices,
// so none is required.
func (c *capturer) kthreads() {
	groups := map[string][]*sample.Task{}
	for _, t := range c.s.Tasks {
		if t.ID == nil || !t.IsKernel() || fleeting().MatchString(t.ID.Comm) || immovable().MatchString(t.ID.Comm) {
			continue
		}
		groups[familyOf(t.ID.Comm)] = append(groups[familyOf(t.ID.Comm)], t)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if threads := groups[name]; slices.ContainsFunc(threads, c.asked) {
			c.kthread(name, threads)
		}
	}
}

// familyOf is the glob that means a kernel thread and its likes on other CPUs, or
// after the next boot.
func familyOf(comm string) string {
	switch {
	case ofLine().MatchString(comm):
		return "irq/*-" + escape(comm[strings.IndexByte(comm, '-')+1:])
	case perCPU().MatchString(comm):
		return escape(comm[:strings.LastIndexByte(comm, '/')]) + "/*"
	}
	return nameOf(comm)
}

// kthread captures a family of kernel threads as one item if all are asked for and
// have the same, else those that are one by one. The names of lines' threads mean
// others after a boot, so they are one item or none.
func (c *capturer) kthread(name string, threads []*sample.Task) {
	before := len(c.p.Kthreads)
	worth := map[attr.Attribute]bool{}
	named, differ := map[string]shape{}, map[string]bool{}
	lines := ofLine().MatchString(threads[0].ID.Comm)
	together := true
	var first shape
	for i, t := range threads {
		has := c.shapeOf(t)
		if lines {
			delete(has, attr.Affinity) // which follows the line's
		}
		if i == 0 {
			first = has
		}
		if twin, ok := named[t.ID.Comm]; ok && !maps.Equal(twin, has) {
			differ[t.ID.Comm] = true
		}
		named[t.ID.Comm] = has
		together = together && maps.Equal(has, first) && (lines || c.asked(t))
		if c.asked(t) {
			maps.Copy(worth, c.worth(t, has))
		}
	}
	if together {
		c.writeKthread(name, first, worth)
		return
	}
	for _, t := range threads {
		has, left := named[t.ID.Comm]
		switch {
		case !c.asked(t) || !left:
			continue
		case lines || differ[t.ID.Comm]:
			c.note("kernel threads %s differ and cannot be told apart by their names; they are not saved", strconv.Quote(name))
			c.p.Kthreads = c.p.Kthreads[:before]
			return
		}
		c.writeKthread(nameOf(t.ID.Comm), has, worth)
		delete(named, t.ID.Comm)
	}
}

func (c *capturer) writeKthread(name string, has shape, worth map[attr.Attribute]bool) {
	item := Task{Name: name, Optional: true, kind: KernelThreads}
	item.set(has, worth)
	if item.sets() {
		c.p.Kthreads = append(c.p.Kthreads, item)
	}
}

// machine captures what there is once.
func (c *capturer) machine() {
	if m := c.s.DefaultIRQ; m.OK && (!c.usual(m.Set) || c.changed(irq.DefaultAffinityFile)) {
		c.p.Machine.DefaultIRQAffinity = c.cpusText(m.Set)
	}
	if m := c.s.Workqueue; m.OK && (!c.usual(m.Set) || c.changed(partition.Workqueues.Path)) {
		c.p.Machine.WorkqueueCPUs = c.cpusText(m.Set)
	}
}

// irqs captures the lines that can be routed and go elsewhere than new ones do.
func (c *capturer) irqs() {
	for i := range c.s.IRQs {
		l := &c.s.IRQs[i]
		usual := c.usual(l.Requested.Set) || c.s.DefaultIRQ.OK && l.Requested.And(c.s.online()).Equal(c.s.DefaultIRQ.And(c.s.online()))
		if l.Control == irq.Managed || l.Control == irq.Fixed || !l.Requested.OK || !c.within(l.Requested.Set) || len(l.Actions) == 0 ||
			usual && !c.changed(irq.AffinityFile(l.Number)) {
			continue
		}
		item, ok := c.irqItem(l)
		if !ok {
			c.note("%s cannot be told apart from others by handler and device; it is not saved", l.Title())
			continue
		}
		item.CPUs = c.cpusText(l.Requested.Set)
		if !slices.Contains(c.p.IRQs, item) {
			c.p.IRQs = append(c.p.IRQs, item)
		}
	}
	slices.SortFunc(c.p.IRQs, func(a, b IRQ) int { return strings.Compare(a.Action+"\x00"+a.Device, b.Action+"\x00"+b.Device) })
}

// irqItem finds the shortest way to name a line alone, or with others that go to
// the same CPUs.
func (c *capturer) irqItem(l *irq.IRQ) (IRQ, bool) {
	items := []IRQ{{Action: escape(l.Actions[0])}}
	for _, device := range append(slices.Clone(l.Device.Names), l.Device.Address) {
		if device != "" {
			items = append(items, IRQ{Action: escape(l.Actions[0]), Device: escape(device)})
		}
	}
	for _, item := range items {
		if !slices.ContainsFunc(c.s.IRQs, func(o irq.IRQ) bool { return item.matches(&o) && !o.Requested.Equal(l.Requested.Set) }) {
			return item, true
		}
	}
	return IRQ{}, false
}
