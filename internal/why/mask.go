package why

import (
	"fmt"
	"slices"

	"piton/internal/chart"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// excluding are the threads whose mask leaves out a CPU that was idle meanwhile, and that their cpuset
// allows; with cpuset those whose cpuset leaves one out.
func (a *Answer) excluding(byCpuset bool) (out []Thread) {
	for _, t := range a.Target.Threads {
		left := a.Avoidable.Idle.And(t.Cpuset).AndNot(t.Allowed)
		if byCpuset {
			left = a.Avoidable.Idle.AndNot(t.Cpuset)
		}
		if !left.Empty() {
			out = append(out, t)
		}
	}
	return out
}

// Excluder is whose mask, or cpuset, left out idle CPUs: "its mask (0-1)", "the mask (0) of 1 of 2
// threads"; several says that it is more than one.
func (a *Answer) Excluder(byCpuset bool) (text string, several bool) {
	name, set := "mask", func(t *Thread) cpuset.Set { return t.Allowed }
	if byCpuset {
		name, set = "cpuset", func(t *Thread) cpuset.Set { return t.Cpuset }
	}
	threads := a.excluding(byCpuset)
	if len(threads) == 0 {
		return fmt.Sprintf("the %s of threads that have ended", name), false
	}
	first := set(&threads[0])
	if slices.ContainsFunc(threads, func(t Thread) bool { return !set(&t).Equal(first) }) {
		name, several = name+"s", true
	} else {
		name += fmt.Sprintf(" (%s)", first)
	}
	if len(threads) < len(a.Target.Threads) {
		return fmt.Sprintf("the %s of %d of %s", name, len(threads), chart.Plural(len(a.Target.Threads), "thread")), several
	}
	return "its " + name, several
}

// mostNumbers is how many processes or threads a remedy names one by one.
const mostNumbers = 8

// widen is what helps where idle CPUs are left out by the mask: all CPUs that the control group allows,
// for those threads alone that lack one; none where a limit is reached on those that they have.
func (a *Answer) widen() Remedy {
	threads := a.excluding(false)
	if a.Avoidable.Mask == 0 || len(threads) == 0 {
		return none
	}
	var mask, wider cpuset.Set
	for _, t := range threads {
		mask, wider = mask.Or(t.Allowed), wider.Or(t.Allowed).Or(t.Cpuset.And(a.Target.Machine.Online).AndNot(a.Target.Machine.Isolated))
	}
	if wider.Len() == threads[0].Allowed.Len() || a.walled(mask) {
		return none
	}
	if len(threads) == len(a.Target.Threads) {
		return a.pin(wider)
	}
	on := Setting{Attribute: ofAffinity, Value: wider.String(), On: a.processesOf(threads)}
	if on.Single = on.On == nil; on.Single {
		for _, t := range threads {
			on.On = append(on.On, number(t.TID)...)
		}
	}
	if len(on.On) > mostNumbers {
		return a.pin(wider)
	}
	return a.command(a.Target.Rights.Tasks, on)
}

// processesOf are the processes that have the threads and no others, nil if some have.
func (a *Answer) processesOf(threads []Thread) (numbers []string) {
	var pids []kernel.TID
	for _, t := range threads {
		if !slices.Contains(pids, t.PID) {
			pids, numbers = append(pids, t.PID), append(numbers, number(t.PID)...)
		}
	}
	others := func(t Thread) bool {
		return slices.Contains(pids, t.PID) && !slices.ContainsFunc(threads, func(own Thread) bool { return own.TID == t.TID })
	}
	if slices.ContainsFunc(a.Target.Threads, others) {
		return nil
	}
	return numbers
}
