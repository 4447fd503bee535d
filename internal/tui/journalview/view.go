// Package journalview is the list of all changes that were made: when, by whom,
// what, from what to what, and whether they are still in force. From it one,
// some or all of them are undone.
//
// It changes nothing itself: it says what to undo, and its owner plans, asks and
// does it. Start at View.
package journalview

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/tui/rows"
)

// Journal is where changes are recorded; journal.Journal is the real one.
type Journal interface {
	Entries() ([]change.Entry, []journal.Damage, error)
}

// Checker finds out what undoing would do, and so what is still in force;
// change.Tuner is the real one.
type Checker interface {
	PlanUndo(ctx context.Context, q change.UndoRequest) (change.Plan, error)
}

// Options is what the view works with.
type Options struct {
	Journal Journal // nil: nothing is recorded
	Checker Checker
	// Undo plans what is asked for, lets the user confirm it, and does it.
	Undo     func(change.UndoRequest) tea.Cmd
	ReadOnly bool // nothing may be changed, nor undone
}

// View is the journal's pane.
type View struct {
	o       Options
	serial  int // of the last reading
	entries []entry
	damage  []journal.Damage
	err     error
	read    bool // an answer has come
	list    rows.Scroll
	lines   []place
	open    map[uint64]bool // entries whose changes are shown
	tagged  map[uint64]bool
	guards  map[uint64]change.GuardState // by entry
}

// entry is one entry with what has become of it.
type entry struct {
	change.Entry
	state state
}

// place is one line of the list: an entry, its command, or one of its changes.
type place struct {
	entry  int
	change int // or one of the following
}

const (
	headLine    = -1 // the entry itself
	commandLine = -2
)

// New returns the pane; Open reads the journal.
func New(o Options) *View {
	return &View{o: o, open: map[uint64]bool{}, tagged: map[uint64]bool{}}
}

// SetGuards shows the guards that have not decided.
func (v *View) SetGuards(guards []change.GuardState) {
	v.guards = map[uint64]change.GuardState{}
	for _, g := range guards {
		v.guards[g.Entry] = g
	}
}

// entriesMsg is the journal as it was read.
type entriesMsg struct {
	serial  int
	entries []change.Entry
	damage  []journal.Damage
	err     error
}

// Open reads the journal anew.
func (v *View) Open() tea.Cmd {
	if v.o.Journal == nil {
		return nil
	}
	v.serial++
	serial, from := v.serial, v.o.Journal
	return func() tea.Msg {
		entries, damage, err := from.Entries()
		return entriesMsg{serial, entries, damage, err}
	}
}

// Update takes what was read.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case entriesMsg:
		if msg.serial == v.serial {
			return v.take(msg)
		}
	case statesMsg:
		if msg.serial == v.serial {
			v.takeStates(msg)
		}
	}
	return nil
}

// take shows the entries, newest first; the cursor stays on its entry.
func (v *View) take(msg entriesMsg) tea.Cmd {
	at, known := v.at()
	old := map[uint64]state{}
	for _, e := range v.entries {
		old[e.ID] = e.state
	}
	v.read, v.err, v.damage = true, msg.err, msg.damage
	if msg.err != nil {
		return nil
	}
	v.entries = v.entries[:0]
	for _, e := range slices.Backward(msg.entries) {
		v.entries = append(v.entries, entry{e, plainState(e, old[e.ID])})
	}
	v.relist()
	if known {
		v.find(at.ID)
	}
	return v.check()
}

// at is the entry under the cursor.
func (v *View) at() (entry, bool) {
	if v.list.Cursor >= len(v.lines) {
		return entry{}, false
	}
	return v.entries[v.lines[v.list.Cursor].entry], true
}

// find puts the cursor on an entry, if it is there.
func (v *View) find(id uint64) {
	for i, l := range v.lines {
		if l.change == headLine && v.entries[l.entry].ID == id {
			v.list.Cursor = i
			return
		}
	}
}

// relist makes the lines of the list from what is open.
func (v *View) relist() {
	v.lines = v.lines[:0]
	for i, e := range v.entries {
		v.lines = append(v.lines, place{i, headLine})
		if !v.open[e.ID] {
			continue
		}
		v.lines = append(v.lines, place{i, commandLine})
		for c := range e.Changes {
			v.lines = append(v.lines, place{i, c})
		}
	}
	v.list.Clamp(len(v.lines))
}

// Key handles a key, and reports whether it meant something here.
func (v *View) Key(k tea.KeyPressMsg) (used bool, cmd tea.Cmd) {
	if key := k.String(); v.o.ReadOnly && (key == "space" || key == "z" || key == "u" || key == "A") {
		return false, nil
	}
	switch k.String() {
	case "enter", "left", "right":
		v.toggleOpen(k.String())
	case "space":
		v.toggleTag()
	case "U":
		clear(v.tagged)
	case "z", "u":
		return true, v.undo()
	case "A":
		return true, v.o.Undo(change.UndoRequest{All: true})
	case "r":
		return true, v.Open()
	default:
		return v.list.Key(k, len(v.lines), true), nil
	}
	return true, nil
}

// toggleOpen shows or hides the changes of the entry under the cursor.
func (v *View) toggleOpen(key string) {
	e, ok := v.at()
	if !ok {
		return
	}
	v.open[e.ID] = key == "right" || key == "enter" && !v.open[e.ID]
	v.relist()
	v.find(e.ID)
}

// toggleTag tags the entry, and goes on to the next one.
func (v *View) toggleTag() {
	e, ok := v.at()
	if !ok {
		return
	}
	if v.tagged[e.ID] {
		delete(v.tagged, e.ID)
	} else {
		v.tagged[e.ID] = true
	}
	for i := v.list.Cursor + 1; i < len(v.lines); i++ {
		if v.lines[i].change == headLine {
			v.list.Cursor = i
			return
		}
	}
}

// undo asks for the tagged entries, or for the one under the cursor.
func (v *View) undo() tea.Cmd {
	var ids []uint64
	for _, e := range v.entries {
		if v.tagged[e.ID] {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		e, ok := v.at()
		if !ok {
			return nil
		}
		ids = []uint64{e.ID}
	}
	clear(v.tagged)
	return v.o.Undo(change.UndoRequest{IDs: ids})
}
