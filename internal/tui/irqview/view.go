// Package irqview is the view of the interrupts: how often each comes and on
// which CPU, where it is asked to go and where it goes, whether that can be
// changed, and the device, queue and task behind it.
//
// It changes nothing, and reads only when its owner asks for it; the owner also
// sends the lines that are tagged elsewhere. Start at View.
package irqview

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/tui/rows"
)

// Options is what the view works with.
type Options struct {
	// Read reads the interrupts with their rates since it was last called;
	// irq.Monitor's Table is the real one. It runs in a command.
	Read func() (irq.Table, error)
	// Filter lets the user type a filter, beginning with the present one, and
	// gives it to SetFilter.
	Filter func(now string) tea.Cmd
	// Actions says that the owner has keys by which lines are sent elsewhere.
	Actions bool
	// Unpick shows the lines of all CPUs again.
	Unpick func() tea.Cmd
	// Jump shows a task among the processes.
	Jump func(tid kernel.TID) tea.Cmd
}

// View is the pane of the interrupts.
type View struct {
	o       Options
	reading bool // a command is under way
	table   irq.Table
	read    bool // an answer has come
	err     error

	sort    order
	reverse bool
	named   bool // lines without a number and softirqs are shown too
	filter  string
	tags    map[int]bool // by number
	cpus    cpuset.Set   // only lines that go to one of these; empty: all
	asked   bool         // or that are asked to
	list    rows.Scroll
	entries []entry
	head    int // lines above the first entry, as last drawn
	shown   int // entries drawn
	quiet   bool
	at      string // the name of the entry under the cursor
}

// New returns the pane, sorted by rate.
func New(o Options) *View { return &View{o: o, tags: map[int]bool{}} }

// tableMsg is what was read.
type tableMsg struct {
	of    *View
	table irq.Table
	err   error
}

// Open is called when the view is shown: it reads at once.
func (v *View) Open() tea.Cmd { return v.Tick() }

// Tick is to be called once a tick while the view is shown. Nothing is read
// while an earlier reading is under way.
func (v *View) Tick() tea.Cmd {
	if v.reading {
		return nil
	}
	v.reading = true
	read := v.o.Read
	return func() tea.Msg {
		t, err := read()
		return tableMsg{v, t, err}
	}
}

// Update takes what was read.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	m, ok := msg.(tableMsg)
	if !ok || m.of != v {
		return nil
	}
	v.reading, v.read, v.err = false, true, m.err
	if m.err == nil {
		v.table = m.table
		v.dropGone()
		v.relist()
	}
	return nil
}

// Filter is the words that shown lines hold.
func (v *View) Filter() string { return v.filter }

// SetFilter shows only lines that hold all words of the text (irq.Row.Match).
func (v *View) SetFilter(text string) {
	v.filter = text
	v.relist()
}

// Count is how many lines an action would act on.
func (v *View) Count() int { return len(v.Targets()) }

// Click puts the cursor on the line that is drawn y lines below the view's first
// one; false when there is none.
func (v *View) Click(y int) bool {
	i := v.list.Top + y - v.head
	if y < v.head || y >= v.head+v.shown || i >= len(v.entries) {
		return false
	}
	v.list.Cursor = i
	v.note()
	return true
}

// SetQuiet says that the keys are elsewhere: the line under the cursor is marked,
// but does not stand out.
func (v *View) SetQuiet(on bool) { v.quiet = on }

// SetCPUs shows only lines that go to one of these CPUs, or that are asked to;
// an empty set shows all.
func (v *View) SetCPUs(cpus cpuset.Set, asked bool) {
	v.cpus, v.asked = cpus, asked
	v.relist()
}

// Key handles a key, and reports whether it meant something here.
func (v *View) Key(k tea.KeyPressMsg) (used bool, cmd tea.Cmd) {
	switch key := k.String(); key {
	case ">", "<", "f6":
		v.sortBy(v.sort.step(key != "<"))
	case "I":
		v.reverse = !v.reverse
		v.relist()
	case "n":
		v.named = !v.named
		v.relist()
	case "f4", "\\", "/":
		return true, v.o.Filter(v.filter)
	case "esc":
		switch {
		case v.filter != "":
			v.SetFilter("")
		case !v.cpus.Empty():
			return true, v.o.Unpick()
		default:
			return false, nil
		}
	case "space":
		v.tag()
	case "A":
		v.tagAll()
	case "U":
		v.Untag()
	case "enter":
		return v.jump()
	default:
		used = v.list.Key(k, len(v.entries), true)
		v.note()
		return used, nil
	}
	return true, nil
}

// sortBy changes the order; the cursor goes to its top.
func (v *View) sortBy(o order) {
	v.sort, v.reverse = o, false
	v.list = rows.Scroll{}
	v.at = ""
	v.relist()
}

// jump shows the task that handles the line under the cursor, if one does.
func (v *View) jump() (used bool, cmd tea.Cmd) {
	if e := v.selected(); e != nil && e.row != nil && len(e.row.Threads) > 0 {
		return true, v.o.Jump(e.row.Threads[0].TID)
	}
	return false, nil
}

// selected is the entry under the cursor, nil if there is none.
func (v *View) selected() *entry {
	if v.list.Cursor >= len(v.entries) {
		return nil
	}
	return &v.entries[v.list.Cursor]
}

// note remembers what the cursor is on; on the first line it stays on top.
func (v *View) note() {
	v.at = ""
	if e := v.selected(); e != nil && v.list.Cursor > 0 {
		v.at = e.name()
	}
}
