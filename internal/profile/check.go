package profile

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/pattern"
	"piton/internal/target"
	"piton/internal/topology"
)

// checker looks for what the decoder cannot see: values that are none, and
// items that would do nothing or mean everything. It keeps the first mistake.
type checker struct {
	positions positions
	err       error
}

func (c *checker) fail(table, key, format string, args ...any) {
	if c.err == nil {
		at := c.positions.of(table, key)
		c.err = &Error{at.line, at.column, fmt.Sprintf(format, args...)}
	}
}

func quoted(s string) string { return strconv.Quote(s) }

func (c *checker) profile(p *Profile) {
	if p.Version != Version {
		c.fail("version", "", "version = %d: this piton reads profiles of version = %d", p.Version, Version)
	}
	p.Isolation.line = c.positions["isolation"].line
	p.Machine.line = c.positions["machine"].line
	c.cpus("isolation", "cpus", p.Isolation.CPUs)
	c.cpus("machine", "default_irq_affinity", p.Machine.DefaultIRQAffinity)
	c.cpus("machine", "workqueue_cpus", p.Machine.WorkqueueCPUs)
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
	t.kind, t.line = kind, c.positions[table].line
	c.name(table, "name", t.Name)
	c.name(table, "thread", t.Thread)
	if _, err := pattern.Compile(t.Command); err != nil {
		c.fail(table, "command", "%v", err)
	}
	c.glob(table, "cgroup", t.Cgroup)
	switch {
	case t.Name == "" && t.Command == "" && t.Cgroup == "":
		c.fail(table, "thread", "an item needs a name, a command or a cgroup, or it would mean every task")
	case kind == KernelThreads && t.Thread != "":
		c.fail(table, "thread", "a kernel thread has no threads; its name is enough")
	case t.CPUs != "" && len(t.CPUsEach) > 0:
		c.fail(table, "cpus_each", "cpus and cpus_each exclude each other")
	case !t.sets():
		c.fail(table, "", "the item sets nothing: it has none of cpus, cpus_each, nice, policy, ioprio, slice and uclamp")
	}
	c.cpus(table, "cpus", t.CPUs)
	for _, expr := range t.CPUsEach {
		if expr == "" {
			c.fail(table, "cpus_each", "an empty list of CPUs: a task needs at least one")
		}
		c.cpus(table, "cpus_each", expr)
	}
	c.values(table, t)
}

func (c *checker) values(table string, t *Task) {
	for _, s := range t.settings() {
		if *s.text == "" {
			continue
		}
		switch v, err := s.Parse(string(*s.text)); {
		case err != nil:
			c.fail(table, string(s.Attribute), "%v", err)
		case attr.PolicyOf(v).Keep:
			c.fail(table, string(s.Attribute), "policy %q: a priority alone depends on what the task has; say fifo:%[1]s or rr:%[1]s", *s.text)
		}
	}
}

func (c *checker) irq(table string, q *IRQ) {
	q.line = c.positions[table].line
	c.glob(table, "action", q.Action)
	c.glob(table, "device", q.Device)
	switch {
	case q.Action == "" && q.Device == "":
		c.fail(table, "", "an item needs an action or a device, or it would mean every interrupt line")
	case q.CPUs == "":
		c.fail(table, "", "the item sets nothing: it has no cpus")
	}
	c.cpus(table, "cpus", q.CPUs)
}

func (c *checker) queue(table string, q *Queue) {
	q.line = c.positions[table].line
	c.glob(table, "nic", q.NIC)
	c.glob(table, "queue", q.Queue)
	switch {
	case q.NIC == "" || q.Queue == "":
		c.fail(table, "", "an item needs a nic and a queue")
	case q.RPS == nil && q.RPSFlows == nil && q.XPS == nil:
		c.fail(table, "", "the item sets nothing: it has none of rps, rps_flows and xps")
	case q.RPSFlows != nil && (*q.RPSFlows < 0 || *q.RPSFlows > 1<<30):
		c.fail(table, "rps_flows", "rps_flows = %d: it must be 0 (off) or a number of flows", *q.RPSFlows)
	}
	for key, expr := range map[string]*string{"rps": q.RPS, "xps": q.XPS} {
		if expr != nil {
			c.cpus(table, key, *expr)
		}
	}
}

// cpus checks the form of a CPUS expression; which CPUs there are shows later.
func (c *checker) cpus(table, key, expr string) {
	if expr == "" {
		return
	}
	if err := topology.CheckCPUs(expr); err != nil {
		c.fail(table, key, "%v", err)
	}
}

// name checks what names a process or thread: never a number, which means
// another task after the next start.
func (c *checker) name(table, key, text string) {
	e, err := target.Parse(text)
	_, number := e.PID()
	switch {
	case text == "":
	case err != nil:
		c.fail(table, key, "%v", err)
	case number:
		c.fail(table, key, "%s is a number, which means another task after the next start; give a name", text)
	case hasForm(text):
		c.fail(table, key, "%s is no name; there are thread, command and cgroup for the other ways", quoted(text))
	}
}

func (c *checker) glob(table, key, text string) {
	if len(text) > pattern.MaxLength {
		c.fail(table, key, "it is longer than %d bytes", pattern.MaxLength)
	}
	if _, err := path.Match(text, ""); err != nil {
		c.fail(table, key, "%s is no glob: a [ or a \\ is not closed", quoted(text))
	}
}

func (c *checker) sysctls(p *Profile) {
	flat := map[string]any{}
	flatten("", p.Sysctl, flat)
	for _, name := range slices.Sorted(maps.Keys(flat)) {
		value, ok := sysctlText(flat[name])
		if !ok {
			c.fail("sysctl", name, "%s: a value must be a text or a whole number", name)
			continue
		}
		s, err := newSysctl(name, value)
		if err != nil {
			c.fail("sysctl", name, "%v", err)
		}
		s.line = c.positions.of("sysctl", name).line
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
