// Package coresview is the view of the CPUs: migrations from CPU to CPU, as a
// heat map that folds to caches and nodes on large machines; the tasks that move
// most; the tasks behind a cell of the map; and for one CPU the ledger, which is
// its time by task and interrupt.
//
// It changes nothing itself: it names the task to show or to pin, and its owner
// does that. Start at View; its verbs are in verbs.go.
package coresview

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/tui/list"
	"piton/internal/tui/widget"
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
	// IRQMovable says whether an interrupt's affinity can be set, if that is known.
	IRQMovable func(irq int) (movable, known bool)
}

type mode uint8

const (
	mapMode mode = iota
	taskMode
	coreMode
	ledgerMode
	waitMode // before the first model
)

// spans are the windows that a key cycles through.
var spans = [...]time.Duration{time.Second, 10 * time.Second, time.Minute}

// auto is the level that fits the window.
const auto = -1

// View is the pane of the CPUs.
type View struct {
	o         Options
	m         *model.Model
	moves     model.MoveWindow
	intervals model.RunWindow

	mode   mode
	back   mode // from the ledger
	span   int  // index in spans
	level  int  // a model.MoveLevel, or auto
	shown  model.MoveLevel
	groups [model.ByNode + 1]*division
	topo   *topology.Topology

	from, to cpuset.CPU // the cell under the cursor, by the first CPUs of its groups
	placed   bool       // the cursor is on a cell that a key or the first moves chose
	page     int        // rows of the map or list in the window
	hottest  int        // how many times NextBusiest was called

	counted memo[countKey, counted]
	booked  memo[bookKey, model.Ledger]
	ranked  memo[bookKey, int]
	behind  memo[cellKey, behind]
	beside  cpuset.CPU // whose ledger is shown with the map or the list; -1 for none
	cpu     cpuset.CPU // of the ledger view, and under the cursor of cores

	cores   *list.List[cpuset.CPU, *model.CPU]      // the online CPUs
	tasks   *list.List[kernel.TID, model.MoveTask]  // behind the cell
	movers  *list.List[kernel.TID, mover]           // that move most
	ledger  *list.List[entryKey, model.LedgerEntry] // of cpu
	besides *list.List[entryKey, model.LedgerEntry] // of beside, without a cursor
	onCPU   *list.List[kernel.TID, field.Row]       // tasks last seen on a CPU
	showing map[bool]bookKey                        // what ledger and, at true, besides have
	listAt  int                                     // line of the list's heading in the view
	waited  int                                     // samples without any since a ledger was shown

	ticks widget.Ticks
	top   int // migrations a tick at the full height of a sparkline
}

// memo is a value that is made anew when what it is made of has changed.
type memo[K comparable, V any] struct {
	key   K
	value V
	made  bool
}

func (m *memo[K, V]) of(key K, build func() V) *V {
	if !m.made || m.key != key {
		*m = memo[K, V]{key, build(), true}
	}
	return &m.value
}

// counted is the table of moves and its cells with most, most first; countKey is what it
// was made of.
type counted struct {
	table *model.MoveTable
	hot   []cellOf
}

type countKey struct {
	seq  uint64
	span int
	of   *division
}

type bookKey struct {
	seq  uint64
	span int
	cpu  cpuset.CPU
}

// behind is the tasks behind the cell under the cursor; cellKey is what it was made of.
type behind struct {
	tasks   []model.MoveTask
	unnamed uint32
	count   uint32
}

type cellKey struct {
	of   *model.MoveTable
	i, j int
}

// New returns the pane. Give it every model with Note.
func New(o Options) *View {
	v := &View{o: o, span: 1, level: auto, beside: -1, showing: map[bool]bookKey{}}
	v.tasks, v.cores, v.ledger, v.besides = v.newTasks(), v.newCores(), v.newLedger(), v.newLedger()
	v.movers, v.onCPU = v.newMovers(), v.newOnCPU()
	v.besides.Bare, v.movers.Bare, v.onCPU.Bare = true, true, true
	return v
}

// Open is called when the view is shown. A ledger begins anew: nothing was read
// for it while the view was hidden.
func (v *View) Open() tea.Cmd {
	v.forgetStays()
	return nil
}

func (v *View) forgetStays() {
	v.intervals.Reset()
	v.waited, v.booked.made, v.showing = 0, false, map[bool]bookKey{}
}

// Note takes in the newest model. Every one has to be given, shown or not, so
// that the last minute is there when the view is opened.
func (v *View) Note(m *model.Model) {
	v.m = m
	v.moves.Add(m)
	if m.Topology != v.topo {
		v.topo = m.Topology
		v.groups = [model.ByNode + 1]*division{}
	}
	v.ticks.Note(m.Elapsed)
	v.loadCores()
	if !v.wantsLedger() {
		v.forgetStays()
		return
	}
	v.intervals.Add(m)
	if !v.intervals.Have() {
		v.waited++
	}
}

func (v *View) wantsLedger() bool { return v.mode == ledgerMode || v.beside >= 0 }

// Needs adds what has to be read for what is shown now.
func (v *View) Needs(n *sample.Needs) {
	n.Ledger = n.Ledger || v.wantsLedger()
	if v.moves.Have() || v.intervals.Have() {
		n.Threads = true // their names
	}
}

// present is the mode that is shown: the list of CPUs where there is no map.
func (v *View) present() mode {
	if !v.ready() {
		return waitMode
	}
	if !v.moves.Have() && (v.mode == mapMode || v.mode == taskMode) {
		return coreMode
	}
	return v.mode
}

func (v *View) openLedger(cpu cpuset.CPU) {
	if v.mode != ledgerMode {
		v.back = v.mode
	}
	v.mode = ledgerMode
	v.look(cpu)
}

func (v *View) book(cpu cpuset.CPU) *model.Ledger {
	return v.booked.of(bookKey{v.m.Sample.Seq, v.span, cpu}, func() model.Ledger { return v.intervals.Ledger(spans[v.span], cpu) })
}

// grouped divides the machine at a level, once.
func (v *View) grouped(level model.MoveLevel) *division {
	if v.groups[level] == nil {
		v.groups[level] = divide(model.NewMoveGroups(v.topo, level))
	}
	return v.groups[level]
}

// count counts the moves at the shown level, once for each sample.
func (v *View) count() *counted {
	g := v.grouped(v.shown)
	return v.counted.of(countKey{v.m.Sample.Seq, v.span, g}, func() counted {
		t := v.moves.Table(spans[v.span], g.MoveGroups)
		return counted{t, busiest(t, mostHot, func(int, int) bool { return true })}
	})
}

func (v *View) table() *model.MoveTable { return v.count().table }

// cell is the place of the cursor in the groups.
func (v *View) cell(g *division) (i, j int) {
	return max(g.Index(v.from), 0), max(g.Index(v.to), 0)
}

// tasksBehind ranks the tasks of the cell under the cursor.
func (v *View) tasksBehind() *behind {
	t := v.table()
	i, j := v.cell(v.grouped(v.shown))
	return v.behind.of(cellKey{t, i, j}, func() behind {
		tasks, unnamed := v.moves.Tasks(spans[v.span], t.MoveGroups, i, j)
		v.tasks.Load(tasks, true)
		return behind{tasks, unnamed, t.Count(i, j)}
	})
}
