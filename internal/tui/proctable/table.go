// Package proctable is the list of tasks on the screen: which rows are shown, in
// which order, which is under the cursor, which are tagged, and how the visible
// ones are drawn. It knows nothing of keys.
//
// Start at Table: Load gives it a model, Render draws it.
package proctable

import (
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
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
	Columns []*field.Column
	Sort    *field.Column
	Desc    bool
	Filter  *field.Filter
	User    string // only this owner's tasks; "" shows all
	Threads bool   // a row for each thread
	Kernel  bool   // kernel threads too
	Tree    bool
}

// Table is the list and its cursor.
type Table struct {
	view View
	m    *model.Model
	rows []int32  // indices in m.Tasks, in order
	tree []branch // aligned with rows in a tree, else empty

	cursor int // index in rows
	key    Key // of the task under the cursor
	// anchored is unset until rates exist: the first order is by number only and
	// the cursor belongs at the top of the order that follows.
	anchored bool
	tags     map[Key]bool
	folded   map[Key]bool // rows of the tree whose descendants are hidden

	top    int // first row shown
	height int // rows shown
	follow bool
	scroll int // steps to the right
	quiet  bool

	generation uint64 // of rows and columns; rendered rows of older ones are stale
	cache      rowCache
}

// New returns an empty table.
func New(v View) *Table {
	return &Table{view: v, tags: map[Key]bool{}, folded: map[Key]bool{}, height: 1}
}

// View returns what is chosen.
func (t *Table) View() View { return t.view }

// SetView changes what is shown. The cursor stays on its task. A new order is
// shown from its beginning; otherwise a cursor that was on the page stays on it.
func (t *Table) SetView(v View) {
	ordered := v.Sort != t.view.Sort || v.Desc != t.view.Desc
	visible := t.SelectedVisible()
	t.view = v
	t.scroll = 0
	t.rebuild()
	switch {
	case t.follow:
	case ordered:
		t.top = 0
	case visible:
		t.reveal()
	}
}

// Load takes the newest model. The cursor and the tags stay on their tasks; the
// tags of tasks that ended are dropped.
func (t *Table) Load(m *model.Model) {
	t.m = m
	t.rebuild()
	t.dropGone()
	if m.Elapsed > 0 && len(t.rows) > 0 {
		t.anchored = true
	}
}

// Model is what is shown; nil before the first Load.
func (t *Table) Model() *model.Model { return t.m }

// SetQuiet says that the keys are elsewhere: the row under the cursor is marked,
// but does not stand out.
func (t *Table) SetQuiet(on bool) { t.quiet = on }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Count is the number of rows that an action would act on.
func (t *Table) Count() int {
	if len(t.tags) > 0 {
		return len(t.Targets())
	}
	return min(1, len(t.rows))
}

// Row returns a row by its place.
func (t *Table) Row(i int) field.Row { return field.Row{M: t.m, I: int(t.rows[i])} }

// rebuild chooses and orders the rows and finds the cursor's task again.
func (t *Table) rebuild() {
	t.generation++
	t.rows, t.tree = t.rows[:0], t.tree[:0]
	if t.m == nil {
		return
	}
	for i := range t.m.Tasks {
		if t.shows(i) {
			t.rows = append(t.rows, int32(i))
		}
	}
	if t.view.Sort != nil {
		field.Sort(t.rows, t.m, *t.view.Sort, t.view.Desc)
	}
	if t.view.Tree {
		t.rows, t.tree = plant(t.rows, t.m, t.folded)
	}
	t.locate()
}

// shows decides whether a task has a row.
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
	return t.view.Filter.Match(field.Row{M: t.m, I: i})
}

// locate puts the cursor on its task's row. When the task has no row any more
// the cursor stays where it is and takes the task that is there now.
func (t *Table) locate() {
	if t.anchored {
		if i := t.find(t.key); i >= 0 {
			t.cursor = i
			if t.follow {
				t.reveal()
			}
			t.clampTop()
			return
		}
	} else {
		t.cursor = 0
	}
	t.moveTo(t.cursor)
	t.clampTop()
}

// find returns the place of a task's row, -1 when it has none.
func (t *Table) find(k Key) int {
	for i, r := range t.rows {
		if task := t.m.Sample.Tasks[r]; task.TID == k.TID && task.StartTicks == k.StartTicks {
			return i
		}
	}
	return -1
}

// moveTo puts the cursor on a row, as near as there is one.
func (t *Table) moveTo(i int) {
	t.cursor = max(0, min(i, len(t.rows)-1))
	if len(t.rows) > 0 {
		t.key = KeyOf(t.m.Sample.Tasks[t.rows[t.cursor]])
	}
}

// Selected is the row under the cursor.
func (t *Table) Selected() (field.Row, bool) {
	if len(t.rows) == 0 {
		return field.Row{}, false
	}
	return t.Row(t.cursor), true
}

// Key names the task under the cursor, or that was under it last.
func (t *Table) Key() Key { return t.key }

// SelectedVisible reports whether the row under the cursor is on the screen.
func (t *Table) SelectedVisible() bool {
	return t.cursor >= t.top && t.cursor < t.top+t.height
}
