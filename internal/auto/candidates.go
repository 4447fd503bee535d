// Package auto finds the placement of a live process by trying: it chooses candidates,
// and gives them to internal/search, which keeps one only if it is better than what the
// kernel does by itself.
//
// Start at Candidates.
package auto

import (
	"cmp"
	"fmt"
	"slices"

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
	Name   string     // "kernel", "free", a place.Strategy, "home", "package", "with 3641", "near 3641", "apart from 3641"
	CPUs   cpuset.Set // that the threads may use; for Kernel those of the first thread
	Also   kernel.TID // a process that gets the same CPUs, 0 for none
	Reason string     // why it may be better, or why it is not tried; a phrase
}

// Situation is what candidates are chosen from.
type Situation struct {
	// Request is what place.Place takes; its Strategy is not looked at, and it has one
	// Target: the process.
	Request place.Request
	Now     cpuset.Set // the affinity that it has
	// Partners are those with the most wakeups first; only the first of another process is
	// placed by.
	Partners []model.Partner
}

// Candidates are the placements worth a trial, the kernel's own first, at most
// MostCandidates; and those that are not, with the reason. What would give the same CPUs
// as an earlier one cannot differ from it, and is not tried.
func Candidates(s Situation) (tried, left []Candidate) {
	l := &list{target: &s.Request.Targets[0], topology: s.Request.Topology}
	l.tried = []Candidate{{Name: Kernel, CPUs: s.Now, Reason: "as it is now"}}
	l.add(Candidate{Name: "free", CPUs: l.target.Allowed, Reason: "all CPUs that it may have"})
	for _, strategy := range []place.Strategy{place.LeastLoaded, place.LLC, place.NodeWide} {
		l.strategy(s.Request, strategy)
	}
	l.home()
	other := slices.IndexFunc(s.Partners, func(p model.Partner) bool { return p.TGID != l.target.TID && p.PerS >= leastWakeups })
	if other >= 0 {
		l.partner(s.Partners[other])
	}
	l.each(s.Request)
	l.packages(s.Request)
	for _, strategy := range []place.Strategy{place.Pack, place.Spread, place.SiblingFree} {
		l.strategy(s.Request, strategy)
	}
	if len(l.tried) > MostCandidates {
		for _, c := range l.tried[MostCandidates:] {
			c.Reason = fmt.Sprintf("%d others come first", MostCandidates-1)
			l.left = append(l.left, c)
		}
		l.tried = l.tried[:MostCandidates]
	}
	return l.tried, l.left
}

// list collects candidates.
type list struct {
	target      *place.Target
	topology    *topology.Topology
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
	if c.CPUs.Empty() {
		return c.Reason
	}
	for _, other := range l.tried {
		if other.CPUs.Equal(c.CPUs) && other.Also == c.Also {
			return "the same CPUs as " + other.Name
		}
	}
	if room := float64(c.CPUs.Len()); l.target.BusyShare > room+crowdedBy {
		return fmt.Sprintf("it uses %.1f CPUs, and this is %d", l.target.BusyShare, c.CPUs.Len())
	}
	return ""
}

// leastWakeups is how many wakeups a second, both ways, make a partner: with fewer, what
// the two hand over is soon elsewhere in the caches.
const leastWakeups = 50

// crowdedBy is by how much more than its CPUs a process may use before a placement is
// not worth a trial: shares are measured over a second or less.
const crowdedBy = 0.25

func (l *list) strategy(r place.Request, strategy place.Strategy) {
	r.Strategy = strategy
	choices, err := place.Place(r)
	c := Candidate{Name: string(strategy)}
	if len(choices) == 0 {
		c.Reason = "there is none: " + fmt.Sprint(err)
	} else {
		c.CPUs, c.Reason = choices[0].CPUs, choices[0].Reason
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

// regions are those of sets in which the target may run, the least used first.
func (l *list) regions(r place.Request, name func(i int) string, sets []cpuset.Set) (out []region) {
	for i, all := range sets {
		cpus, sum, known := all.And(l.target.Allowed), 0.0, 0
		for _, load := range r.Loads {
			if cpus.Has(load.CPU) {
				sum += max(0, load.Busy-l.target.Share[load.CPU])
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
		l.add(Candidate{Name: all[0].name, CPUs: all[0].cpus, Reason: fmt.Sprintf("the package that others use least, %.0f %%", 100*all[0].busy)})
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
			l.add(Candidate{Name: region.name, CPUs: region.cpus, Reason: fmt.Sprintf("others use %.0f %% of it", 100*region.busy)})
		}
		return
	}
}

// partner adds the CPU of the task that it talks to, whose cache has the data, the cache's
// other CPUs, where both can run at once, and the CPUs of other cores.
func (l *list) partner(p model.Partner) {
	at, ok := l.topology.CPU(p.CPU)
	if !ok || !l.target.Allowed.Has(p.CPU) {
		return
	}
	who := fmt.Sprintf("%d (%s)", p.TID, p.Comm)
	often := fmt.Sprintf("%.0f wakeups a second with %s", p.PerS, who)
	l.add(Candidate{Name: fmt.Sprintf("with %d", p.TID), CPUs: cpuset.Of(p.CPU), Also: p.TGID, Reason: often + ", both on its CPU"})
	if beside := at.LLC.And(l.target.Allowed).AndNot(at.Core); !beside.Empty() {
		l.add(Candidate{Name: fmt.Sprintf("near %d", p.TID), CPUs: beside, Reason: often + ", on other cores of its cache"})
	}
	if apart := l.target.Allowed.AndNot(at.Core); !apart.Empty() {
		l.add(Candidate{Name: fmt.Sprintf("apart from %d", p.TID), CPUs: apart, Reason: often + ", on other cores"})
	}
}

// home adds the node that has its memory.
func (l *list) home() {
	if n, ok := l.topology.Node(l.target.HomeNode); ok && len(l.topology.Nodes) > 1 {
		l.add(Candidate{Name: "home", CPUs: n.CPUs.And(l.target.Allowed), Reason: fmt.Sprintf("node %d has its memory", n.ID)})
	}
}
