// Package proctable is the list of tasks on the screen: which of them have rows, in
// which order, and how their cells are drawn. It knows nothing of keys.
//
// Start at Table: Load gives it a model, Render draws it. The cursor, the tags and
// the scrolling are list.List's.
package proctable

import (
	"slices"
	"strconv"
	"strings"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/list"
	"piton/internal/tui/theme"
)

// Key names a task for good: its number and when it started.
type Key struct {
	TID        kernel.TID
	StartTicks uint64
}

// KeyOf is the task's key.
func KeyOf(t *sample.Task) Key { return Key{t.TID, t.StartTicks} }

// View is what the user chose to see.
type View struct {
	Columns []*field.TaskColumn
	Widths  map[string]int // cells of columns by id, where the user set them
	Sort    *field.TaskColumn
	Then    *field.TaskColumn // orders what Sort finds alike; nil: their numbers do
	Keep    []string          // columns that go last where there is no room for all; nil: the usual ones
	Chosen  bool              // the columns are a layout's: they are shown whatever is in them
	Desc    bool
	Filter  *field.Filter
	User    string // only this owner's tasks; "" shows all
	Threads bool   // a row for each thread
	Kernel  bool   // kernel threads too
	Tree    Tree
}

// Table is the list of tasks. Its rows are indices in the tasks of the model that has
// the sums of trees.
type Table struct {
	*list.List[Key, int32]
	view    View
	m       *model.Model
	summed  *model.Model // the same with the rows that stand for several tasks
	rows    []int32
	parents []int32           // of rows, by task, while they are a tree
	tree    []branch          // by task, while the rows are a tree
	members map[int32][]int32 // the processes of control groups, by the group's row
	folded  map[Key]bool      // rows of the tree whose descendants are hidden
	widths  []width           // of the view's columns; nil: the page has to be measured
	largest [2]int            // digits of the largest PID and of the largest CPU number
	at      place             // what was measured
	ticked  bool              // there are new figures since
	scratch []byte
}

// New returns an empty table.
func New(v View) *Table {
	t := &Table{folded: map[Key]bool{}, members: map[int32][]int32{}, scratch: make([]byte, 0, 1024)}
	t.List = list.New(func(r int32) Key { return KeyOf(t.task(r)) }, "")
	t.Draws = map[string]list.Draw[int32]{}
	t.Order = func(id string, desc bool) {
		v := t.view
		v.Sort, _ = field.Lookup(id)
		v.Desc = desc
		t.SetView(v)
	}
	t.List.Whole = func(r int32, th *theme.Theme) (theme.Style, bool) {
		if t.row(r).Sum() {
			return th.Strong, true
		}
		return th.Dim, t.task(r).Flags&sample.FlagKernelThread != 0
	}
	t.SetView(v)
	return t
}

// View returns what is chosen.
func (t *Table) View() View { return t.view }

// SetView changes what is shown. Another order or filter is shown from its top,
// else the cursor stays on its task.
func (t *Table) SetView(v View) {
	if v.Filter.String() != t.view.Filter.String() || v.User != t.view.User {
		t.Restart()
	}
	t.view = v
	sort := ""
	if v.Sort != nil {
		sort = v.Sort.ID
	}
	t.SetOrder(sort, v.Desc)
	t.widths = nil
	t.setColumns(t.at.cells)
	t.rebuild()
}

// Load takes the newest model. The cursor and the tags stay on their tasks; the
// tags of tasks that ended are dropped.
func (t *Table) Load(m *model.Model) {
	t.m, t.ticked = m, true
	if needed := t.needed(); t.largest != needed {
		t.largest = needed
		t.setColumns(t.at.cells)
	}
	t.rebuild()
	tasks := t.summed.Sample.Tasks
	t.KeepTags(len(tasks), func(i int) Key { return KeyOf(tasks[i]) })
}

// Model is what is shown; nil before the first Load.
func (t *Table) Model() *model.Model { return t.m }

// Row returns a row as it is shown, by its place.
func (t *Table) Row(i int) field.Row { return t.row(t.Rows()[i]) }

func (t *Table) row(r int32) field.Row { return field.Row{M: t.summed, I: int(r)} }

func (t *Table) task(r int32) *sample.Task { return t.summed.Sample.Tasks[r] }

// own is the row with the task's own figures, where it has some.
func (t *Table) own(r int32) field.Row {
	if t.m != nil && int(r) < len(t.m.Tasks) {
		return field.Row{M: t.m, I: int(r)}
	}
	return t.row(r)
}

// Selected is the row under the cursor, with the task's own figures; a control group has
// the sums.
func (t *Table) Selected() (field.Row, bool) {
	r, ok := t.List.Selected()
	return t.own(r), ok
}

// Targets are the tasks that an action would act on: those of rows, and of control
// groups the processes on the list.
func (t *Table) Targets() []field.Row {
	var out []field.Row
	seen := map[int32]bool{}
	add := func(rows ...int32) {
		for _, r := range rows {
			if !seen[r] {
				seen[r] = true
				out = append(out, t.own(r))
			}
		}
	}
	for _, r := range t.List.Targets() {
		if of, is := t.members[r]; is {
			add(of...)
		} else {
			add(r)
		}
	}
	return out
}

// rebuild chooses and orders the rows. The order is final once there are rates;
// before, it is by number only.
func (t *Table) rebuild() {
	t.rows, t.tree, t.summed = t.rows[:0], t.tree[:0], t.m
	clear(t.members)
	if t.m == nil {
		return
	}
	for i := range t.m.Tasks {
		if t.shows(i) {
			t.rows = append(t.rows, int32(i))
		}
	}
	switch t.view.Tree {
	case ByParent:
		t.summed = t.folds()
	case ByGroup:
		t.summed = t.grouped()
	}
	if t.view.Then != nil {
		field.Sort(t.rows, t.summed, *t.view.Then, t.view.Then.Desc)
	}
	if t.view.Sort != nil {
		field.Sort(t.rows, t.summed, *t.view.Sort, t.view.Desc)
	}
	if t.view.Tree != Flat {
		t.rows, t.tree = plant(t.rows, t.parents, t.summed, t.folded)
	}
	t.List.Load(t.rows, t.m.Elapsed > 0)
}

func (t *Table) shows(i int) bool {
	task := t.m.Sample.Tasks[i]
	switch {
	case !t.view.Threads && !task.IsProcess():
		return false
	case !t.view.Kernel && task.Flags&sample.FlagKernelThread != 0:
		return false
	case t.view.User != "" && (task.ID == nil || task.ID.User != t.view.User):
		return false
	}
	return t.view.Filter.Match(t.own(int32(i)))
}

// Select puts the cursor on a task; false when it has no row.
func (t *Table) Select(tid kernel.TID) bool {
	return t.SelectFunc(func(r int32) bool { return t.task(r).TID == tid })
}

// SelectPrefix puts the cursor on the process whose number these digits are, or
// else on the first row whose number starts with them.
func (t *Table) SelectPrefix(digits string) bool {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return false
	}
	return t.Select(kernel.TID(n)) || t.SelectFunc(func(r int32) bool {
		return strings.HasPrefix(strconv.Itoa(int(t.task(r).TID)), digits)
	})
}

// Search puts the cursor on the next row that holds the text in its command or
// number: from the cursor's row on, or below it when next is set; it wraps
// around. False when no row does.
func (t *Table) Search(text string, next bool) bool {
	if text == "" {
		return false
	}
	command, _ := field.Lookup("command")
	text = strings.ToLower(text)
	var buf []byte
	return t.List.Search(func(r int32) bool {
		buf = command.Append(strconv.AppendInt(buf[:0], int64(t.task(r).TID), 10), t.row(r))
		return strings.Contains(strings.ToLower(string(buf)), text)
	}, next)
}

// TagAll tags all tasks on the list, and returns how many tags there are then.
func (t *Table) TagAll() int {
	t.Tag(func(r int32) bool { return !t.row(r).Sum() })
	return t.Tags()
}

// TagTree tags the task under the cursor with all its descendants, of a control group
// the processes, and returns how many rows that are.
func (t *Table) TagTree() int {
	if t.Len() == 0 {
		return 0
	}
	if r, _ := t.List.Selected(); t.members[r] != nil {
		return t.Tag(func(other int32) bool { return slices.Contains(t.members[r], other) })
	}
	family := map[kernel.TID]bool{t.At().TID: true}
	tasks := t.m.Sample.Tasks
	// Children can have lower numbers than their parents once numbers wrapped.
	for grown := true; grown; {
		grown = false
		for i := range tasks {
			if !family[tasks[i].TID] && (family[tasks[i].PPID] || family[tasks[i].TGID]) {
				family[tasks[i].TID] = true
				grown = true
			}
		}
	}
	return t.Tag(func(r int32) bool { return family[t.task(r).TID] })
}

// Watched lists the tasks whose costly figures are needed: those on the screen
// and the tagged ones.
func (t *Table) Watched() []kernel.TID {
	var out []kernel.TID
	for _, r := range append(t.TagsShown(), t.Window()...) {
		if tid := t.task(r).TID; tid >= 0 {
			out = append(out, tid)
		}
	}
	return out
}
