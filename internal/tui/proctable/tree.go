package proctable

import (
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/tui/theme"
)

// branch is a row's place in the tree.
type branch struct {
	depth  uint8
	folded bool // its descendants are hidden
	// more has bit d set when the ancestor at depth d+1, or at depth-1 the row
	// itself, has a sibling below it.
	more uint64
}

// deepest is the depth at which the drawing stops to indent.
const deepest = 20

// plant orders rows as a tree and keeps their order among siblings. A row whose
// parent has none stands below its nearest ancestor that has one.
// The descendants of folded rows are left out.
func plant(rows []int32, m *model.Model, folded map[Key]bool) ([]int32, []branch) {
	p := planter{m: m, folded: folded, shown: make(map[kernel.TID]bool, len(rows)), children: map[kernel.TID][]int32{},
		byTID: make(map[kernel.TID]int32, len(m.Tasks))}
	for i := range m.Sample.Tasks {
		p.byTID[m.Sample.Tasks[i].TID] = int32(i)
	}
	for _, r := range rows {
		p.shown[m.Sample.Tasks[r].TID] = true
	}
	var roots []int32
	for _, r := range rows {
		if parent := p.shownParent(r); parent != 0 {
			p.children[parent] = append(p.children[parent], r)
		} else {
			roots = append(roots, r)
		}
	}
	p.rows = make([]int32, 0, len(rows))
	for _, r := range roots {
		p.add(r, branch{})
	}
	return p.rows, p.tree
}

type planter struct {
	m        *model.Model
	folded   map[Key]bool
	byTID    map[kernel.TID]int32
	shown    map[kernel.TID]bool
	children map[kernel.TID][]int32
	rows     []int32
	tree     []branch
}

// shownParent is the nearest ancestor with a row; the process, for a thread. 0
// means none. The number of steps is bounded because a sample is not taken in
// one instant and could, with numbers reused meanwhile, hold a circle.
func (p *planter) shownParent(r int32) kernel.TID {
	task := &p.m.Sample.Tasks[r]
	parent := task.PPID
	if !task.IsProcess() {
		parent = task.TGID
	}
	for range 1000 {
		if p.shown[parent] && parent != task.TID {
			return parent
		}
		i, ok := p.byTID[parent]
		if !ok {
			return 0
		}
		parent = p.m.Sample.Tasks[i].PPID
	}
	return 0
}

func (p *planter) add(r int32, b branch) {
	task := &p.m.Sample.Tasks[r]
	kids := p.children[task.TID]
	delete(p.children, task.TID)
	b.folded = len(kids) > 0 && p.folded[KeyOf(task)]
	p.rows, p.tree = append(p.rows, r), append(p.tree, b)
	if b.folded {
		return
	}
	for i, kid := range kids {
		below := branch{depth: min(b.depth+1, deepest), more: b.more}
		below.more &^= 1 << (below.depth - 1)
		if i < len(kids)-1 {
			below.more |= 1 << (below.depth - 1)
		}
		p.add(kid, below)
	}
}

// appendBranch draws the lines before a row's command.
func appendBranch(dst []byte, b branch, th *theme.Theme) []byte {
	for d := range b.depth {
		more := b.more&(1<<d) != 0
		switch own := d == b.depth-1; {
		case own && more:
			dst = append(dst, th.TreeMid...)
		case own:
			dst = append(dst, th.TreeLast...)
		case more:
			dst = append(dst, th.TreeBar...)
		default:
			dst = append(dst, "  "...)
		}
	}
	if b.folded {
		dst = append(dst, "+ "...)
	}
	return dst
}

// ToggleFold hides or shows the descendants of the row under the cursor.
func (t *Table) ToggleFold() {
	if !t.view.Tree || len(t.rows) == 0 {
		return
	}
	if t.folded[t.key] {
		delete(t.folded, t.key)
	} else {
		t.folded[t.key] = true
	}
	t.touched()
	t.rebuild()
}
