package profile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"piton/internal/taskfile"
)

// checker looks for what the decoder cannot see: values that are none, and
// items that would do nothing or mean everything.
type checker struct{ taskfile.Checker }

func (c *checker) profile(p *Profile) {
	if p.Version != Version {
		c.Fail("version", "", "version = %d: this piton reads profiles of version = %d", p.Version, Version)
	}
	p.Isolation.line = c.Positions["isolation"].Line
	p.Machine.line = c.Positions["machine"].Line
	c.CPUs("isolation", "cpus", p.Isolation.CPUs)
	c.CPUs("machine", "default_irq_affinity", p.Machine.DefaultIRQAffinity)
	c.CPUs("machine", "workqueue_cpus", p.Machine.WorkqueueCPUs)
	for i := range p.Tasks {
		c.task(fmt.Sprintf("task.%d", i), &p.Tasks[i], UserTasks)
	}
	for i := range p.Kthreads {
		c.task(fmt.Sprintf("kthread.%d", i), &p.Kthreads[i], KernelThreads)
	}
	for i := range p.IRQs {
		c.irq(fmt.Sprintf("irq.%d", i), &p.IRQs[i])
	}
	for i := range p.Queues {
		c.queue(fmt.Sprintf("queue.%d", i), &p.Queues[i])
	}
	c.sysctls(p)
}

func (c *checker) task(table string, t *Task, kind Kind) {
	t.kind, t.line = kind, c.Positions[table].Line
	c.Name(table, "name", t.Name)
	c.Name(table, "thread", t.Thread)
	c.Regexp(table, "command", t.Command)
	c.Glob(table, "cgroup", t.Cgroup)
	switch {
	case t.Name == "" && t.Command == "" && t.Cgroup == "":
		c.Fail(table, "thread", "an item needs a name, a command or a cgroup, or it would mean every task")
	case kind == KernelThreads && t.Thread != "":
		c.Fail(table, "thread", "a kernel thread has no threads; its name is enough")
	case t.CPUs != "" && len(t.CPUsEach) > 0:
		c.Fail(table, "cpus_each", "cpus and cpus_each exclude each other")
	case !t.sets():
		c.Fail(table, "", "the item sets nothing: it has none of cpus, cpus_each, nice, policy, ioprio, slice, uclamp, weight and quota")
	}
	c.CPUs(table, "cpus", t.CPUs)
	for _, expr := range t.CPUsEach {
		if expr == "" {
			c.Fail(table, "cpus_each", "an empty list of CPUs: a task needs at least one")
		}
		c.CPUs(table, "cpus_each", expr)
	}
	c.Values(table, t.settings())
}

func (c *checker) irq(table string, q *IRQ) {
	q.line = c.Positions[table].Line
	c.Glob(table, "action", q.Action)
	c.Glob(table, "device", q.Device)
	switch {
	case q.Action == "" && q.Device == "":
		c.Fail(table, "", "an item needs an action or a device, or it would mean every interrupt line")
	case q.CPUs == "":
		c.Fail(table, "", "the item sets nothing: it has no cpus")
	}
	c.CPUs(table, "cpus", q.CPUs)
}

func (c *checker) queue(table string, q *Queue) {
	q.line = c.Positions[table].Line
	c.Glob(table, "nic", q.NIC)
	c.Glob(table, "queue", q.Queue)
	switch {
	case q.NIC == "" || q.Queue == "":
		c.Fail(table, "", "an item needs a nic and a queue")
	case q.RPS == nil && q.RPSFlows == nil && q.XPS == nil:
		c.Fail(table, "", "the item sets nothing: it has none of rps, rps_flows and xps")
	case q.RPSFlows != nil && (*q.RPSFlows < 0 || *q.RPSFlows > 1<<30):
		c.Fail(table, "rps_flows", "rps_flows = %d: it must be 0 (off) or a number of flows", *q.RPSFlows)
	}
	for key, expr := range map[string]*string{"rps": q.RPS, "xps": q.XPS} {
		if expr != nil {
			c.CPUs(table, key, *expr)
		}
	}
}

func (c *checker) sysctls(p *Profile) {
	flat := map[string]any{}
	flatten("", p.Sysctl, flat)
	for _, name := range slices.Sorted(maps.Keys(flat)) {
		value, ok := sysctlText(flat[name])
		if !ok {
			c.Fail("sysctl", name, "%s: a value must be a text or a whole number", name)
			continue
		}
		s, err := newSysctl(name, value)
		if err != nil {
			c.Fail("sysctl", name, "%v", err)
		}
		s.line = c.At("sysctl", name).Line
		p.sysctls = append(p.sysctls, s)
	}
	slices.SortStableFunc(p.sysctls, func(a, b Sysctl) int { return strings.Compare(a.Name, b.Name) })
}

// flatten joins the keys of tables: kernel.sem = 1 is a table in TOML unless
// the key is quoted.
func flatten(prefix string, in map[string]any, out map[string]any) {
	for key, value := range in {
		if table, ok := value.(map[string]any); ok {
			flatten(prefix+key+".", table, out)
			continue
		}
		out[prefix+key] = value
	}
}

func sysctlText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}
