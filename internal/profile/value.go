package profile

import (
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/taskfile"
)

// value is one setting of an item, on this machine.
type value struct {
	attr.Setting
	blocked string // why this machine has no such CPUs
}

// values are the item's settings but for CPUsEach, on this machine.
func (r *resolver) values(t *Task) ([]value, error) {
	var out []value
	if t.CPUs != "" {
		out = append(out, r.affinity(t.CPUs))
	}
	set, err := taskfile.Parse(t.settings())
	for _, s := range set {
		out = append(out, value{Setting: s})
	}
	return out, err
}

// affinity is what a CPUS expression means on this machine.
func (r *resolver) affinity(expr string) value {
	set, err := r.s.cpus(expr)
	if err != nil {
		return value{attr.Setting{Attribute: attr.Affinity, Value: attr.Opaque(expr)}, err.Error()}
	}
	return value{Setting: attr.SetAffinity(set)}
}

// usualClamp reports whether clamps are those that a task has unless somebody sets
// them: real-time ones ask for the highest frequency
// (Documentation/scheduler/sched-util-clamp.rst).
func usualClamp(t *sample.Task, text string) bool {
	return text == "0,1024" || t.Policy.RealTime() && text == "1024,1024"
}

// actual is what a task has; not ok where it cannot be read, as on a root that is
// not this machine's, or where the kernel has no such thing.
func (s *State) actual(t *sample.Task, a attr.Attribute) (v attr.Value, ok bool) {
	switch a {
	case attr.Nice:
		return attr.NiceValue(t.Nice), true
	case attr.IOPrio:
		return attr.IOPrioValue(t.IOPrio), t.Have&sample.HaveIOPrio != 0
	case attr.Policy:
		if p, ok := s.policy(t); ok {
			return p, true
		}
		return nil, false
	}
	if s.Value == nil {
		return nil, false
	}
	v, err := s.Value(a, t.TID)
	return v, err == nil
}

// policy is a task's policy. Of DEADLINE a sample has no times, so they are asked
// for where that can be done.
func (s *State) policy(t *sample.Task) (p attr.PolicyValue, ok bool) {
	p = attr.PolicyValue{Policy: t.Policy, ResetOnFork: t.ResetOnFork}
	switch t.Policy {
	case kernel.FIFO, kernel.RR:
		p.RTPrio = int(t.RTPrio)
	case kernel.Deadline:
		if s.Value == nil {
			return p, false
		}
		v, err := s.Value(attr.Policy, t.TID)
		if err != nil {
			return p, false
		}
		p = attr.PolicyOf(v)
	}
	return p, true
}

// allowed is what the process's cpuset allows, every CPU where nothing is known.
func (r *resolver) allowed(pid kernel.TID) cpuset.Set {
	if r.s.Cpuset != nil {
		if set, err := r.s.Cpuset(pid); err == nil && !set.Empty() {
			return set
		}
	}
	return r.s.online()
}

// shares gives each unit one of the item's CPUsEach: a unit that has one of the lists
// keeps it as long as the lists are used evenly, and the rest get what is left in order.
func (r *resolver) shares(t *Task, units []unit) []value {
	if len(t.CPUsEach) == 0 {
		return nil
	}
	lists, left := make([]value, len(t.CPUsEach)), make([]int, len(t.CPUsEach))
	for i, expr := range t.CPUsEach {
		lists[i], left[i] = r.affinity(expr), (len(units)-i+len(t.CPUsEach)-1)/len(t.CPUsEach)
	}
	out := make([]value, len(units))
	for u := range units {
		task := units[u].tasks[0]
		for i, list := range lists {
			if left[i] > 0 && task.Have&sample.HaveAffinity != 0 && attr.CPUs(list.Value).And(r.s.online()).Equal(task.Affinity.And(r.s.online())) {
				out[u] = list
				left[i]--
				break
			}
		}
	}
	next := 0
	for u := range units {
		if out[u].Attribute != "" {
			continue
		}
		for left[next] <= 0 {
			next++
		}
		out[u] = lists[next]
		left[next]--
	}
	return out
}
