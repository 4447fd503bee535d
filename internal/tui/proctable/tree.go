package proctable

import (
	"slices"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
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

const (
	none    = int32(-1) // no row
	deepest = 20        // depth at which the drawing stops to indent
	longest = 1000      // bounds the way from a row to its root
)

// plant orders rows as a tree and keeps their order among siblings. parents are the rows
// above, by task, as are the branches. The descendants of folded rows are left out.
func plant(rows, parents []int32, m *model.Model, folded map[Key]bool) ([]int32, []branch) {
	p := newPlanter(rows, m, folded)
	root := none
	for _, r := range slices.Backward(rows) {
		first := &root
		if parent := parents[r]; parent != none {
			first = &p.family[parent].first
		}
		p.family[r].next, *first = *first, r
	}
	for r := root; r != none; r = p.family[r].next {
		p.add(r, branch{})
	}
	if len(folded) == 0 {
		for _, r := range rows { // those of a circle have no root
			p.add(r, branch{})
		}
	}
	return p.rows, p.tree
}

// relatives link the tasks of a model, by index.
type relatives struct {
	first  int32 // child
	next   int32 // sibling
	shown  bool  // has a row
	placed bool  // stands in the tree already
}

type planter struct {
	tasks  []*sample.Task // in rising order of TID, for index and shownParent
	folded map[Key]bool
	family []relatives // aligned with tasks
	rows   []int32
	tree   []branch // aligned with tasks
}

func newPlanter(rows []int32, m *model.Model, folded map[Key]bool) *planter {
	p := &planter{tasks: m.Sample.Tasks, folded: folded, family: make([]relatives, len(m.Sample.Tasks)),
		rows: make([]int32, 0, len(rows)), tree: make([]branch, len(m.Tasks))}
	for i := range p.family {
		p.family[i] = relatives{first: none, next: none}
	}
	for _, r := range rows {
		p.family[r].shown = true
	}
	return p
}

func (p *planter) index(tid kernel.TID) int32 {
	i, ok := sample.Find(p.tasks, tid)
	if !ok {
		return none
	}
	return int32(i)
}

// shownParent is the nearest ancestor with a row, none without one; the process, for a
// thread. The number of steps is bounded because a sample is not taken in one instant and
// could, with numbers reused meanwhile, hold a circle.
func (p *planter) shownParent(r int32) int32 {
	parent := p.tasks[r].PPID
	if !p.tasks[r].IsProcess() {
		parent = p.tasks[r].TGID
	}
	for range longest {
		i := p.index(parent)
		if i == none || i == r {
			return none
		}
		if p.family[i].shown {
			return i
		}
		parent = p.tasks[i].PPID
	}
	return none
}

// add puts a row and its descendants into the tree.
func (p *planter) add(r int32, b branch) {
	f := &p.family[r]
	if f.placed {
		return
	}
	f.placed = true
	b.folded = f.first != none && p.folded[KeyOf(p.tasks[r])]
	p.rows, p.tree[r] = append(p.rows, r), b
	if b.folded {
		return
	}
	for kid := f.first; kid != none; kid = p.family[kid].next {
		below := branch{depth: min(b.depth+1, deepest), more: b.more}
		below.more &^= 1 << (below.depth - 1)
		if p.family[kid].next != none {
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
	if t.view.Tree == Flat || t.Len() == 0 {
		return
	}
	if k := t.At(); t.folded[k] {
		delete(t.folded, k)
	} else {
		t.folded[k] = true
	}
	t.rebuild()
}
