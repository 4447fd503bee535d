package coresview

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/sample"
)

// ready reports whether there is something to act on.
func (v *View) ready() bool { return v.m != nil && v.topo != nil }

// NextWindow changes how far back figures reach: 1 s, 10 s, 1 min.
func (v *View) NextWindow() { v.span = (v.span + 1) % len(spans) }

// Move, Page, Home, End and Wheel move the cursor of the map, or of the list that is shown.
func (v *View) Move(by int)  { v.list().Move(by) }
func (v *View) Page(by int)  { v.list().Page(by) }
func (v *View) Home()        { v.list().Home() }
func (v *View) End()         { v.list().End() }
func (v *View) Wheel(by int) { v.Move(cmp.Compare(by, 0)) } // a line a notch

// Click puts the cursor on the row on a line of the view, or sorts by a heading.
func (v *View) Click(x, y int) (row bool) { return v.list().Click(x, y-v.listAt) }

// Scroll moves the map's cursor by columns; in a ledger it goes to another CPU.
func (v *View) Scroll(by int) {
	switch v.present() {
	case mapMode:
		mapCursor{v}.move(0, by)
	case ledgerMode:
		v.stepCPU(by)
	}
}

// cursor is moved by keys and the mouse.
type cursor interface {
	Move(by int)
	Page(by int)
	Home()
	End()
	Click(x, y int) (row bool)
}

// mapCursor is that of the map, whose rows are the groups that tasks left.
type mapCursor struct{ v *View }

func (c mapCursor) Move(by int)         { c.move(by, 0) }
func (c mapCursor) Page(by int)         { c.move(by*max(c.v.page-1, 1), 0) }
func (c mapCursor) Home()               { c.move(-model.MostMoveGroups, -model.MostMoveGroups) }
func (c mapCursor) End()                { c.move(model.MostMoveGroups, model.MostMoveGroups) }
func (c mapCursor) Click(int, int) bool { return false }

func (c mapCursor) move(down, right int) {
	g := c.v.grouped(c.v.shown)
	i, j := c.v.cell(g)
	last := len(g.Groups) - 1
	c.v.hottest = 0
	c.v.put(g, min(max(i+down, 0), last), min(max(j+right, 0), last))
}

// list is what has the cursor now.
func (v *View) list() cursor {
	switch v.present() {
	case mapMode:
		return mapCursor{v}
	case taskMode:
		v.tasksBehind()
		return v.tasks
	case ledgerMode:
		v.showLedger(v.ledger, v.cpu)
		return v.ledger
	}
	return v.cores
}

// look chooses the CPU of the ledger and of the list of CPUs.
func (v *View) look(cpu cpuset.CPU) {
	v.cpu = cpu
	v.cores.Select(cpu)
	v.ledger.Restart()
}

// Enter opens what is under the cursor: the tasks behind a cell, the ledger of a
// CPU, a task among the processes.
func (v *View) Enter() tea.Cmd {
	switch v.present() {
	case mapMode:
		v.placed = true
		v.mode = taskMode
		v.tasksBehind()
		v.tasks.Home()
	case coreMode:
		v.OpenLedger()
	case taskMode:
		if len(v.tasksBehind().tasks) > 0 {
			return v.o.Jump(v.target(v.tasks.At()))
		}
	case ledgerMode:
		if e := v.selectedEntry(); e != nil && e.Kind == sample.RunOfTask {
			return v.o.Jump(v.target(e.TID))
		}
	}
	return nil
}

// Pin pins the task under the cursor of a ledger elsewhere; false where no ledger
// is open.
func (v *View) Pin() (used bool, cmd tea.Cmd) {
	if v.present() != ledgerMode {
		return false, nil
	}
	e := v.selectedEntry()
	if e == nil || e.Kind != sample.RunOfTask || v.o.Pin == nil || !v.advise(e).movable {
		return true, nil
	}
	return true, v.o.Pin(v.target(e.TID), v.others())
}

// Back closes what is open; false where nothing is.
func (v *View) Back() bool {
	switch v.present() {
	case taskMode:
		v.mode = mapMode
	case ledgerMode:
		v.mode = v.back
	case coreMode:
		if v.mode == mapMode || !v.moves.Have() {
			return false
		}
		v.mode = mapMode
	default:
		return false
	}
	return true
}

// ToggleList shows the list of CPUs instead of the map, or the map again.
func (v *View) ToggleList() {
	switch v.present() {
	case mapMode:
		g := v.grouped(v.shown)
		i, _ := v.cell(g)
		v.mode = coreMode
		v.look(g.Groups[i].CPU)
	case coreMode:
		v.Back()
	}
}

// OpenLedger shows what took the time of the CPU under the cursor; of a group of
// CPUs it shows the list first.
func (v *View) OpenLedger() {
	switch v.present() {
	case mapMode:
		g := v.grouped(v.shown)
		if i, _ := v.cell(g); g.Level == model.ByCPU {
			v.openLedger(g.Groups[i].CPU)
			return
		}
		v.ToggleList()
	case coreMode:
		v.openLedger(v.cores.At())
	}
}

func (v *View) put(g *division, i, j int) {
	v.from, v.to, v.placed = g.Groups[i].CPU, g.Groups[j].CPU, true
}

// Fold goes to the next coarser level that differs, from the coarsest to the
// finest; there the cursor is put on the busiest part of the cell it was on.
func (v *View) Fold() {
	if v.present() != mapMode {
		return
	}
	levels := v.levels()
	at := slices.Index(levels, v.shown)
	was := v.grouped(v.shown)
	i, j := v.cell(was)
	v.level = int(levels[(at+1)%len(levels)])
	v.shown = model.MoveLevel(v.level)
	if v.shown > was.Level {
		return
	}
	now := v.grouped(v.shown)
	inCell := func(a, b int) bool { return was.Index(now.Groups[a].CPU) == i && was.Index(now.Groups[b].CPU) == j }
	for _, c := range busiest(v.table(), 1, inCell) {
		v.put(now, c.i, c.j)
	}
}

// NextBusiest goes to the busiest cell, and on to the next ones when called again.
func (v *View) NextBusiest() {
	if v.present() != mapMode {
		return
	}
	if cells := v.count().hot; len(cells) > 0 {
		c := cells[v.hottest%len(cells)]
		v.hottest++
		v.put(v.grouped(v.shown), c.i, c.j)
	}
}

// stepCPU shows the ledger of the CPU that many places on.
func (v *View) stepCPU(by int) {
	cpus := v.online()
	i := slices.Index(cpus, v.cpu) + by
	v.look(cpus[(i+len(cpus))%len(cpus)])
}

func (v *View) online() []cpuset.CPU {
	return slices.DeleteFunc(slices.Clone(v.topo.Order()), func(id cpuset.CPU) bool { return !v.topo.Online.Has(id) })
}
