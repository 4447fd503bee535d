package topology

import (
	"cmp"
	"slices"

	"piton/internal/cpuset"
)

// New completes a topology of which the exported fields are filled in: it puts
// CPUs, Nodes and Caches in order, derives Present, Online and Isolated from
// the CPUs, gives the cores, LLCs and packages their indices, and prepares
// lookups. A missing Allowed becomes Online. It is for Read, and for tests that
// need a machine of their own.
func New(t Topology) *Topology {
	slices.SortFunc(t.CPUs, func(a, b CPU) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(t.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(t.Caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.CPUs.First(), b.CPUs.First()))
	})
	t.setLists()
	t.setIndices()
	t.groups = t.group()
	t.order = displayOrder(t.groups)
	return &t
}

func (t *Topology) setLists() {
	var present, online, isolated cpuset.Builder
	for i := range t.CPUs {
		c := &t.CPUs[i]
		present.Add(c.ID)
		if c.Online {
			online.Add(c.ID)
		}
		if c.Isolated {
			isolated.Add(c.ID)
		}
	}
	t.Present, t.Online, t.Isolated = present.Set(), online.Set(), isolated.Set()
	if t.Allowed.Empty() {
		t.Allowed = t.Online
	}
	t.setNumbers()
}

// setNumbers makes lookup work; the CPUs are in order.
func (t *Topology) setNumbers() {
	t.byNumber = nil
	if n := len(t.CPUs); n > 0 {
		t.byNumber = make([]int32, t.CPUs[n-1].ID+1)
	}
	for i := range t.byNumber {
		t.byNumber[i] = -1
	}
	for i := range t.CPUs {
		t.byNumber[t.CPUs[i].ID] = int32(i)
	}
}

// setIndices numbers the sets of each level in order of their first CPU; CPUs
// are sorted, and a level's sets are disjoint, so the first CPU that has a set
// is the set's first.
func (t *Topology) setIndices() {
	t.cores, t.llcs, t.packages = nil, nil, nil
	number := func(c *CPU, set cpuset.Set, all *[]cpuset.Set, index func(*CPU) *int) {
		switch {
		case set.Empty():
			*index(c) = -1
		case set.First() == c.ID:
			*index(c) = len(*all)
			*all = append(*all, set)
		default:
			if first := t.lookup(set.First()); first != nil {
				*index(c) = *index(first)
			}
		}
	}
	for i := range t.CPUs {
		c := &t.CPUs[i]
		number(c, c.Core, &t.cores, func(c *CPU) *int { return &c.CoreIndex })
		number(c, c.LLC, &t.llcs, func(c *CPU) *int { return &c.LLCIndex })
		number(c, c.Package, &t.packages, func(c *CPU) *int { return &c.PackageIndex })
	}
}
