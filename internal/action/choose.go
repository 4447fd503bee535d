package action

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// Choose says which CPUs a Strategy would give to the targets, and plans nothing.
// The error joins what it says of targets for which there is no CPU.
func Choose(d Deps, targets []change.Target, t Tuning) ([]place.Choice, error) {
	_, choices, refused, err := choose(d, targets, t)
	for _, c := range refused {
		err = errors.Join(err, errors.New(c.Reason))
	}
	return choices, err
}

// choose asks internal/place for the CPUs of all targets together. A target for
// which there is no CPU has no request, but a refusal.
func choose(d Deps, targets []change.Target, t Tuning) (requests []change.Request, choices []place.Choice, refused []change.Change, err error) {
	var alive []change.Target
	for i, target := range targets {
		if _, err := d.Tuner.Sched.Affinity(target.TID); !errors.Is(err, syscall.ESRCH) {
			alive = append(alive, target)
		} else if d.Model != nil && d.Model.Topology != nil { // let the plan say so
			requests = append(requests, change.Request{Targets: targets[i : i+1], Set: []attr.Setting{attr.SetAffinity(d.Model.Topology.Online)}})
		}
	}
	ask, err := Ask(d, alive, t)
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := place.Place(ask)
	if refused = noCPU(err); len(refused) == 0 && err != nil {
		return nil, nil, nil, err
	}
	of := func(tid kernel.TID) int {
		return slices.IndexFunc(targets, func(target change.Target) bool { return target.TID == tid })
	}
	refused = slices.DeleteFunc(refused, func(c change.Change) bool { return of(c.TID) < 0 })
	for _, c := range all {
		at := of(c.TID)
		if at < 0 {
			continue // it was given its CPUs before
		}
		choices = append(choices, c)
		requests = append(requests, change.Request{
			Targets: targets[at : at+1], Set: memoryFollows(t.Set, attr.SetAffinity(c.CPUs)),
			Reason: strings.TrimPrefix(fmt.Sprintf("%s: %s: %s", t.Reason, t.Strategy, c.Reason), ": "),
		})
	}
	return requests, choices, refused, nil
}

// Ask is what internal/place is asked: the machine and the targets as the last sample shows
// them.
func Ask(d Deps, targets []change.Target, t Tuning) (place.Request, error) {
	if d.Model == nil || d.Model.Topology == nil {
		return place.Request{}, errors.New("the load of the machine is not known yet")
	}
	groups := sample.NewGroups(procfs.New(d.Tuner.Proc.Root())).Of
	ask := place.Request{
		Topology: d.Model.Topology, Loads: d.Model.Loads(groups), Strategy: t.Strategy,
		Within: t.Within, AllowIsolated: !t.Within.Empty(),
	}
	ask.Groups, _ = d.Tuner.GroupMode()
	for _, target := range targets {
		ask.Targets = append(ask.Targets, placeTarget(d, target, groups, t))
	}
	self := kernel.TID(os.Getpid()) // looking takes time where there are many tasks
	isTarget := slices.ContainsFunc(targets, func(target change.Target) bool { return target.TID == self })
	if i, ok := sample.Find(d.Model.Sample.Tasks, self); ok && !isTarget {
		ask.Ignored = []place.Target{d.Model.PlaceTarget(i)}
	}
	for _, g := range d.Given {
		p := placeTarget(d, g.Target, groups, t)
		p.Allowed, p.BusyShare = g.CPUs, max(p.BusyShare, 1)
		ask.Targets = append(ask.Targets, p)
	}
	return ask, nil
}

// noCPU are the targets for which Place found none.
func noCPU(err error) []change.Change {
	var out []change.Change
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, e := range all {
		if none := (*place.NoCPUError)(nil); errors.As(e, &none) {
			c := change.Change{Object: attr.Object{PID: none.TID, TID: none.TID, Comm: none.Comm}, Attribute: attr.Affinity}
			c.Refuse("%s", none.Why)
			out = append(out, c)
		}
	}
	return out
}

// placeTarget is a target as the last sample shows it. One that the sample does
// not have is too new, and is taken for one busy thread; whether it exists at
// all is for the plan to find out.
func placeTarget(d Deps, target change.Target, groups model.Groups, want Tuning) place.Target {
	online := d.Model.Topology.Online
	t := &sample.Task{TID: target.TID, TGID: target.TID}
	p := place.Target{TID: target.TID, LastCPU: -1, HomeNode: -1, Allowed: online, BusyShare: 1, BusyThreads: 1}
	if i, ok := Find(d.Model, target); ok {
		t, p = d.Model.Sample.Tasks[i], d.Model.PlaceTarget(i)
	}
	p.Group = groups(t)
	p.Weight, p.RealTime = competes(t, want)
	if limit, _, err := d.Tuner.Cpuset(target.TID); err == nil && !limit.And(online).Empty() {
		p.Allowed = limit.And(online)
	}
	return p
}

// competes is what a task weighs, and whether it is real-time, after a Tuning.
func competes(t *sample.Task, want Tuning) (weight float64, realTime bool) {
	policy, nice := t.Policy, int(t.Nice)
	for _, s := range want.Set {
		if p, ok := s.Value.(attr.PolicyValue); ok && !p.Keep {
			policy = p.Policy
		}
		if n, ok := s.Value.(attr.NiceValue); ok && s.Attribute == attr.Nice {
			nice = int(n)
		}
	}
	return place.Weight(policy, nice), policy.RealTime()
}

// Find looks a target up in the sample, whose tasks are in order of tid.
func Find(m *model.Model, target change.Target) (int, bool) {
	tasks := m.Sample.Tasks
	i, ok := sample.Find(tasks, target.TID)
	return i, ok && (target.StartTicks == 0 || target.StartTicks == tasks[i].StartTicks)
}
