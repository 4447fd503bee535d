package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"piton/internal/irq"
	"piton/internal/tune"
)

const (
	defaultIRQFile = "/proc/irq/default_smp_affinity"
	defaultIRQName = "default of new IRQs"
	workqueueName  = "unbound workqueues"
	machineSection = "[machine]"
)

// mask adds a file that holds a set of CPUs.
func (r *resolver) mask(w Want, expr string, now irq.Mask, mayBeEmpty bool) {
	want, err := r.s.cpus(expr)
	switch {
	case err != nil:
		w.Expected, w.Blocked = expr, err.Error()
	case !now.OK:
		w.Expected, w.Blocked, w.absent = want.String(), w.Path+" cannot be read here", true
	case want.Empty() && mayBeEmpty:
		w.Actual, w.Known = now.String(), true
	default:
		w.Known = true
		w.affinity(want, now.Set, r.s.online(), r.s.online())
	}
	r.add(w)
}

func (r *resolver) machine(m *Machine) {
	if m.DefaultIRQAffinity != "" {
		w := Want{Item: machineSection, Attribute: tune.DefaultIRQAffinity, Path: defaultIRQFile, Name: defaultIRQName}
		r.mask(w, m.DefaultIRQAffinity, r.s.DefaultIRQ, false)
	}
	if m.WorkqueueCPUs != "" {
		w := Want{Item: machineSection, Attribute: tune.WorkqueueMask, Path: workqueueMask, Name: workqueueName}
		r.mask(w, m.WorkqueueCPUs, r.s.Workqueue, false)
	}
}

func (r *resolver) irq(q *IRQ) {
	found := false
	for i := range r.s.IRQs {
		l := &r.s.IRQs[i]
		if !q.matches(l) {
			continue
		}
		found = true
		w := Want{Item: q.Label(), Attribute: tune.IRQAffinity, Path: irqFile(l.Number), Name: irqName(l)}
		r.mask(w, q.CPUs, l.Requested, false)
	}
	if !found {
		r.missing(q.Label(), q.Matchers(), q.Optional)
	}
}

func irqFile(number int) string { return fmt.Sprintf("/proc/irq/%d/smp_affinity_list", number) }

func irqName(l *irq.IRQ) string {
	if len(l.Actions) == 0 {
		return fmt.Sprintf("irq %d", l.Number)
	}
	return fmt.Sprintf("irq %d (%s)", l.Number, l.Handlers())
}

// queueFile is a setting of an interface's queue.
func queueFile(nic, queue, setting string) string {
	return path.Join("/sys/class/net", nic, "queues", queue, setting)
}

func (r *resolver) queue(q *Queue) {
	found := false
	for i := range r.s.NICs {
		n := &r.s.NICs[i]
		if !globMatch(q.NIC, n.Name) {
			continue
		}
		for _, rx := range n.Rx {
			if name := "rx-" + strconv.Itoa(rx.Index); globMatch(q.Queue, name) && (q.RPS != nil || q.RPSFlows != nil) {
				found = true
				r.rxQueue(q, n.Name, name, rx)
			}
		}
		for _, tx := range n.Tx {
			if name := "tx-" + strconv.Itoa(tx.Index); globMatch(q.Queue, name) && q.XPS != nil {
				found = true
				w := Want{Item: q.Label(), Attribute: tune.XPSCPUs, Path: queueFile(n.Name, name, "xps_cpus"), Name: n.Name + " " + name}
				r.mask(w, *q.XPS, tx.XPS, true)
			}
		}
	}
	if !found {
		r.missing(q.Label(), q.Matchers(), q.Optional)
	}
}

func (r *resolver) rxQueue(q *Queue, nic, name string, rx irq.RxQueue) {
	if q.RPS != nil {
		w := Want{Item: q.Label(), Attribute: tune.RPSCPUs, Path: queueFile(nic, name, "rps_cpus"), Name: nic + " " + name}
		r.mask(w, *q.RPS, rx.RPS, true)
	}
	if q.RPSFlows == nil {
		return
	}
	w := Want{
		Item: q.Label(), Attribute: tune.RPSFlows, Path: queueFile(nic, name, "rps_flow_cnt"), Name: nic + " " + name,
		Expected: strconv.Itoa(*q.RPSFlows), Actual: strconv.Itoa(rx.Flows), Known: rx.Flows >= 0,
	}
	if w.Known && rx.Flows == powerOfTwo(*q.RPSFlows) {
		w.Expected = w.Actual
	}
	if !w.Known {
		w.Blocked, w.absent = w.Path+" cannot be read here", true
	}
	r.add(w)
}

// powerOfTwo is a size as the kernel rounds it up (store_rps_dev_flow_table_cnt in
// net/core/net-sysfs.c, rps_sock_flow_sysctl in sysctl_net_core.c).
func powerOfTwo(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return min(n, 1) * size
}

// rfsEntries is a setting whose value the kernel rounds up.
const rfsEntries = "net/core/rps_sock_flow_entries"

func (r *resolver) sysctl(s *Sysctl) {
	item := label("[sysctl]", s.line)
	file, err := SysctlPath(s.Name)
	if err != nil {
		r.missing(item, "the name "+s.Name, s.Optional)
		return
	}
	files := []string{file}
	if isPattern(file) {
		if files = r.s.Sysctls(file); len(files) == 0 {
			r.missing(item, "a name like "+s.Name, s.Optional)
			return
		}
	}
	for _, file := range files {
		w := Want{Item: item, Attribute: SysctlAttribute(file), Path: "/proc/sys/" + file, Name: SysctlName(file), Expected: s.Value}
		now, err := r.s.Sysctl(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.missing(item, "the name "+s.Name, s.Optional)
			continue
		case err == nil:
			w.Actual, w.Known = now, true
		}
		if file == rfsEntries {
			if n, err := strconv.Atoi(s.Value); err == nil && strconv.Itoa(powerOfTwo(n)) == w.Actual {
				w.Expected = w.Actual
			}
		}
		r.file(w)
	}
}

// file adds a want of a file whose value piton may have to refuse.
func (r *resolver) file(w Want) {
	if err := tune.CheckFile(tune.FileSetting{Attribute: w.Attribute, Path: w.Path, Name: w.Name, Value: w.Expected}); err != nil && w.Blocked == "" {
		w.Blocked, w.absent = err.Error(), true
	}
	r.add(w)
}
