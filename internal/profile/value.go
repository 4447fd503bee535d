package profile

import (
	"strconv"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tune"
)

// value is one setting of an item in the notation of plans and the journal.
type value struct {
	attribute tune.Attribute
	text      string
	cpus      cpuset.Set // of Affinity
	blocked   string     // why this machine has no such CPUs
}

// values are the item's settings but for CPUsEach, on this machine.
func (r *resolver) values(t *Task) ([]value, error) {
	var out []value
	if t.CPUs != "" {
		out = append(out, r.affinity(t.CPUs))
	}
	if t.Nice != nil {
		out = append(out, value{attribute: tune.Nice, text: strconv.Itoa(*t.Nice)})
	}
	if t.IOPrio != "" {
		prio, err := tune.ParseIOPrio(t.IOPrio)
		if err != nil {
			return nil, err
		}
		out = append(out, value{attribute: tune.IOPrio, text: tune.FormatIOPrio(prio)})
	}
	if t.Slice != "" {
		slice, err := tune.ParseSlice(t.Slice)
		if err != nil {
			return nil, err
		}
		out = append(out, value{attribute: tune.Slice, text: sliceText(slice)})
	}
	if t.UClamp != "" {
		clamp, err := tune.ParseClamp(t.UClamp)
		if err != nil {
			return nil, err
		}
		out = append(out, value{attribute: tune.Clamp, text: clamp.String()})
	}
	if t.Policy != "" {
		policy, err := tune.ParsePolicy(t.Policy)
		if err != nil {
			return nil, err
		}
		out = append(out, value{attribute: tune.Policy, text: policy.String()})
	}
	return out, nil
}

// affinity is what a CPUS expression means on this machine.
func (r *resolver) affinity(expr string) value {
	v := value{attribute: tune.Affinity, text: expr}
	var err error
	if v.cpus, err = r.s.cpus(expr); err != nil {
		v.blocked = err.Error()
	}
	return v
}

// sliceText writes a slice as tune does.
func sliceText(d time.Duration) string {
	if d == 0 {
		return sliceDefault
	}
	return d.String()
}

// sliceDefault and sliceNone are what a slice reads as that nobody has set, and
// where there are none.
const (
	sliceDefault = "default"
	sliceNone    = "none"
)

const clampDefault = "default"

// usualClamp reports whether clamps are those that a task has unless somebody sets
// them: real-time ones ask for the highest frequency
// (Documentation/scheduler/sched-util-clamp.rst).
func usualClamp(t *sample.Task, text string) bool {
	return text == "0,1024" || t.Policy.RealTime() && text == "1024,1024"
}

// actual is what a task has; not ok where it cannot be read, as on a root that is
// not this machine's, or where the kernel has no such thing.
func (s *State) actual(t *sample.Task, a tune.Attribute) (text string, ok bool) {
	switch a {
	case tune.Affinity:
		return t.Affinity.String(), t.Have&sample.HaveAffinity != 0
	case tune.Nice:
		return strconv.Itoa(int(t.Nice)), true
	case tune.IOPrio:
		return tune.FormatIOPrio(t.IOPrio), t.Have&sample.HaveIOPrio != 0
	case tune.Policy:
		setting, ok := s.policy(t)
		return setting.String(), ok
	}
	if s.Value == nil {
		return "", false
	}
	text, err := s.Value(a, t.TID)
	return text, err == nil
}

// policy is a task's policy. Of DEADLINE a sample has no times, so they are asked
// for where that can be done.
func (s *State) policy(t *sample.Task) (setting tune.PolicySetting, ok bool) {
	setting = tune.PolicySetting{Policy: t.Policy, ResetOnFork: t.ResetOnFork}
	switch t.Policy {
	case kernel.FIFO, kernel.RR:
		setting.RTPrio = int(t.RTPrio)
	case kernel.Deadline:
		if s.Value == nil {
			return setting, false
		}
		text, err := s.Value(tune.Policy, t.TID)
		if err != nil {
			return setting, false
		}
		setting, err = tune.ParsePolicy(text)
		return setting, err == nil
	}
	return setting, true
}

// withoutReset leaves out what only a system call tells.
func withoutReset(policy string) string {
	name, _, _ := strings.Cut(policy, ",")
	return name
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

// shares deals an item's CPUsEach out: whoever holds one of the lists keeps it
// as long as the lists are dealt evenly, and the rest get what is left in order.
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
			if left[i] > 0 && task.Have&sample.HaveAffinity != 0 && list.cpus.And(r.s.online()).Equal(task.Affinity.And(r.s.online())) {
				out[u] = list
				left[i]--
				break
			}
		}
	}
	next := 0
	for u := range units {
		if out[u].attribute != "" {
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
