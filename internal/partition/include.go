package partition

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/tune"
)

// Inclusion is a plan to take CPUs in again.
type Inclusion struct {
	CPUs cpuset.Set
	// Undo are journal entries to be taken back as a whole, newest first:
	// everything gets the very mask that it had.
	Undo []uint64
	// Requests are for what no entry of Undo is about, or would give too little.
	Requests []tune.Request
	// Refused are masks that gave way and that somebody else has changed since;
	// they stay as they are.
	Refused []tune.Change
	Notes   []string // what the user should know
}

// Include plans to give the CPUs back to what gave way when piton isolated
// them, and to nothing else: a pin that had none of the CPUs before gets none.
// CPUs that piton did not isolate are added to the masks that most tasks have if
// those lack them, and Notes say so. With force, masks that were changed since
// are set too. The error is an Error.
func Include(f Facts, cpus cpuset.Set, past History, force bool) (Inclusion, error) {
	out := Inclusion{CPUs: cpus}
	p := includer{f: &f, past: &past, out: &out, force: force, g: newGrouped(includeWord + cpus.String())}
	p.g.restore = true
	ours := cpus.And(past.Apart())
	if !ours.Empty() {
		p.remaining = past.Apart().AndNot(cpus)
		out.Undo, p.until = past.since(p.remaining)
		p.giveBack()
	}
	if foreign := cpus.AndNot(ours).And(f.Online); !foreign.Empty() {
		p.adopt(foreign)
	}
	if boot := cpus.And(f.Reserved); !boot.Empty() {
		out.Notes = append(out.Notes, cpusText(boot)+" "+isAre(boot.Len())+" isolated at boot (isolcpus=): tasks run there only if they may run nowhere else")
	}
	out.Requests = p.g.requests
	if len(out.Undo) == 0 && len(out.Requests) == 0 && len(out.Refused) == 0 {
		return out, errorf("%s %s not isolated: piton has taken %s from nothing in this boot, and tasks do not do without as a rule",
			cpusText(cpus), isAre(cpus.Len()), itThem(cpus.Len()))
	}
	return out, nil
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

type includer struct {
	f         *Facts
	past      *History
	out       *Inclusion
	g         *grouped
	force     bool
	remaining cpuset.Set // that stay apart
	until     int        // with Undo: the event as of which masks come back
}

// giveBack plans for what gave way. Where entries are undone as a whole, what
// remains are tasks that were born since.
func (p *includer) giveBack() {
	whole := len(p.out.Undo) > 0
	if !whole {
		for i := range p.f.Masks {
			m := &p.f.Masks[i]
			p.file(m.Attribute, m.Path, m.Name, m.CPUs)
		}
	}
	kin := newFamily(p.f.Tasks, p.past)
	for i := range p.f.Tasks {
		t := &p.f.Tasks[i]
		own := p.past.items[t.key()]
		switch it := kin.item(t); {
		case it == nil || whole && it == own:
		case whole && (own != nil || t.Mask.Equal(it.now().mask)):
			p.g.task(t, it.asOf(p.until)) // where the undo would give it what it was born with, or nothing
		default:
			p.task(t, it)
		}
	}
	for i := range p.f.IRQs {
		if l := &p.f.IRQs[i]; !whole && l.Requested.OK {
			p.file(tune.IRQAffinity, linePath(l), lineName(l), l.Requested.Set)
		}
	}
}

// target is what an item gets back: what it had before, less what stays apart, but
// for CPUs that it was left all the same: an include takes nothing away. An
// item of which all was taken goes home with the first of its CPUs that is back.
func (p *includer) target(i *item) cpuset.Set {
	if left := i.before.AndNot(p.remaining.AndNot(i.now().mask)); !left.Empty() {
		return left
	}
	return i.now().mask
}

// same compares two masks as far as CPUs are online: the kernel tells no others
// of a task.
func (p *includer) same(a, b cpuset.Set) bool { return a.And(p.f.Online).Equal(b.And(p.f.Online)) }

func (p *includer) task(t *Task, i *item) {
	want := p.target(i)
	switch {
	case p.same(t.Mask, want):
	case p.changed(t.Mask, i) && !followsLine(t, i):
		p.refuse(tune.Change{PID: t.PID, TID: t.TID, StartTicks: t.StartTicks, Comm: t.Comm, Attribute: tune.Affinity}, t.Mask, want, i)
	default:
		p.g.task(t, want)
	}
}

// followsLine reports whether the task is the thread of an interrupt line that the
// kernel has put on the one CPU to which the line goes (irq_thread_check_affinity
// in kernel/irq/manage.c).
func followsLine(t *Task, i *item) bool {
	_, handler := irq.ThreadLine(t.Comm)
	return handler && t.Mask.SubsetOf(i.now().mask)
}

func (p *includer) file(a tune.Attribute, path, name string, now cpuset.Set) {
	i := p.past.items[key{path: path}]
	if i == nil {
		return
	}
	want := p.target(i)
	switch {
	case p.same(now, want):
	case p.changed(now, i):
		p.refuse(tune.Change{Path: path, Name: name, Attribute: a}, now, want, i)
	default:
		p.g.file(tune.FileSetting{Attribute: a, Path: path, Name: name, Value: want.String()})
	}
}

// changed reports whether a mask is not what piton left. Where piton did not live
// to say what it left, it may be what was there before.
func (p *includer) changed(now cpuset.Set, i *item) bool {
	left := i.now()
	return !p.force && !p.same(now, left.mask) && (left.sure || !p.same(now, i.asOf(left.event-1)))
}

func (p *includer) refuse(c tune.Change, now, want cpuset.Set, i *item) {
	c.Before, c.After, c.Status = now.String(), want.String(), tune.Refused
	c.Reason = fmt.Sprintf("somebody else has changed it since: piton left %s and it is %s now; left alone unless forced", i.now().mask, now)
	p.out.Refused = append(p.out.Refused, c)
}
