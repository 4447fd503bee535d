package partition

import (
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kthread"
)

// Isolation is a plan to isolate CPUs.
type Isolation struct {
	CPUs      cpuset.Set
	Rest      cpuset.Set // what remains for everything else
	Requests  []change.Request
	Immovable []Immovable // what is known to keep the CPUs, by kind and number
}

// Isolate plans to take the CPUs away from every task, interrupt line and mask
// that can do without. What has no other CPU gets all the others that its
// cpuset allows, those reserved left out. The error is an
// Error.
func Isolate(f Facts, cpus cpuset.Set) (Isolation, error) {
	out := Isolation{CPUs: cpus, Rest: f.Online.AndNot(cpus).AndNot(f.Reserved)}
	if none := cpus.AndNot(f.Online); !none.Empty() {
		return out, errorf("%s: there is nothing to move off", attr.Absent(none, f.Online))
	}
	switch {
	case f.Online.SubsetOf(cpus):
		return out, errorf("isolating %s would leave no CPU for everything else, piton included", cpus.InWords())
	case out.Rest.Empty():
		return out, errorf("isolating %s would leave no CPU for ordinary tasks; isolated already: %s", cpus.InWords(), f.Online.AndNot(cpus).InWords())
	}
	p := isolator{f: &f, out: &out, g: newGrouped("isolate " + cpus.String()), lines: map[kernel.TID]*irq.IRQ{}}
	p.masks()
	p.tasks()
	p.irqs()
	out.Requests = p.g.requests
	return out, nil
}

type isolator struct {
	f     *Facts
	out   *Isolation
	g     *grouped
	lines map[kernel.TID]*irq.IRQ // by handler thread
	// workers follow the mask of the workqueues, which is changed.
	workers bool
}

// without is a mask less the CPUs, or what remains for everybody when nothing
// is left of it.
func (p *isolator) without(mask cpuset.Set) cpuset.Set {
	if left := mask.AndNot(p.out.CPUs); !left.And(p.f.Online).Empty() {
		return left
	}
	return p.out.Rest
}

// masks come first, so that what is born meanwhile is born elsewhere.
func (p *isolator) masks() {
	for i := range p.f.Masks {
		m := &p.f.Masks[i]
		keeps := m.CPUs.And(p.out.CPUs)
		if keeps.Empty() {
			continue
		}
		if m.ReadOnly {
			p.immovable(Immovable{Kind: KindMask, Path: m.Path, Name: m.Name, CPUs: keeps, Why: "its file cannot be written"})
			continue
		}
		p.workers = p.workers || m.Attribute == attr.WorkqueueMask
		p.g.file(m.set(p.without(m.CPUs)))
	}
}

func (p *isolator) immovable(s Immovable) { p.out.Immovable = append(p.out.Immovable, s) }

func (p *isolator) tasks() {
	for i := range p.f.IRQs {
		for _, t := range p.f.IRQs[i].Threads {
			p.lines[t.TID] = &p.f.IRQs[i]
		}
	}
	for i := range p.f.Tasks {
		t := &p.f.Tasks[i]
		keeps := t.Mask.And(p.out.CPUs)
		if keeps.Empty() || p.follows(t) {
			continue
		}
		mask, why, do := p.give(t)
		if why != "" {
			p.immovable(Immovable{Kind: KindTask, Number: int(t.TID), Name: t.Comm, CPUs: keeps, Why: why, Do: do})
			continue
		}
		p.g.task(t, mask)
	}
}

// follows reports whether something else that is changed takes the task along:
// the workers of no CPU have the mask of the workqueues.
func (p *isolator) follows(t *Task) bool {
	return p.workers && !t.Movable() && unboundWorker(t.Comm)
}

// give is the mask that a task is to have, or why it keeps what it has and what
// would help.
func (p *isolator) give(t *Task) (mask cpuset.Set, why, do string) {
	switch l := p.lines[t.TID]; {
	case l != nil && !l.CanMove():
		return mask, "it runs where its interrupt goes, " + l.Title() + ", and " + l.Control.Why(), lineRemedy(l)
	case !t.Movable():
		why, do = fixed(t)
		return mask, why, do
	case t.Policy == kernel.Deadline:
		return mask, "it is a DEADLINE task, and the kernel moves none of those", "give it another policy first"
	case l != nil: // the kernel keeps it where its line goes, and so do we
		return p.without(l.Requested.Set), "", ""
	}
	if left := t.Mask.AndNot(p.out.CPUs); !left.And(p.f.Online).Empty() {
		return left, "", ""
	}
	rest := p.out.Rest
	if p.f.Limit == nil {
		return rest, "", ""
	}
	limit, cgroup, err := p.f.Limit(t.PID)
	if err != nil || limit.Empty() || rest.SubsetOf(limit) {
		return rest, "", ""
	}
	if rest = rest.And(limit); rest.Empty() {
		return rest, "its cgroup " + cgroup + " allows only " + limit.InWords(),
			"widen the group's cpuset.cpus, or move the process to another group"
	}
	return rest, "", ""
}

func (p *isolator) irqs() {
	for i := range p.f.IRQs {
		l := &p.f.IRQs[i]
		keeps := l.Requested.And(p.out.CPUs)
		if !l.Requested.OK || keeps.Empty() {
			continue
		}
		if !l.CanMove() {
			p.immovable(Immovable{Kind: KindIRQ, Number: l.Number, Name: l.Title(), CPUs: keeps, Why: l.Control.Why(), Do: lineRemedy(l)})
			continue
		}
		p.g.file(attr.SetIRQ(l.Number, l.Title(), p.without(l.Requested.Set)))
	}
}

func lineRemedy(l *irq.IRQ) string {
	if l.Control == irq.Managed {
		return "boot with isolcpus=managed_irq,domain,CPUS, or give the device fewer queues"
	}
	return ""
}

func unboundWorker(comm string) bool {
	m, ok := kthread.Explain(comm)
	return ok && m.Bound == kthread.BoundUnknown && strings.HasPrefix(comm, "kworker/u")
}

// fixed says why a task with PF_NO_SETAFFINITY stays.
func fixed(t *Task) (why, do string) {
	if !t.IsKernel() {
		return "the kernel does not let it move", ""
	}
	m, known := kthread.Explain(t.Comm)
	if known && m.Bound == kthread.BoundCPU {
		return "a kernel thread that belongs to its CPU", m.Do
	}
	return "a kernel thread that the kernel does not let move", m.Do
}
