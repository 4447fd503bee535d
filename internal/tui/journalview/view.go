// Package journalview is the list of what was done: when, by whom, what, from what to
// what, and what has become of it. From it one, some or all changes are undone.
//
// It changes nothing itself: it says what to undo, and its owner plans, asks and
// does it. Start at View. What was done is history.Operation's, the list is list.List's.
package journalview

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/group"
	"piton/internal/tui/list"
)

// Journal is where changes are recorded; journal.Journal is the real one.
type Journal interface {
	Entries() ([]change.Entry, []journal.Damage, error)
}

// Options is what the view works with.
type Options struct {
	Journal Journal // nil: nothing is recorded
	Checker change.Checker
	// Undo plans what is asked for, lets the user confirm it, and does it.
	Undo     func(change.UndoRequest) tea.Cmd
	ReadOnly bool // nothing may be changed, nor undone
	// Watch begins to watch what others set; nil: it cannot be watched. The error says why not.
	Watch func() (Watcher, error)
}

// View is the journal's pane.
type View struct {
	*list.List[rowID, line]
	o          Options
	serial     int                 // of the last reading
	operations []history.Operation // oldest first
	damage     []journal.Damage
	err        error
	read       bool            // an answer has come
	open       map[uint64]bool // entries whose parts are shown
	guards     []history.GuardState
	foreign    foreign
}

// rowID names a row: an entry, and which of its parts it is, 0 for the entry itself, -1 and so on
// for what others set of it.
type rowID struct {
	entry uint64
	part  int
}

// line is one row: an operation, or a part of an open one.
type line struct {
	rowID
	operation *history.Operation
	overwrite *overwrite // nil: it is no row about others
}

// New returns the pane; Open reads the journal.
func New(o Options) *View {
	v := &View{o: o, open: map[uint64]bool{}}
	v.List = list.New(func(l line) rowID { return l.rowID }, "", columns...)
	v.TagOf = func(l line) (rowID, bool) { return rowID{entry: l.entry}, true }
	v.Line, v.Whole = across, finished
	return v
}

// SetGuards shows the guards that have not decided.
func (v *View) SetGuards(guards []history.GuardState) {
	if len(guards)+len(v.guards) == 0 {
		return
	}
	v.guards = guards
	for i := range v.operations {
		d := &v.operations[i]
		d.Guard = nil
		if g := slices.IndexFunc(guards, func(g history.GuardState) bool { return g.Entry == d.ID }); g >= 0 {
			d.Guard = &guards[g]
		}
	}
	v.relist()
}

// Open reads the journal anew.
func (v *View) Open() tea.Cmd {
	if v.o.Journal == nil {
		return nil
	}
	v.serial++
	serial := v.serial
	return tea.Batch(func() tea.Msg {
		entries, damage, err := v.o.Journal.Entries()
		return func() tea.Cmd { return v.take(serial, entries, damage, err) }
	}, v.watchOthers())
}

// take shows what was read, unless it has been read again since, and has it looked at.
// What was found out earlier is shown until then.
func (v *View) take(serial int, entries []change.Entry, damage []journal.Damage, err error) tea.Cmd {
	if serial != v.serial {
		return nil
	}
	v.read, v.err, v.damage = true, err, damage
	if err != nil {
		return nil
	}
	found := map[uint64]*history.Found{}
	for _, d := range v.operations {
		found[d.ID] = d.Found
	}
	v.operations = history.Operations(entries, v.guards)
	v.found(found)
	if v.o.Checker == nil || len(v.operations) == 0 {
		return nil
	}
	operations := slices.Clone(v.operations)
	return func() tea.Msg {
		found := change.Check(context.Background(), v.o.Checker, operations)
		return func() tea.Cmd {
			if serial == v.serial {
				v.found(found)
			}
			return nil
		}
	}
}

func (v *View) found(found map[uint64]*history.Found) {
	for i := range v.operations {
		if f := found[v.operations[i].ID]; f != nil {
			v.operations[i].Found = f
		}
	}
	v.relist()
}

// relist makes the rows of the operations, newest first, and of the parts of what is open.
func (v *View) relist() {
	var lines []line
	for i := range slices.Backward(v.operations) {
		d := &v.operations[i]
		others := v.foreign.by[d.ID]
		if s := d.Status(); s == history.Undone || s == history.TaskEnded {
			others = nil
		}
		parts := 1
		if v.open[d.ID] {
			parts += 1 + len(d.Changes) + len(d.Undos) // the command first
		}
		for n := range parts {
			lines = append(lines, line{rowID{d.ID, n}, d, nil})
			if n == 0 {
				for i := range others {
					lines = append(lines, line{rowID{d.ID, -1 - i}, d, &others[i]})
				}
			}
		}
	}
	v.Load(lines, true)
}

// ToggleParts shows or hides the parts of the entry under the cursor.
func (v *View) ToggleParts() { v.ShowParts(!v.open[v.At().entry]) }

// ShowParts shows the parts of the entry under the cursor, or hides them.
func (v *View) ShowParts(on bool) {
	if l, ok := v.Selected(); ok {
		v.open[l.entry] = on
		v.Select(rowID{entry: l.entry})
		v.relist()
	}
}

// Scroll shows the parts of the entry under the cursor, or hides them: to the right is
// into it.
func (v *View) Scroll(by int) { v.ShowParts(by > 0) }

// Undo asks for the tagged entries, or for the one under the cursor.
func (v *View) Undo() tea.Cmd {
	ids := group.Each(v.Targets(), func(l line) uint64 { return l.entry })
	if len(ids) == 0 {
		return nil
	}
	v.Untag()
	return v.o.Undo(change.UndoRequest{IDs: ids})
}

// UndoAll asks for all entries.
func (v *View) UndoAll() tea.Cmd { return v.o.Undo(change.UndoRequest{All: true}) }
