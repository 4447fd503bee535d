package profile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"piton/internal/irq"
)

// queues captures the steering of packets. Drivers spread sending queues
// themselves, so XPS alone says nothing unless piton has set it.
func (c *capturer) queues() {
	for i := range c.s.NICs {
		n := &c.s.NICs[i]
		for _, rx := range n.Rx {
			c.rx(n, rx)
		}
		for _, tx := range n.Tx {
			name := "tx-" + strconv.Itoa(tx.Index)
			if tx.XPS.OK && c.changed(irq.XPSFile(n.Name, tx.Index)) {
				mask := c.steering(tx.XPS)
				c.p.Queues = append(c.p.Queues, Queue{NIC: escape(n.Name), Queue: name, XPS: &mask})
			}
		}
	}
}

func (c *capturer) rx(n *irq.NIC, rx irq.RxQueue) {
	name := "rx-" + strconv.Itoa(rx.Index)
	q := Queue{NIC: escape(n.Name), Queue: name}
	if rx.RPS.OK && (!rx.RPS.Empty() || c.changed(irq.RPSFile(n.Name, rx.Index))) {
		mask := c.steering(rx.RPS)
		q.RPS = &mask
	}
	if rx.Flows > 0 || rx.Flows == 0 && c.changed(irq.FlowsFile(n.Name, rx.Index)) {
		q.RPSFlows = &rx.Flows
	}
	if q.RPS != nil || q.RPSFlows != nil {
		c.p.Queues = append(c.p.Queues, q)
	}
}

// steering is a mask that may be empty.
func (c *capturer) steering(m irq.Mask) string {
	if m.Empty() {
		return ""
	}
	return c.cpusText(m.Set)
}

// tunables are the settings that guides for quiet CPUs and low latency change;
// All keeps those that this kernel has.
var tunables = []string{
	"kernel/sched_*", "kernel/numa_balancing", "kernel/nmi_watchdog", "kernel/watchdog*", "kernel/timer_migration",
	"kernel/hung_task_timeout_secs", "kernel/perf_event_max_sample_rate", "vm/swappiness", "vm/stat_interval", "vm/dirty_*_ratio",
	"vm/dirty_*_centisecs", "vm/compaction_proactiveness", rfsEntries, "net/core/busy_poll", "net/core/busy_read",
	"net/core/netdev_budget*", "net/core/netdev_max_backlog", "net/core/flow_limit_cpu_bitmap",
}

// sysctls captures what was asked for, and what is in use unless only processes
// were asked for.
func (c *capturer) sysctls() {
	names := map[string]bool{}
	if c.o.Only == nil {
		c.sysctlsInUse(names)
	}
	globs := slices.Clone(c.o.Sysctls)
	if c.o.All {
		globs = append(globs, tunables...)
	}
	for _, glob := range globs {
		found := c.s.Sysctls(glob)
		for _, file := range found {
			names[file] = true
		}
		if len(found) == 0 && slices.Contains(c.o.Sysctls, glob) {
			c.note("there is no kernel setting like %s", SysctlName(glob))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(names)) {
		value, err := c.s.Sysctl(file)
		switch {
		case err != nil:
			c.note("%s cannot be read: %v", SysctlName(file), err)
		case value == "":
			c.note("%s is empty, which a profile cannot say", SysctlName(file))
		default:
			c.p.sysctls = append(c.p.sysctls, Sysctl{Name: SysctlName(file), Value: value})
		}
	}
}

// sysctlsInUse adds what piton has set, and the size of RFS's table.
func (c *capturer) sysctlsInUse(names map[string]bool) {
	for t := range c.touched {
		if file, ok := sysctlOf(t.Path); ok {
			names[file] = true
		}
	}
	if now, err := c.s.Sysctl(rfsEntries); err == nil && now != "0" {
		names[rfsEntries] = true
	}
}

// sysctlOf is the path below /proc/sys of a file there.
func sysctlOf(path string) (string, bool) {
	return strings.CutPrefix(path, "/proc/sys/")
}
