package proctable

import (
	"fmt"
	"hash/fnv"
	"strings"

	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// Tree is how the rows are arranged.
type Tree uint8

// The arrangements, in the order in which a key goes through them.
const (
	Flat     Tree = iota
	ByParent      // processes below their parents
	ByGroup       // processes below their control groups
)

// Next is the arrangement after this one.
func (t Tree) Next() Tree { return (t + 1) % (ByGroup + 1) }

// TreeNames are the arrangements' words in settings and on the screen.
var TreeNames = [...]string{Flat: "list", ByParent: "tree", ByGroup: "groups"}

// String is the arrangement's word.
func (t Tree) String() string { return TreeNames[t] }

// cgroup is a control group with processes on the list, its own or those of groups
// below it.
type cgroup struct {
	path   string
	parent *cgroup
	kids   int
	own    bool    // processes that are in no group below it
	of     []int32 // rows of all its processes
	row    int32   // none: its only child stands for it
}

// grouped arranges rows below rows for their control groups: adds these, sets the
// parents, and returns the model that has both.
func (t *Table) grouped() *model.Model {
	groups, order := map[string]*cgroup{}, []*cgroup(nil)
	var at func(path string) *cgroup
	at = func(path string) *cgroup {
		g := groups[path]
		if g == nil {
			g = &cgroup{path: path, row: none}
			groups[path] = g
			order = append(order, g)
			if i := strings.LastIndexByte(path, '/'); i > 0 {
				g.parent = at(path[:i])
				g.parent.kids++
			}
		}
		return g
	}
	in := make([]*cgroup, len(t.m.Tasks))
	for _, r := range t.rows {
		task := t.m.Sample.Tasks[r]
		if !task.IsProcess() || task.ID == nil || task.ID.Cgroup == "" {
			continue
		}
		in[r] = at(task.ID.Cgroup)
		in[r].own = true
		for g := in[r]; g != nil; g = g.parent {
			g.of = append(g.of, r)
		}
	}
	p := newPlanter(t.rows, t.m, t.folded)
	tasks := t.rows
	var sums []model.Sum
	for _, g := range order {
		if g.own || g.kids > 1 {
			g.row = int32(len(t.m.Tasks) + len(sums))
			t.rows = append(t.rows, g.row)
			sums = append(sums, g.sum(t.m.Sample.Tasks[g.of[0]].ID))
			t.members[g.row] = g.of
		}
	}
	t.parents = make([]int32, len(t.m.Tasks)+len(sums))
	for _, r := range tasks {
		switch {
		case in[r] != nil:
			t.parents[r] = in[r].row
		case !t.m.Sample.Tasks[r].IsProcess():
			t.parents[r] = p.shownParent(r)
		default:
			t.parents[r] = none
		}
	}
	for _, g := range order {
		if g.row != none {
			t.parents[g.row] = g.above()
		}
	}
	return t.m.WithSums(sums)
}

// above is the row of the nearest group above that has one.
func (g *cgroup) above() int32 {
	for g = g.parent; g != nil; g = g.parent {
		if g.row != none {
			return g.row
		}
	}
	return none
}

// sum is the group's row. Its path is its identity: as a number below 0 where numbers
// are asked for, with more bits of the same hash where a start time is. of is one of its tasks.
func (g *cgroup) sum(of *sample.Identity) model.Sum {
	id := &sample.Identity{Comm: g.name(), Cgroup: g.path, Full: true}
	if of.CPUGroup == of.Cgroup { // else the limits are of another hierarchy
		id.CPUGroup = g.path
	}
	h := fnv.New64a()
	h.Write([]byte(g.path))
	n := h.Sum64()
	return model.Sum{Of: g.of, At: -1, TID: -1 - kernel.TID(n&(1<<30-1)), StartTicks: n, ID: id}
}

// name is the unit's or container's, as the column of units has it; that of the group
// alone where it is a part of what the row above is named after.
func (g *cgroup) name() string {
	name := procfs.OwnerOf(g.path)
	for above := g.parent; above != nil; above = above.parent {
		if above.row != none && procfs.OwnerOf(above.path) == name {
			return strings.TrimPrefix(g.path, above.path+"/")
		}
	}
	return name
}

// folds arranges rows below their parents. A folded row shows the sums of itself and the
// processes below it.
func (t *Table) folds() *model.Model {
	t.parents = make([]int32, len(t.m.Tasks))
	p := newPlanter(t.rows, t.m, t.folded)
	for _, r := range t.rows {
		t.parents[r] = p.shownParent(r)
	}
	if len(t.folded) == 0 {
		return t.m
	}
	of := map[int32][]int32{}
	for _, r := range t.rows {
		if !t.m.Sample.Tasks[r].IsProcess() {
			continue
		}
		at := r
		for range longest {
			if t.folded[KeyOf(t.m.Sample.Tasks[at])] {
				of[at] = append(of[at], r)
			}
			if at = t.parents[at]; at == none {
				break
			}
		}
	}
	var sums []model.Sum
	for _, r := range t.rows {
		if len(of[r]) > 1 {
			sums = append(sums, model.Sum{Of: of[r], At: r})
		}
	}
	return t.m.WithSums(sums)
}

// Sums reports whether rows may show the figures of others that are not on the screen.
func (t *Table) Sums() bool {
	return t.view.Tree == ByGroup || t.view.Tree == ByParent && len(t.folded) > 0
}

// unsummed are columns that a sum has nothing of, so that nothing more is read for them.
var unsummed = map[string]bool{"affinity": true, "ioprio": true, "oom_score": true, "wchan": true, "cgroup": true,
	"wait_p99_ns": true, "blame": true, "throttled_percent": true, "cpu_quota": true, "pressure_percent": true}

// SumNeeds adds what the sums in the shown columns need of tasks that have no row.
func (t *Table) SumNeeds(n *sample.Needs) {
	if !t.Sums() {
		return
	}
	n.Identity = n.Identity || t.view.Tree == ByGroup
	for _, c := range t.Read() {
		if !unsummed[c.ID] {
			c.NeedsOfAll(n)
		}
	}
}

// Process is the task under the cursor; false when there is none, or a control group.
func (t *Table) Process() (field.Row, bool) {
	r, ok := t.Selected()
	return r, ok && !r.Sum()
}

// Named is what an action would act on, where control groups are among it: "nginx.service,
// 12 processes"; else "".
func (t *Table) Named() string {
	chosen := t.List.Targets()
	groups := 0
	for _, r := range chosen {
		if t.row(r).Sum() {
			groups++
		}
	}
	switch {
	case groups == 0:
		return ""
	case len(chosen) == 1:
		return t.GroupName(t.row(chosen[0]))
	}
	return fmt.Sprintf("%d tagged rows, %s", len(chosen), chart.Plural(len(t.Targets()), "process"))
}

// GroupName is a control group's name with the number of its processes on the list.
func (t *Table) GroupName(r field.Row) string {
	return field.Clean(r.Task().ID.Comm) + ", " + chart.Plural(len(t.members[int32(r.I)]), "process")
}
