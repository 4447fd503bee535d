package partition

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/tune"
)

// The tasks whose masks are those that most others inherit.
const (
	initPID    kernel.TID = 1
	kthreaddID kernel.TID = 2
)

// adopt gives CPUs that somebody else has taken away to every task that has the
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
		if m.ReadOnly || missing.Empty() || m.Attribute == tune.RPSCPUs || !p.allBut(m.CPUs, usual, cpus) {
			continue // packets are spread by RPS only where somebody chose CPUs
		}
		p.note(missing, m.Name+" is "+m.CPUs.String())
		p.g.file(tune.FileSetting{Attribute: m.Attribute, Path: m.Path, Name: m.Name, Value: m.CPUs.Or(missing).String()})
		if m.Attribute == tune.DefaultIRQAffinity {
			p.adoptLines(m.CPUs, missing)
		}
	}
}

// allBut tells a mask from which CPUs were taken from one that somebody chose: it
// is the mask that tasks inherit, or lacks nothing but the CPUs and those that
// are set apart anyway.
func (p *includer) allBut(mask, usual, cpus cpuset.Set) bool {
	return p.same(mask, usual) || p.f.Online.AndNot(mask).AndNot(cpus).SubsetOf(p.f.Reserved.Or(p.past.Apart()))
}

func (p *includer) note(missing cpuset.Set, whose string) {
	p.out.Notes = append(p.out.Notes, fmt.Sprintf("piton did not isolate %s; %s and gets %s too", cpusText(missing), whose, itThem(missing.Len())))
}

// adoptTasks is for the tasks with the mask of model, kernel threads or others.
func (p *includer) adoptTasks(model *Task, missing cpuset.Set) {
	kernelThreads := model.TID == kthreaddID
	n := 0
	for i := range p.f.Tasks {
		t := &p.f.Tasks[i]
		if t.Flags&flagNoSetAffinity != 0 || kernelThreads != (t.Flags&flagKernelThread != 0) ||
			!t.Mask.Equal(model.Mask) || p.past.items[t.key()] != nil {
			continue
		}
		p.g.task(t, t.Mask.Or(missing))
		n++
	}
	p.note(missing, fmt.Sprintf("each of %d threads has the mask of %s, %s,", n, model.Comm, model.Mask))
}

func (p *includer) adoptLines(base, missing cpuset.Set) {
	for i := range p.f.IRQs {
		l := &p.f.IRQs[i]
		if l.Requested.OK && movable(l) && l.Requested.Equal(base) && p.past.items[key{path: linePath(l)}] == nil {
			p.g.file(tune.FileSetting{Attribute: tune.IRQAffinity, Path: linePath(l), Name: lineName(l), Value: base.Or(missing).String()})
		}
	}
}
