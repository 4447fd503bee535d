package profile

import (
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/partition"
	"piton/internal/sample"
)

// isolation adds what keeps the profile's CPUs free. Items that come later send
// there what belongs there.
func (r *resolver) isolation(p *Isolation) {
	if p.CPUs == "" {
		return
	}
	item := label("[isolation]", p.line)
	cpus, err := r.s.cpus(p.CPUs)
	if err != nil {
		r.missing(item, fmt.Sprintf("the CPUs %s (%v)", p.CPUs, err), false)
		return
	}
	facts := r.s.facts(cpus)
	plan, err := partition.Isolate(facts, cpus)
	if err != nil {
		r.missing(item, fmt.Sprintf("the CPUs %s free (%v)", p.CPUs, err), false)
		return
	}
	tasks := map[kernel.TID]*sample.Task{}
	for i := range r.s.Tasks {
		tasks[r.s.Tasks[i].TID] = r.s.Tasks[i]
	}
	masks, immovable := masksByPath(facts), len(plan.Immovable)
	r.out.Isolated = map[string]bool{}
	for _, q := range plan.Requests {
		cpus, _ := q.Affinity()
		for _, target := range q.Targets {
			if t := tasks[target.TID]; t != nil {
				r.add(Want{
					Item: item, Attribute: attr.Affinity, PID: t.TGID, TID: t.TID, StartTicks: t.StartTicks, Name: t.ID.Comm,
					Expected: cpus, Actual: t.Affinity, Known: true,
				})
			}
		}
		for _, f := range q.Files {
			if r.s.Unmovable[f.Path] {
				immovable++
				continue
			}
			r.out.Isolated[f.Path] = true
			r.add(Want{
				Item: item, Attribute: f.Attribute, Path: f.Path, Name: f.Name,
				Expected: f.Value, Actual: masks[f.Path], Known: true,
			})
		}
	}
	r.out.Isolates, r.out.Rest, r.out.isolation = cpus, plan.Rest, item
	if immovable > 0 {
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("%d kernel threads and interrupts cannot be moved off %s; piton isolate %s --dry-run lists them", immovable, cpus, cpus))
	}
}

// SetsApart reports whether something has still to be moved off for the isolation.
func (r *Resolution) SetsApart() bool {
	return slices.ContainsFunc(r.Wants, func(w Want) bool { return w.Item == r.isolation && !w.OK() && w.Blocked == "" })
}

// facts is what is known of the machine for setting CPUs apart, but for piton itself,
// which ends soon.
func (s *State) facts(apart cpuset.Set) partition.Facts {
	f := partition.Facts{Online: s.online(), Reserved: s.Topology.Isolated.Or(s.Apart).AndNot(apart), IRQs: s.IRQs, Masks: s.Masks}
	for _, t := range s.Tasks {
		if t.ID == nil || t.TGID == s.Self || t.Ended() || t.Have&sample.HaveAffinity == 0 {
			continue
		}
		f.Tasks = append(f.Tasks, partition.Task{
			Task: attr.Task{PID: t.TGID, TID: t.TID, StartTicks: t.StartTicks, Comm: t.ID.Comm, Flags: t.Flags},
			PPID: t.PPID, Policy: t.Policy, Mask: t.Affinity,
		})
	}
	if s.Cpuset != nil {
		f.Limit = func(pid kernel.TID) (cpuset.Set, string, error) {
			set, err := s.Cpuset(pid)
			return set, "of process " + fmt.Sprint(pid), err
		}
	}
	return f
}

// masksByPath are the masks of files.
func masksByPath(f partition.Facts) map[string]cpuset.Set {
	out := map[string]cpuset.Set{}
	for _, m := range f.Masks {
		out[m.Path] = m.CPUs
	}
	for i := range f.IRQs {
		out[irq.AffinityFile(f.IRQs[i].Number)] = f.IRQs[i].Requested.Set
	}
	return out
}
