package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// Resolve finds what the profile means on the machine, and compares.
func Resolve(p *Profile, s *State) *Resolution {
	r := &resolver{s: s, out: &Resolution{Ticks: s.Ticks}, index: map[attr.Key]int{}, threads: map[kernel.TID][]*sample.Task{}}
	for i := range s.Tasks {
		if t := s.Tasks[i]; t.TGID != s.Self && t.ID != nil {
			r.threads[t.TGID] = append(r.threads[t.TGID], t)
		}
	}
	r.isolation(&p.Isolation)
	for _, t := range p.items() {
		r.item(t)
	}
	r.machine(&p.Machine)
	for i := range p.IRQs {
		r.irq(&p.IRQs[i])
	}
	for i := range p.Queues {
		r.queue(&p.Queues[i])
	}
	for i := range p.sysctls {
		r.sysctl(&p.sysctls[i])
	}
	return r.out
}

type resolver struct {
	s       *State
	out     *Resolution
	index   map[attr.Key]int // into out.Wants, so that the last item wins
	threads map[kernel.TID][]*sample.Task
}

func (r *resolver) add(w Want) {
	key := attr.Key{ID: attr.ID{TID: w.TID}, Attribute: w.Attribute, Path: w.Path}
	if i, ok := r.index[key]; ok {
		r.out.Wants[i] = w
		return
	}
	r.index[key] = len(r.out.Wants)
	r.out.Wants = append(r.out.Wants, w)
}

func (r *resolver) missing(item, matchers string, optional bool) {
	r.out.Missing = append(r.out.Missing, Missing{item, matchers, optional})
}

// unit is what an item gives its values to as one: a process with all of its
// threads, or one thread.
type unit struct {
	process *sample.Task
	tasks   []*sample.Task
	whole   bool
}

// units are what the item means, the oldest first.
func (r *resolver) units(t *Task) ([]unit, error) {
	m, err := newMatcher(t)
	if err != nil {
		return nil, err
	}
	var out []unit
	for _, process := range r.s.Tasks {
		if process.TGID == r.s.Self || !m.process(process) {
			continue
		}
		if m.Thread == "" {
			out = append(out, unit{process, r.threads[process.TGID], true})
			continue
		}
		for _, thread := range r.threads[process.TGID] {
			if m.thread.MeansThread(thread.ID.Comm) {
				out = append(out, unit{process, []*sample.Task{thread}, false})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b unit) int { return cmp.Compare(a.tasks[0].StartTicks, b.tasks[0].StartTicks) })
	return out, nil
}

// item adds what an item wants of each task that it means.
func (r *resolver) item(t *Task) {
	units, err := r.units(t)
	if err != nil || len(units) == 0 {
		r.missing(t.Label(), t.Matchers(), t.Optional && err == nil)
		return
	}
	values, err := r.values(t)
	if err != nil {
		r.missing(t.Label(), fmt.Sprintf("%s (%v)", t.Matchers(), err), false)
		return
	}
	each := r.shares(t, units)
	ofGroup := func(v value) bool { return v.Attribute.OfGroup() }
	for _, u := range units {
		for _, v := range values {
			if ofGroup(v) {
				r.group(t, u.process, v.Setting)
			}
		}
	}
	values = slices.DeleteFunc(values, ofGroup)
	for i, u := range units {
		for _, task := range u.tasks {
			for _, v := range values {
				r.task(t, u, task, v)
			}
			if each != nil {
				r.task(t, u, task, each[i])
			}
		}
	}
}

// group adds one value of the control group of a process.
func (r *resolver) group(t *Task, process *sample.Task, s attr.Setting) {
	w := Want{Item: t.Label(), Attribute: s.Attribute, Expected: s.Value}
	if r.s.Group != nil {
		c := r.s.Group(process.TGID, s)
		w.Path, w.Name, w.Expected, w.Actual, w.Known = c.Path, c.Name, c.After, c.Before, c.Before != nil
		if c.Status == attr.Refused {
			w.Blocked, w.absent = c.Reason, errors.Is(c.Err, attr.ErrNotSupported)
		}
	}
	if w.Path == "" {
		w.PID, w.TID, w.StartTicks, w.Name = process.TGID, process.TID, process.StartTicks, process.ID.Comm
	}
	r.add(w)
}

// task adds one value of one thread.
func (r *resolver) task(t *Task, u unit, task *sample.Task, v value) {
	w := Want{
		Item: t.Label(), Attribute: v.Attribute, PID: task.TGID, TID: task.TID, StartTicks: task.StartTicks,
		Name: task.ID.Comm, Expected: v.Value, whole: u.whole,
	}
	switch v.Attribute {
	case attr.Affinity:
		w.Known = task.Have&sample.HaveAffinity != 0
		switch {
		case v.blocked != "":
			w.Actual, w.Blocked = task.Affinity.And(r.s.online()), v.blocked
		case w.Known:
			w.affinity(attr.CPUs(v.Value), task.Affinity, r.s.online(), r.allowed(task.TGID))
		}
	default:
		w.Actual, w.Known = r.s.actual(task, v.Attribute)
		switch {
		case v.Attribute == attr.Policy && w.Known && task.Have&sample.HaveAttr == 0:
			p := attr.PolicyOf(v.Value)
			p.ResetOnFork = false // only a system call tells
			w.Expected = p
		case v.Value == attr.Value(attr.ClampValue{Reset: true}) && usualClamp(task, attr.Text(w.Actual)):
			w.Expected = w.Actual
		case w.Actual == attr.Value(attr.NoSlice):
			w.Blocked, w.absent = "it has no slice: its policy or this kernel has none", true
		}
	}
	r.add(w)
}
