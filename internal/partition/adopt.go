package partition

import (
	"fmt"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// The tasks whose masks are those that most others inherit.
const (
	initPID    kernel.TID = 1
	kthreaddID kernel.TID = 2
)

// adopt gives CPUs that another tool has isolated to every task that has the
// mask which tasks inherit, and to the defaults of lines and workqueues.
func (p *includer) adopt(cpus cpuset.Set) {
	var usual cpuset.Set
	for i := range p.f.Tasks {
		t := &p.f.Tasks[i]
		if t.TID != initPID && t.TID != kthreaddID {
			continue
		}
		if t.TID == initPID {
			usual = t.Mask
		}
		if missing := cpus.AndNot(t.Mask); !missing.Empty() {
			p.adoptTasks(t, missing)
		}
	}
	for i := range p.f.Masks {
		m := &p.f.Masks[i]
		missing := cpus.AndNot(m.CPUs)
		if m.ReadOnly || missing.Empty() || m.Attribute == attr.RPSCPUs || !p.allBut(m.CPUs, usual, cpus) {
			continue // packets are spread by RPS only where somebody chose CPUs
		}
		p.note(missing, "%s (%s)", m.Name, m.CPUs)
		p.g.file(m.set(m.CPUs.Or(missing)))
		if m.Attribute == attr.DefaultIRQAffinity {
			p.adoptLines(m.CPUs, missing)
		}
	}
}

// allBut tells a mask from which CPUs were taken from one that somebody chose: it
// is the mask that tasks inherit, or lacks nothing but the CPUs and those that
// are isolated anyway.
func (p *includer) allBut(mask, usual, cpus cpuset.Set) bool {
	return p.same(mask, usual) || p.f.Online.AndNot(mask).AndNot(cpus).SubsetOf(p.f.Reserved.Or(p.past.Apart()))
}

func (p *includer) note(missing cpuset.Set, format string, args ...any) {
	p.out.Notes = append(p.out.Notes, fmt.Sprintf("piton did not isolate "+missing.InWords()+": added to "+format, args...))
}

// adoptTasks is for the tasks with the mask of model, kernel threads or others.
func (p *includer) adoptTasks(model *Task, missing cpuset.Set) {
	n := 0
	for i := range p.f.Tasks {
		t := &p.f.Tasks[i]
		if !t.Movable() || t.IsKernel() != (model.TID == kthreaddID) || !t.Mask.Equal(model.Mask) || p.past.items[t.key()] != nil {
			continue
		}
		p.g.task(t, t.Mask.Or(missing))
		n++
	}
	p.note(missing, "threads with the mask of %s (%s), %d in all", model.Comm, model.Mask, n)
}

func (p *includer) adoptLines(base, missing cpuset.Set) {
	for i := range p.f.IRQs {
		l := &p.f.IRQs[i]
		if l.Requested.OK && l.CanMove() && l.Requested.Equal(base) && p.past.items[lineKey(l)] == nil {
			p.g.file(attr.SetIRQ(l.Number, l.Title(), base.Or(missing)))
		}
	}
}

// lineKey names the affinity of an interrupt line.
func lineKey(l *irq.IRQ) attr.Key {
	return attr.Key{Attribute: attr.IRQAffinity, Path: irq.AffinityFile(l.Number)}
}
