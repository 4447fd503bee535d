package tui

import (
	"fmt"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/tui/corepanel"
)

// chooser is the core panel while CPUs are chosen in it: for the list, or for
// what was grabbed.
type chooser struct {
	on   bool       // it has the keyboard
	cpu  cpuset.CPU // under the cursor
	wide int        // how many regions wider than that CPU the cursor is
	held *held      // what was grabbed; nil: CPUs are chosen for the list

	ticked cpuset.Set // that the list is filtered by
	mayRun bool       // it shows what may run on them, not only what is on them
	expr   string     // the filter's words for that
	pick   *corepanel.Pick

	pressed   *held      // what is under the mouse's button, and may be dragged
	pressedAt int        // on which line of the screen
	drag      bool       // it is being dragged
	over      cpuset.Set // the CPUs that the drag is over
}

// active reports whether CPUs are being chosen, by key or mouse.
func (c *chooser) active() bool { return c.on || c.drag }

// context is where keys are looked up.
func (m *Model) context() action.Context {
	if m.chooser.on {
		return action.Panel
	}
	if m.view == action.Processes && m.inThreads() {
		return action.Threads
	}
	return m.view
}

// focusPanel gives the keys to the core panel, or back to the view.
func (m *Model) focusPanel() tea.Cmd {
	if m.chooser.on {
		return m.leavePanel()
	}
	if m.model == nil {
		return nil
	}
	if row, ok := m.table.Selected(); ok && m.chooser.ticked.Empty() && row.Task().LastCPU >= 0 {
		m.pointAt(cpuset.CPU(row.Task().LastCPU))
	}
	return m.enterPanel()
}

func (m *Model) enterPanel() tea.Cmd {
	m.chooser.on, m.digits = true, ""
	if !m.deps.Topology.Online.Has(m.chooser.cpu) {
		m.pointAt(m.deps.Topology.Online.First())
	}
	return nil
}

// leavePanel gives the keys back to the view, and forgets what was grabbed.
// Ticks stay: they are a filter.
func (m *Model) leavePanel() tea.Cmd {
	held := m.chooser.held
	m.chooser.on, m.chooser.held, m.chooser.drag, m.chooser.pressed, m.digits = false, nil, false, nil, ""
	if held != nil {
		return m.say(info, held.subject+": nothing was changed")
	}
	return nil
}

// pointAt puts the cursor on one CPU.
func (m *Model) pointAt(cpu cpuset.CPU) { m.chooser.cpu, m.chooser.wide = cpu, 0 }

// region is what is under the panel's cursor.
func (m *Model) region() corepanel.Region {
	all := corepanel.Regions(m.deps.Topology, m.chooser.cpu)
	if len(all) == 0 {
		return corepanel.Region{}
	}
	return all[min(m.chooser.wide, len(all)-1)]
}

func (m *Model) widen(by int) {
	most := len(corepanel.Regions(m.deps.Topology, m.chooser.cpu)) - 1
	m.chooser.wide = max(0, min(m.chooser.wide+by, most))
}

// stepCPU moves the panel's cursor to what is beside it, as wide as it is.
func (m *Model) stepCPU(dx, dy int) {
	from := m.region().CPUs
	for at := m.chooser.cpu; ; {
		next := m.panel.Step(at, dx, dy)
		if next == at {
			return
		}
		m.chooser.cpu, at = next, next
		if !m.region().CPUs.Equal(from) {
			return
		}
	}
}

// edgeCPU puts the panel's cursor on the first or the last CPU.
func (m *Model) edgeCPU(last bool) {
	order := slices.Clone(m.deps.Topology.Order())
	if last {
		slices.Reverse(order)
	}
	if i := slices.IndexFunc(order, m.deps.Topology.Online.Has); i >= 0 {
		m.chooser.cpu = order[i]
	}
}

// typeCPU jumps to the CPU whose number the digits so far make.
func (m *Model) typeCPU(digit string) tea.Cmd {
	m.digits += digit
	if n, err := strconv.Atoi(m.digits); err != nil || !m.deps.Topology.Online.Has(cpuset.CPU(n)) {
		m.digits = digit // a new number
	}
	if n, err := strconv.Atoi(m.digits); err == nil && m.deps.Topology.Online.Has(cpuset.CPU(n)) {
		m.pointAt(cpuset.CPU(n))
	}
	return m.forgetDigits()
}

// picked is what the panel marks; nil when nothing is being chosen.
func (m *Model) picked() *corepanel.Pick {
	c := &m.chooser
	want := corepanel.Pick{Ticked: c.ticked}
	switch {
	case c.drag:
		want.At = c.over
	case c.on:
		want.At = m.region().CPUs
	}
	if c.held != nil {
		want.Ticked = c.held.on
	}
	switch {
	case want.At.Empty() && want.Ticked.Empty():
		c.pick = nil
	case c.pick == nil || !c.pick.At.Equal(want.At) || !c.pick.Ticked.Equal(want.Ticked):
		c.pick = &want
	}
	return c.pick
}

// busyWords is how busy some CPUs are; "" when that is not known.
func busyWords(now *model.Model, cpus cpuset.Set) string {
	sum, known := float32(0), 0
	for i := range now.CPUs {
		if c := &now.CPUs[i]; cpus.Has(c.ID) && model.Known(c.Busy) {
			sum += c.Busy
			known++
		}
	}
	if known == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%% busy", 100*sum/float32(known))
}
