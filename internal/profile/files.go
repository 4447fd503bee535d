package profile

import (
	"errors"
	"io/fs"
	"strconv"

	"piton/internal/change/attr"
	"piton/internal/irq"
	"piton/internal/partition"
	"piton/internal/pattern"
)

const machineSection = "[machine]"

// mask adds a file that holds a set of CPUs.
func (r *resolver) mask(w Want, expr string, now irq.Mask, mayBeEmpty bool) {
	want, err := r.s.cpus(expr)
	switch {
	case err != nil:
		w.Expected, w.Blocked = attr.Opaque(expr), err.Error()
	case !now.OK:
		w.Expected, w.Blocked, w.absent = want, w.Path+" cannot be read here", true
	case want.Empty() && mayBeEmpty:
		w.Expected, w.Actual, w.Known = want, now.Set, true
	default:
		w.Known = true
		w.affinity(want, now.Set, r.s.online(), r.s.online())
	}
	r.add(w)
}

func (r *resolver) machine(m *Machine) {
	if m.DefaultIRQAffinity != "" {
		r.mask(once(partition.DefaultIRQs), m.DefaultIRQAffinity, r.s.DefaultIRQ, false)
	}
	if m.WorkqueueCPUs != "" {
		r.mask(once(partition.Workqueues), m.WorkqueueCPUs, r.s.Workqueue, false)
	}
}

// once is a want of a mask that a machine has once.
func once(m partition.Mask) Want {
	return Want{Item: machineSection, Attribute: m.Attribute, Path: m.Path, Name: m.Name}
}

func (r *resolver) irq(q *IRQ) {
	found := false
	for i := range r.s.IRQs {
		l := &r.s.IRQs[i]
		if !q.matches(l) {
			continue
		}
		found = true
		w := Want{Item: q.Label(), Attribute: attr.IRQAffinity, Path: irq.AffinityFile(l.Number), Name: l.Title()}
		r.mask(w, q.CPUs, l.Requested, false)
	}
	if !found {
		r.missing(q.Label(), q.Matchers(), q.Optional)
	}
}

func (r *resolver) queue(q *Queue) {
	found := false
	for i := range r.s.NICs {
		n := &r.s.NICs[i]
		if !pattern.Glob(q.NIC, n.Name) {
			continue
		}
		for _, rx := range n.Rx {
			if name := "rx-" + strconv.Itoa(rx.Index); pattern.Glob(q.Queue, name) && (q.RPS != nil || q.RPSFlows != nil) {
				found = true
				r.rxQueue(q, n.Name, name, rx)
			}
		}
		for _, tx := range n.Tx {
			if name := "tx-" + strconv.Itoa(tx.Index); pattern.Glob(q.Queue, name) && q.XPS != nil {
				found = true
				w := Want{Item: q.Label(), Attribute: attr.XPSCPUs, Path: irq.XPSFile(n.Name, tx.Index), Name: n.Name + " " + name}
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
		w := Want{Item: q.Label(), Attribute: attr.RPSCPUs, Path: irq.RPSFile(nic, rx.Index), Name: nic + " " + name}
		r.mask(w, *q.RPS, rx.RPS, true)
	}
	if q.RPSFlows == nil {
		return
	}
	w := Want{
		Item: q.Label(), Attribute: attr.RPSFlows, Path: irq.FlowsFile(nic, rx.Index), Name: nic + " " + name,
		Expected: attr.Count(*q.RPSFlows), Known: rx.Flows >= 0,
	}
	if w.Known {
		w.Actual = attr.Count(rx.Flows)
	} else {
		w.Blocked, w.absent = w.Path+" cannot be read here", true
	}
	r.count(w)
}

// count adds a want of a number that the kernel rounds up.
func (r *resolver) count(w Want) {
	if n, ok := w.Expected.(attr.Count); ok && attr.Count(powerOfTwo(int(n))) == w.Actual {
		w.Expected = w.Actual
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
		w := Want{Item: item, Attribute: SysctlAttribute(file), Path: "/proc/sys/" + file, Name: SysctlName(file)}
		if w.Expected, err = w.Attribute.Parse(s.Value); err != nil {
			w.Expected = attr.Opaque(s.Value)
		}
		now, err := r.s.Sysctl(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.missing(item, "the name "+s.Name, s.Optional)
			continue
		case err == nil:
			w.Actual, err = w.Attribute.Parse(now)
			w.Known = err == nil
		}
		if err := attr.SetFile(w.Attribute, w.Path, w.Name, w.Expected).Check(); err != nil {
			w.Blocked, w.absent = err.Error(), true
		}
		r.count(w)
	}
}
