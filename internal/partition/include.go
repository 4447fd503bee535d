package partition

import (
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
)

// Inclusion is a plan to include isolated CPUs again.
type Inclusion struct {
	// Undo are journal entries to be undone as a whole, newest first: everything gets
	// the very mask that it had.
	Undo []uint64
	// Requests are for what no entry of Undo is about, or would give too little.
	Requests []change.Request
	// Refused are masks that lost CPUs and that somebody else has changed since; they
	// stay as they are.
	Refused []change.Change
	Notes   []string // what the user should know
}

// Include plans to give the CPUs back to what lost them when piton isolated
// them, and to nothing else: a pin that had none of the CPUs before gets none.
// CPUs that piton did not isolate are added to the masks that most tasks have if
// those lack them, and Notes say so. With force, masks that were changed since
// are set too. The error is an Error.
func Include(f Facts, cpus cpuset.Set, past History, force bool) (Inclusion, error) {
	var out Inclusion
	p := includer{f: &f, past: &past, out: &out, force: force, g: newGrouped("include " + cpus.String())}
	ours := cpus.And(past.Apart())
	p.remaining = past.Apart().AndNot(cpus)
	// A restored mask that has all CPUs online is given those that are offline, too, and the
	// kernel puts them in force when they come online (since Linux 6.2): none that stays isolated.
	p.g.restore = p.remaining.SubsetOf(f.Online)
	if !ours.Empty() {
		if p.g.restore {
			out.Undo, p.until = past.since(p.remaining)
		}
		p.restore()
	}
	if foreign := cpus.AndNot(ours).And(f.Online); !foreign.Empty() {
		p.adopt(foreign)
	}
	if boot := cpus.And(f.Reserved); !boot.Empty() {
		out.Notes = append(out.Notes, "isolated at boot (isolcpus=): "+boot.InWords()+"; tasks run there only if they may run nowhere else")
	}
	out.Requests = p.g.requests
	if len(out.Undo) == 0 && len(out.Requests) == 0 && len(out.Refused) == 0 {
		return out, errorf("%s: not isolated by piton in this boot, nor missing from the masks that tasks inherit", cpus.InWords())
	}
	return out, nil
}

type includer struct {
	f         *Facts
	past      *History
	out       *Inclusion
	g         *grouped
	force     bool
	remaining cpuset.Set // that stay isolated
	until     int        // with Undo: the event as of which masks are restored
}

// restore plans for what lost CPUs. Where entries are undone as a whole, what
// remains are tasks that were born since.
func (p *includer) restore() {
	whole := len(p.out.Undo) > 0
	if !whole {
		for i := range p.f.Masks {
			m := &p.f.Masks[i]
			p.file(m.set(m.CPUs))
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
			p.file(attr.SetIRQ(l.Number, l.Title(), l.Requested.Set))
		}
	}
}

// target is what an item gets: what it had before, less what stays isolated, but for
// CPUs that it was left all the same: an include takes nothing away. An item that lost
// all its CPUs gets the first of them that is included.
func (p *includer) target(i *item) cpuset.Set {
	if left := i.before.Or(i.had).AndNot(p.remaining.AndNot(i.now().mask)); !left.Empty() {
		return left
	}
	return i.now().mask
}

// same compares two masks as far as CPUs are online: the kernel tells no others
// of a task.
func (p *includer) same(a, b cpuset.Set) bool { return a.And(p.f.Online).Equal(b.And(p.f.Online)) }

func (p *includer) task(t *Task, i *item) {
	want := p.target(i)
	if p.mayGet(t.Object(), attr.SetAffinity(want), t.Mask, i, followsLine(t, i)) {
		p.g.task(t, want)
	}
}

// mayGet reports whether something with the mask now gets the one that is wanted, and
// notes where somebody else has changed it.
func (p *includer) mayGet(o attr.Object, want attr.Setting, now cpuset.Set, i *item, anyway bool) bool {
	if p.same(now, attr.CPUs(want.Value)) {
		return false
	}
	if anyway || !p.changed(now, i) {
		return true
	}
	c := change.Change{Object: o, Attribute: want.Attribute, Before: now, After: want.Value}
	c.Refuse("changed by someone else since: piton left %s, it is %s now; left alone without --force", i.now().mask, now)
	p.out.Refused = append(p.out.Refused, c)
	return false
}

// followsLine reports whether the task is the thread of an interrupt line that the
// kernel has put on the one CPU to which the line goes (irq_thread_check_affinity
// in kernel/irq/manage.c).
func followsLine(t *Task, i *item) bool {
	_, handler := irq.ThreadLine(t.Comm)
	return handler && t.Mask.SubsetOf(i.now().mask)
}

// file is for a file, with the mask that it has now.
func (p *includer) file(now attr.FileSetting) {
	i := p.past.items[attr.Key{Attribute: now.Attribute, Path: now.Path}]
	if i == nil {
		return
	}
	has := attr.CPUs(now.Value)
	now.Value = p.target(i)
	if p.mayGet(attr.Object{Path: now.Path, Name: now.Name}, now.Setting, has, i, false) {
		p.g.file(now)
	}
}

// changed reports whether a mask is not what piton left. Where piton did not live
// to say what it left, it may be what was there before.
func (p *includer) changed(now cpuset.Set, i *item) bool {
	left := i.now()
	return !p.force && !p.same(now, left.mask) && (left.sure || !p.same(now, i.asOf(left.event-1)))
}
