// Package auto finds the placement of a live process by trying: it chooses candidates,
// and gives them to internal/search, which keeps one only if it is better than what the
// kernel does by itself.
//
// Start at Candidates.
package auto

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/topology"
)

// MostCandidates is how many are tried, the kernel's own among them: 130 periods settle
// that many (see internal/search).
const MostCandidates = 8

// Kernel is the name of the candidate that changes nothing.
const Kernel = "kernel"

// Candidate is a placement to try.
type Candidate struct {
	Name   string             // "kernel", "free", a place.Strategy, "home", "package", "with 3641", "near 3641", a bench.Placement, "numa_balancing 0"
	CPUs   cpuset.Set         // that the processes may use, all together; for Kernel those of now
	Places []Placed           // the CPUs of each, where it sets them; of a partner as well
	Set    []attr.Setting     // besides, of each target
	Files  []attr.FileSetting // besides, of the machine
	Reason string             // why it may be better, or why it is not tried; a phrase
}

// Placed is a process and the CPUs that a Candidate gives it.
type Placed struct {
	TID  kernel.TID
	CPUs cpuset.Set
}

// Equal reports whether two candidates make the same.
func (c Candidate) Equal(other Candidate) bool {
	return slices.EqualFunc(c.Places, other.Places, func(a, b Placed) bool { return a.TID == b.TID && a.CPUs.Equal(b.CPUs) }) &&
		reflect.DeepEqual(c.Set, other.Set) && reflect.DeepEqual(c.Files, other.Files)
}

// requests are the changes that make a candidate.
func (c Candidate) requests(targets []change.Target, reason string) (out []change.Request) {
	for _, p := range c.Places {
		r := change.Request{Targets: []change.Target{{TID: p.TID}}, Set: []attr.Setting{attr.SetAffinity(p.CPUs)}, Reason: reason}
		if i := slices.IndexFunc(targets, func(t change.Target) bool { return t.TID == p.TID }); i >= 0 {
			r.Targets[0] = targets[i]
			r.Set = append(r.Set, c.Set...)
		}
		out = append(out, r)
	}
	if len(c.Places) == 0 && len(c.Set) > 0 {
		out = append(out, change.Request{Targets: targets, Set: c.Set, Reason: reason})
	}
	if len(c.Files) > 0 {
		out = append(out, change.Request{Files: c.Files, Reason: reason})
	}
	return out
}

// Situation is what candidates are chosen from.
type Situation struct {
	// Request is what place.Place takes; its Strategy is not looked at, and its Targets are
	// the processes, which are placed together.
	Request place.Request
	Now     []cpuset.Set // the affinity of each
	// Partners are those with the most wakeups first; only the first that is no target is
	// placed by.
	Partners []model.Partner
	// More are candidates that were asked for; they come first.
	More []Candidate
}

// Candidates are the placements worth a trial, the kernel's own first, at most
// MostCandidates beside those that were asked for; and those that are not, with the reason. What would give the same CPUs
// as an earlier one cannot differ from it, and is not tried.
func Candidates(s Situation) (tried, left []Candidate) {
	l := &list{targets: s.Request.Targets, topology: s.Request.Topology}
	now := Candidate{Name: Kernel, Reason: "as it is now"}
	for i, t := range l.targets {
		now.Give(t.TID, s.Now[i])
		l.allowed, l.busy = l.allowed.Or(t.Allowed), l.busy+t.BusyShare
	}
	l.tried = []Candidate{now}
	for _, c := range s.More {
		l.add(c)
	}
	asked := len(l.tried) - 1
	l.together("free", l.allowed, "all CPUs that it may have")
	for _, strategy := range []place.Strategy{place.LeastLoaded, place.LLC, place.NodeWide} {
		l.strategy(s.Request, strategy)
	}
	l.home()
	isTarget := func(tid kernel.TID) bool {
		return slices.ContainsFunc(l.targets, func(t place.Target) bool { return t.TID == tid })
	}
	other := slices.IndexFunc(s.Partners, func(p model.Partner) bool { return !isTarget(p.TGID) && p.PerS >= leastWakeups })
	if other >= 0 {
		l.partner(s.Partners[other])
	}
	l.each(s.Request)
	l.packages(s.Request)
	for _, strategy := range []place.Strategy{place.Pack, place.Spread, place.SiblingFree} {
		l.strategy(s.Request, strategy)
	}
	if most := asked + MostCandidates; len(l.tried) > most {
		for _, c := range l.tried[most:] {
			c.Reason = fmt.Sprintf("%d others come first", most-1)
			l.left = append(l.left, c)
		}
		l.tried = l.tried[:most]
	}
	return l.tried, l.left
}

// Give adds the CPUs of a process.
func (c *Candidate) Give(tid kernel.TID, cpus cpuset.Set) {
	c.CPUs = c.CPUs.Or(cpus)
	c.Places = append(c.Places, Placed{tid, cpus})
}

// list collects candidates.
type list struct {
	targets     []place.Target
	topology    *topology.Topology
	allowed     cpuset.Set // to any target
	busy        float64    // CPUs that all targets use
	tried, left []Candidate
}

// add takes a candidate unless it cannot differ from another or cannot hold the work.
func (l *list) add(c Candidate) {
	if why := l.pointless(c); why != "" {
		c.Reason = why
		l.left = append(l.left, c)
		return
	}
	l.tried = append(l.tried, c)
}

func (l *list) pointless(c Candidate) string {
	if len(c.Places) == 0 && len(c.Set) == 0 && len(c.Files) == 0 {
		return c.Reason
	}
	for _, other := range l.tried {
		if c.Equal(other) {
			return "the same as " + other.Name
		}
	}
	for _, p := range c.Places {
		if p.CPUs.Empty() {
			return fmt.Sprintf("process %d may use none of its CPUs", p.TID)
		}
	}
	if room := float64(c.CPUs.Len()); len(c.Places) > 0 && l.busy > room+crowdedBy {
		return fmt.Sprintf("it uses %.1f CPUs, and this is %d", l.busy, c.CPUs.Len())
	}
	return ""
}

// leastWakeups is how many wakeups a second, both ways, make a partner: with fewer, what
// the two hand over is soon elsewhere in the caches.
const leastWakeups = 50

// crowdedBy is by how much more than its CPUs a process may use before a placement is
// not worth a trial: shares are measured over a second or less.
const crowdedBy = 0.25

// together gives all targets what they may have of some CPUs, and also another process.
func (l *list) together(name string, cpus cpuset.Set, reason string, also ...kernel.TID) {
	c := Candidate{Name: name, Reason: reason}
	for _, t := range l.targets {
		c.Give(t.TID, cpus.And(t.Allowed))
	}
	for _, tid := range also {
		c.Give(tid, cpus)
	}
	l.add(c)
}

func (l *list) strategy(r place.Request, strategy place.Strategy) {
	r.Strategy = strategy
	choices, err := place.Place(r)
	c := Candidate{Name: string(strategy)}
	if len(choices) < len(l.targets) {
		c.Reason = "there is none: " + fmt.Sprint(err)
	} else {
		for _, is := range choices {
			c.Give(is.TID, is.CPUs)
		}
		c.Reason = choices[0].Reason
	}
	l.add(c)
}

// Caches are the CPUs of each last-level cache, those that are allowed.
func Caches(t *topology.Topology, allowed cpuset.Set) (out []cpuset.Set) {
	for cpu := range allowed.All() {
		c, ok := t.CPU(cpu)
		if its := c.LLC.And(allowed); ok && !slices.ContainsFunc(out, its.Equal) {
			out = append(out, its)
		}
	}
	return out
}

// region is CPUs that belong together.
type region struct {
	name string
	cpus cpuset.Set
	busy float64 // by others, share of its CPUs
}

// regions are those of sets in which targets may run, the least used first.
func (l *list) regions(r place.Request, name func(i int) string, sets []cpuset.Set) (out []region) {
	for i, all := range sets {
		cpus, sum, known := all.And(l.allowed), 0.0, 0
		for _, load := range r.Loads {
			if cpus.Has(load.CPU) {
				own := 0.0
				for _, t := range l.targets {
					own += t.Share[load.CPU]
				}
				sum += max(0, load.Busy-own)
				known++
			}
		}
		if known > 0 {
			out = append(out, region{name(i), cpus, sum / float64(known)})
		}
	}
	slices.SortStableFunc(out, func(a, b region) int { return cmp.Compare(a.busy, b.busy) })
	return out
}

// packages adds the package with the least load for each of its CPUs.
func (l *list) packages(r place.Request) {
	all := l.regions(r, func(int) string { return "package" }, l.topology.Packages())
	if len(all) > 1 {
		l.together(all[0].name, all[0].cpus, fmt.Sprintf("the package that others use least, %.0f %%", 100*all[0].busy))
	}
}

// each adds every node, or cache, or CPU, of the first kind of which there are a few: what
// the process works with may be near any of them, and load does not show it.
func (l *list) each(r place.Request) {
	var nodes, cpus []cpuset.Set
	for _, n := range l.topology.Nodes {
		nodes = append(nodes, n.CPUs)
	}
	for cpu := range l.topology.Online.All() {
		cpus = append(cpus, cpuset.Of(cpu))
	}
	caches := Caches(l.topology, l.topology.Online)
	kinds := []struct {
		sets []cpuset.Set
		name func(i int) string
	}{
		{nodes, func(i int) string { return fmt.Sprintf("node %d", l.topology.Nodes[i].ID) }},
		{caches, func(i int) string { return "cache of " + caches[i].String() }},
		{cpus, func(i int) string { return "cpu " + cpus[i].String() }},
	}
	for _, k := range kinds {
		all := l.regions(r, k.name, k.sets)
		if len(all) < 2 || len(all) > MostCandidates {
			continue
		}
		for _, region := range all {
			l.together(region.name, region.cpus, fmt.Sprintf("others use %.0f %% of it", 100*region.busy))
		}
		return
	}
}

// partner adds the CPU of the task that it talks to, whose cache has the data, the cache's
// other CPUs, where both can run at once, and the CPUs of other cores.
func (l *list) partner(p model.Partner) {
	at, ok := l.topology.CPU(p.CPU)
	if !ok || !l.allowed.Has(p.CPU) {
		return
	}
	often := fmt.Sprintf("%.0f wakeups a second with %d (%s)", p.PerS, p.TID, p.Comm)
	l.together(fmt.Sprintf("with %d", p.TID), cpuset.Of(p.CPU), often+", both on its CPU", p.TGID)
	if beside := at.LLC.And(l.allowed).AndNot(at.Core); !beside.Empty() {
		l.together(fmt.Sprintf("near %d", p.TID), beside, often+", on other cores of its cache")
	}
	if apart := l.allowed.AndNot(at.Core); !apart.Empty() {
		l.together(fmt.Sprintf("apart from %d", p.TID), apart, often+", on other cores")
	}
}

// home adds the nodes that have their memory.
func (l *list) home() {
	c := Candidate{Name: "home"}
	for _, t := range l.targets {
		n, ok := l.topology.Node(t.HomeNode)
		if !ok || len(l.topology.Nodes) < 2 {
			return
		}
		c.Give(t.TID, n.CPUs.And(t.Allowed))
		c.Reason = fmt.Sprintf("node %d has its memory", n.ID)
	}
	if len(l.targets) > 1 {
		c.Reason = "on the nodes that have their memory"
	}
	l.add(c)
}
