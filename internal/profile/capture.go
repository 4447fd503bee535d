package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/taskfile"
)

// CaptureOptions say what of a machine is worth keeping. What differs from how
// Linux starts, and what piton has changed in this boot, always is.
type CaptureOptions struct {
	// All keeps every setting of every task, line and queue.
	All bool
	// Only are the processes to look at, with every setting of theirs, and nothing
	// else is but Sysctls; nil for everything.
	Only map[kernel.TID]bool
	// CPUs limits the tasks and interrupt lines to those that may come to one of
	// them; empty for no limit.
	CPUs cpuset.Set
	// Sysctls are globs of settings to keep, "vm/dirty_*".
	Sysctls []string
	Journal []change.Entry
	// Isolated are the CPUs that piton has isolated; where none, they are guessed
	// from the masks that an isolation leaves.
	Isolated cpuset.Set
}

// Capture makes a profile of the machine's state. What cannot be told apart by
// stable matchers is left out and said in the Notes.
func Capture(s *State, o CaptureOptions) *Profile {
	c := &capturer{s: s, o: o, p: &Profile{Version: Version}, touched: touchedBy(o.Journal)}
	if o.Only == nil {
		c.isolation()
		c.machine()
		c.irqs()
		c.queues()
	}
	c.sysctls()
	c.users()
	c.groups()
	c.kthreads()
	slices.SortFunc(c.p.Tasks, compareItems)
	slices.SortFunc(c.p.Kthreads, compareItems)
	return c.p
}

func compareItems(a, b Task) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Cgroup, b.Cgroup), cmp.Compare(a.Command, b.Command), cmp.Compare(a.Thread, b.Thread))
}

type capturer struct {
	s        *State
	o        CaptureOptions
	p        *Profile
	isolated cpuset.Set
	touched  map[attr.Key]bool // what piton has changed; of a file without its attribute
}

// groups keeps what piton has set of control groups and is in force.
func (c *capturer) groups() {
	at := map[string]int{}
	for _, e := range c.o.Journal {
		for _, ch := range e.Changes {
			group := ch.Group()
			if group == "" || !c.touched[attr.Key{Path: ch.Path}] || c.o.Only != nil {
				continue
			}
			i, known := at[group]
			if !known {
				i, at[group] = len(c.p.Tasks), len(c.p.Tasks)
				c.p.Tasks = append(c.p.Tasks, Task{Cgroup: globbed.Replace(group), Optional: true})
			}
			c.p.Tasks[i].set(shape{ch.Attribute: attr.Text(ch.After)}, map[attr.Attribute]bool{ch.Attribute: true})
		}
	}
}

// globbed makes a glob that means a text alone.
var globbed = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// touchedBy finds what is in force of the journal.
func touchedBy(entries []change.Entry) map[attr.Key]bool {
	out := map[attr.Key]bool{}
	left := history.WhatIsLeft(entries, func(e *change.Entry, c change.Change) bool {
		return !e.PastBoot && !e.Undone && (c.Took() || c.Status == attr.Planned)
	})
	for _, keys := range left.Keys {
		for k := range keys {
			if k.Path != "" {
				k.Attribute = ""
			}
			out[k] = true
		}
	}
	return out
}

// within reports whether a mask is one that is to be kept.
func (c *capturer) within(mask cpuset.Set) bool {
	return c.o.CPUs.Empty() || !mask.And(c.o.CPUs).Empty()
}

// asked reports whether a process, or kernel thread, is one that is to be kept.
func (c *capturer) asked(t *sample.Task) bool {
	return (c.o.Only == nil || c.o.Only[t.TGID]) && c.within(t.Affinity)
}

func (c *capturer) changed(path string) bool { return c.o.All || c.touched[attr.Key{Path: path}] }

func (c *capturer) note(format string, args ...any) {
	c.p.Notes = append(c.p.Notes, fmt.Sprintf(format, args...))
}

// isolation finds the CPUs that are kept free: those that new interrupt lines and
// the workqueues both do without, unless they were isolated at boot.
func (c *capturer) isolation() {
	c.isolated = c.o.Isolated.And(c.s.online())
	if c.isolated.Empty() && c.s.DefaultIRQ.OK && c.s.Workqueue.OK {
		apart := c.s.online().AndNot(c.s.DefaultIRQ.Set)
		if apart.Equal(c.s.online().AndNot(c.s.Workqueue.Set)) && !apart.SubsetOf(c.s.Topology.Isolated) && !apart.Equal(c.s.online()) {
			c.isolated = apart
		}
	}
	c.p.Isolation.CPUs = c.isolated.String()
}

// usual reports whether a mask is what everything has unless somebody chose it.
func (c *capturer) usual(mask cpuset.Set) bool {
	mask = mask.And(c.s.online())
	return mask.Equal(c.s.online()) || mask.Equal(c.s.online().AndNot(c.isolated))
}

// cpusText writes a mask, all CPUs as a word that fits other machines.
func (c *capturer) cpusText(mask cpuset.Set) string {
	if mask.And(c.s.online()).Equal(c.s.online()) {
		return "online"
	}
	return mask.String()
}

// usualFor is usual for a task: also what its cpuset leaves, what init or
// kthreadd was started with, and, of a node's own kernel threads, the node.
func (c *capturer) usualFor(t *sample.Task) bool {
	if c.usual(t.Affinity) {
		return true
	}
	kernelThread := t.IsKernel()
	origin := kernel.TID(1)
	if kernelThread {
		origin = 2 // kthreadd
	}
	mask := t.Affinity.And(c.s.online())
	for _, e := range c.s.Tasks {
		if e.TID == origin && t.TID != origin && !c.set(e, attr.Affinity) && mask.Equal(e.Affinity.And(c.s.online())) {
			return true
		}
	}
	if kernelThread {
		return c.ofNode(t.ID.Comm, mask)
	}
	if c.s.Cpuset == nil {
		return false
	}
	limit, err := c.s.Cpuset(t.TGID)
	return err == nil && (mask.Equal(limit.And(c.s.online())) || mask.Equal(limit.And(c.s.online()).AndNot(c.isolated)))
}

// ofNode reports whether a kernel thread is a node's, kswapd1, and has its CPUs.
func (c *capturer) ofNode(comm string, mask cpuset.Set) bool {
	for _, n := range c.s.Topology.Nodes {
		cpus := n.CPUs.And(c.s.online())
		if strings.HasSuffix(comm, fmt.Sprint(int(n.ID))) && (mask.Equal(cpus) || mask.Equal(cpus.AndNot(c.isolated))) {
			return true
		}
	}
	return false
}

// set reports whether piton has set the attribute of the task.
func (c *capturer) set(t *sample.Task, a attr.Attribute) bool {
	return c.touched[attr.Key{ID: attr.ID{TID: t.TID, StartTicks: t.StartTicks}, Attribute: a}]
}

// shape is what a thread has, by attribute; one that cannot be read, or not be
// set, is not in it.
type shape map[attr.Attribute]string

func (c *capturer) shapeOf(t *sample.Task) shape {
	out := shape{}
	if t.Have&sample.HaveAffinity != 0 && t.Flags&sample.FlagNoSetAffinity == 0 {
		out[attr.Affinity] = c.cpusText(t.Affinity)
	}
	out[attr.Nice] = attr.NiceValue(t.Nice).String()
	attributes := []attr.Attribute{attr.Policy, attr.IOPrio, attr.Clamp}
	// A task that has long slept may have the default slice of another time, which
	// reads like one that was set (update_deadline in kernel/sched/fair.c).
	if c.set(t, attr.Slice) {
		attributes = append(attributes, attr.Slice)
	}
	for _, a := range attributes {
		v, ok := c.s.actual(t, a)
		if ok && v != attr.Value(attr.NoSlice) && (a != attr.Policy || t.Policy != kernel.Ext) {
			out[a] = v.String()
		}
	}
	return out
}

// plain are the values that a task starts with.
var plain = shape{attr.Nice: "0", attr.Policy: "OTHER", attr.IOPrio: "none", attr.Slice: attr.SliceValue(0).String()}

// worth says which of a task's settings are to be kept.
func (c *capturer) worth(t *sample.Task, has shape) map[attr.Attribute]bool {
	out := map[attr.Attribute]bool{}
	for a, text := range has {
		usual := text == plain[a] || t.IsKernel() && usualKthread(t.ID.Comm, a, text)
		switch a {
		case attr.Affinity:
			usual = c.usualFor(t)
		case attr.Clamp:
			usual = usualClamp(t, text)
		}
		if !usual || c.o.All || c.o.Only != nil || c.set(t, a) {
			out[a] = true
		}
	}
	return out
}

// set gives an item the values of the attributes chosen.
func (t *Task) set(has shape, chosen map[attr.Attribute]bool) {
	if chosen[attr.Affinity] {
		t.CPUs = has[attr.Affinity]
	}
	for _, s := range t.settings() {
		if chosen[s.Attribute] {
			*s.Text = taskfile.Text(has[s.Attribute])
		}
	}
}
