// Package coresview is the view of the CPUs: migrations from CPU to CPU, as a
// heat map that folds to caches and nodes on large machines; the tasks behind a
// cell of it; and for one CPU the ledger of everything that took its time.
//
// It changes nothing itself: it says which task to show or to pin, and its owner
// does that. Start at View.
package coresview

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/tui/rows"
)

// Target names a task for the view's owner.
type Target struct {
	TID, TGID  kernel.TID
	StartTicks uint64
}

// Options is what the view works with.
type Options struct {
	Jump func(Target) tea.Cmd // shows a task among the processes
	// Pin pins one thread to the least-loaded CPU among some; nil where nothing may
	// be changed.
	Pin func(t Target, among cpuset.Set) tea.Cmd
	// IRQMovable says whether an interrupt's affinity can be set; nil, or known
	// false, when that is not known.
	IRQMovable func(irq int) (movable, known bool)
	// Why says what the source of moves needs where there is none, such as "needs
	// eBPF: CAP_BPF and CAP_PERFMON; sudo piton"; "" takes the sample's word.
	Why string
}

// mode is what the view shows.
type mode uint8

const (
	mapMode mode = iota
	taskMode
	coreMode
	ledgerMode
)

// spans are the windows that a key cycles through.
var spans = [...]time.Duration{time.Second, 10 * time.Second, time.Minute}

// auto is the level that fits the window.
const auto = -1

// View is the pane of the CPUs.
type View struct {
	o     Options
	m     *model.Model
	moves model.MoveWindow
	stays model.StayWindow

	mode   mode
	back   mode // from the ledger
	span   int  // index in spans
	level  int  // a model.MoveLevel, or auto
	shown  model.MoveLevel
	groups [model.ByNode + 1]*model.MoveGroups
	topo   *topology.Topology

	from, to cpuset.CPU // the cell under the cursor, by the first CPUs of its groups
	placed   bool       // somebody or something put the cursor there
	page     int        // rows of the map in the window
	hottest  int        // how many times the next busiest cell was asked for

	counted counted
	booked  booked
	behind  behind
	tasks   rows.Scroll
	task    kernel.TID // under the cursor of tasks
	cores   rows.Scroll
	cpu     cpuset.CPU // of the ledger, and under the cursor of cores
	ledger  rows.Scroll
	entry   entryKey // under the cursor of ledger
	waited  int      // samples without stays since the ledger was opened
}

// counted is the table last made and what it was made of.
type counted struct {
	seq    uint64
	span   int
	groups *model.MoveGroups
	table  *model.MoveTable
	hot    []cellOf // the busiest cells, most first
}

// booked is the ledger last added up and what it was made of.
type booked struct {
	seq    uint64
	span   int
	ledger model.Ledger
}

// behind is the tasks behind the cell under the cursor.
type behind struct {
	of      *model.MoveTable
	i, j    int
	tasks   []model.MoveTask
	unnamed uint32
}

// New returns the pane. Give it every model with Note.
func New(o Options) *View { return &View{o: o, span: 1, level: auto} }

// Open is called when the view is shown.
func (v *View) Open() tea.Cmd { return nil }

// Update takes messages; none are this view's own.
func (v *View) Update(tea.Msg) tea.Cmd { return nil }

// Note takes in the newest model. Every one has to be given, shown or not, so
// that the last minute is there when the view is opened.
func (v *View) Note(m *model.Model) {
	v.m = m
	v.moves.Add(m)
	if m.Topology != v.topo {
		v.topo = m.Topology
		v.groups = [model.ByNode + 1]*model.MoveGroups{}
	}
	if v.mode != ledgerMode {
		return
	}
	v.stays.Add(m)
	if !v.stays.Have() {
		v.waited++
	}
}

// Needs adds what has to be read for what is shown now.
func (v *View) Needs(n *sample.Needs) {
	if v.mode == ledgerMode {
		n.Ledger = true
	}
	if v.mode == ledgerMode || v.mode == taskMode {
		n.Threads = true // their names
	}
}

// Key handles a key, and reports whether it meant something here.
func (v *View) Key(k tea.KeyPressMsg) (used bool, cmd tea.Cmd) {
	if v.m == nil || v.topo == nil {
		return false, nil
	}
	key := k.String()
	if key == "w" {
		v.span = (v.span + 1) % len(spans)
		return true, nil
	}
	switch v.present() {
	case taskMode:
		return v.taskKey(k)
	case coreMode:
		return v.coreKey(k)
	case ledgerMode:
		return v.ledgerKey(k)
	}
	return v.mapKey(key), nil
}

// present is the mode, but the list of CPUs where there is no map.
func (v *View) present() mode {
	if !v.moves.Have() && (v.mode == mapMode || v.mode == taskMode) {
		return coreMode
	}
	return v.mode
}

// openLedger begins to look at one CPU.
func (v *View) openLedger(cpu cpuset.CPU) {
	if v.mode != ledgerMode {
		v.back, v.waited = v.mode, 0
		v.stays.Reset()
	}
	v.mode, v.cpu, v.booked = ledgerMode, cpu, booked{}
}

// book adds the ledger up, once for each sample.
func (v *View) book() *model.Ledger {
	if b := &v.booked; b.seq != v.m.Sample.Seq || b.span != v.span || b.ledger.CPU != v.cpu {
		*b = booked{v.m.Sample.Seq, v.span, v.stays.Ledger(spans[v.span], v.cpu)}
	}
	return &v.booked.ledger
}

// grouped divides the machine at a level, once.
func (v *View) grouped(level model.MoveLevel) *model.MoveGroups {
	if v.groups[level] == nil {
		v.groups[level] = model.NewMoveGroups(v.topo, level)
	}
	return v.groups[level]
}

// table counts the moves at the shown level, once for each sample.
func (v *View) table() *model.MoveTable {
	g := v.grouped(v.shown)
	c := counted{seq: v.m.Sample.Seq, span: v.span, groups: g}
	if now := v.counted; now.table == nil || now.seq != c.seq || now.span != c.span || now.groups != g {
		c.table = v.moves.Table(spans[v.span], g)
		c.hot = busiest(c.table, mostHot)
		v.counted = c
	}
	return v.counted.table
}

// cell is the place of the cursor in the groups.
func (v *View) cell(g *model.MoveGroups) (i, j int) {
	return max(g.Index(v.from), 0), max(g.Index(v.to), 0)
}

// tasksBehind ranks the tasks of the cell under the cursor.
func (v *View) tasksBehind() *behind {
	t := v.table()
	i, j := v.cell(t.MoveGroups)
	if b := &v.behind; b.of != t || b.i != i || b.j != j {
		v.behind = behind{of: t, i: i, j: j}
		v.behind.tasks, v.behind.unnamed = v.moves.Tasks(spans[v.span], t.MoveGroups, i, j)
	}
	return &v.behind
}
