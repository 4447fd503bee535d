package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/proctable"
)

// wheelRows is how far a notch of the wheel scrolls.
const wheelRows = 3

// mouse handles clicks on rows, CPUs and the key bar, drags, and the wheel.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	if !m.dialogs.Empty() {
		m.chooser.pressed, m.chooser.drag = nil, false
		return nil
	}
	at := msg.Mouse()
	switch msg.(type) {
	case tea.MouseWheelMsg:
		by := wheelRows
		switch at.Button {
		case tea.MouseWheelUp:
			by = -wheelRows
		case tea.MouseWheelDown:
		default:
			return nil
		}
		if m.onPanel(at.Y) && m.panel.Page(by/wheelRows) {
			return nil
		}
		return m.wheel(by)
	case tea.MouseClickMsg:
		switch at.Button {
		case tea.MouseLeft:
			return m.click(at.X, at.Y)
		case tea.MouseRight:
			return m.openMenu(at.X, at.Y)
		}
	case tea.MouseReleaseMsg:
		return m.release(at.X, at.Y)
	}
	return nil
}

// onPanel reports whether a line of the screen is one of the core panel.
func (m *Model) onPanel(y int) bool {
	return y >= m.areas.panel && y < m.areas.panel+m.areas.panelLines
}

func (m *Model) wheel(by int) tea.Cmd {
	m.lister().Wheel(by)
	return m.followThreads()
}

func (m *Model) click(x, y int) tea.Cmd {
	m.chooser.pressed = nil
	switch {
	case m.onPanel(y):
		return m.clickPanel(x, y)
	case y == m.areas.keyBar:
		if s := m.barAt(x, m.width); s != nil {
			m.clearNotice()
			return m.perform(s, s.Keys[0])
		}
	case y == m.areas.tabs:
		return m.clickTab(x)
	case m.view == action.Processes && y == m.areas.list:
		return m.clickHeading(x)
	case m.view == action.Processes && y > m.areas.list && y <= m.areas.list+m.areas.rows:
		if m.table.Click(x, y-m.areas.list) {
			return m.press(y)
		}
	case m.view == action.Processes && m.detailed && m.detail.Click(x-1, y-m.areas.list-m.areas.rows-1):
		return m.noteDetail()
	case y >= m.areas.list:
		if l, ok := m.page().(clickable); ok && l.Click(x, y-m.areas.list) && m.view == action.IRQs {
			return m.press(y)
		}
	}
	return nil
}

// openMenu offers what can be done with the row under the mouse: with the tagged rows
// when it is one of them.
func (m *Model) openMenu(x, y int) tea.Cmd {
	if y <= m.areas.tabs || y == m.areas.keyBar {
		return nil
	}
	cmd := m.click(x, y)
	m.chooser.pressed = nil
	return tea.Batch(cmd, m.offer("Actions", "", func(v *verb) bool { return slices.Contains(v.In, m.view) && v.Needs == action.Selection }))
}

// toggleMouse leaves the mouse to the terminal, which selects text with it, or uses it again.
func (m *Model) toggleMouse() tea.Cmd {
	m.mouseOff = !m.mouseOff
	if m.mouseOff {
		return m.say(info, "mouse off: the terminal selects text; m switches it on")
	}
	return m.say(info, "mouse on")
}

// clickTab opens the view whose tab is at the column, or goes to the layout whose name is.
func (m *Model) clickTab(x int) tea.Cmd {
	end := 0
	for i, v := range action.Views {
		end += len(viewNames[v]) + 5 // blank, bracket, digit, blank, name, bracket
		if x < end {
			return m.show(action.Views[i])
		}
	}
	if end = m.areas.layouts + 2; m.view != action.Processes || end == 2 || x < end {
		return nil
	}
	all, _ := m.layouts.All()
	for _, l := range all {
		if end += len(l.Name) + 2; x < end {
			return m.chooseLayout(l.Name)
		}
	}
	return nil
}

// clickHeading sorts by the column whose title was clicked; a second click
// inverts the order.
func (m *Model) clickHeading(x int) tea.Cmd {
	if c := m.table.ColumnAt(x); c != nil {
		m.sortBy(c)
	}
	return nil
}

// press takes hold of the row under the mouse: of all tagged rows when it is one
// of them. Only a motion makes a drag of it.
func (m *Model) press(row int) tea.Cmd {
	id := "tune.grab"
	if m.view == action.IRQs {
		id = "irqs.grab"
	}
	switch grab := m.verbs.byID(id); {
	case grab == nil || grab.Why(m.state()) != "":
	case m.view == action.IRQs:
		m.chooser.pressed = m.draggedIRQs()
	default:
		m.chooser.pressed = m.grabbed()
		if r, ok := m.table.Process(); ok && m.table.Tags() > 0 && !m.table.Tagged(proctable.KeyOf(r.Task())) {
			m.chooser.pressed = m.heldRow(r)
		}
	}
	m.chooser.pressedAt = row
	return nil
}

// dragTo moves what is held to a cell of the screen, and reports whether that
// changes what is shown.
func (m *Model) dragTo(x, y int) bool {
	c := &m.chooser
	if c.pressed == nil || !c.drag && y == c.pressedAt {
		return false
	}
	over := m.panel.At(x, y-m.areas.panel)
	changed := !c.drag || !over.Equal(c.over)
	c.drag, c.over, c.held = true, over, c.pressed
	m.pointAtRegion(over)
	return changed
}

// release ends a drag: on CPUs it drops, elsewhere it cancels.
func (m *Model) release(x, y int) tea.Cmd {
	c := &m.chooser
	if !c.drag {
		c.pressed = nil
		return nil
	}
	m.dragTo(x, y)
	held, over := c.held, c.over
	c.drag, c.held, c.pressed, c.over = false, nil, nil, cpuset.Set{}
	if over.Empty() {
		return m.say(info, held.subject+": nothing was changed")
	}
	return held.drop(over)
}

// pointAtRegion puts the panel's cursor on what the panel shows as one.
func (m *Model) pointAtRegion(cpus cpuset.Set) {
	if cpus.Empty() {
		return
	}
	m.pointAt(cpus.First())
	for i, r := range corepanel.Regions(m.deps.Topology, cpus.First()) {
		if r.CPUs.Equal(cpus) {
			m.chooser.wide = i
		}
	}
}

// clickPanel points at CPUs; with something in hand it drops it there.
func (m *Model) clickPanel(x, y int) tea.Cmd {
	cpus := m.panel.At(x, y-m.areas.panel)
	if cpus.Empty() || m.model == nil || !choosable(m.view) {
		return nil
	}
	m.pointAtRegion(cpus)
	if held := m.chooser.held; held != nil {
		m.chooser.held = nil
		return tea.Batch(m.leavePanel(), held.drop(cpus))
	}
	return m.enterPanel()
}

// motionEvery is the least time between two messages of the wheel, or of a drag,
// that are let through.
const motionEvery = 15 * time.Millisecond

// MouseFilter thins what the mouse sends: View runs after every message, and
// motion means nothing but with a button down.
func MouseFilter() func(tea.Model, tea.Msg) tea.Msg {
	var wheel, motion time.Time
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		switch msg := msg.(type) {
		case tea.MouseMotionMsg:
			if msg.Button != tea.MouseLeft || tooSoon(&motion) {
				return nil
			}
		case tea.MouseWheelMsg:
			if tooSoon(&wheel) {
				return nil
			}
		}
		return msg
	}
}

func tooSoon(last *time.Time) bool {
	now := time.Now()
	if now.Sub(*last) < motionEvery {
		return true
	}
	*last = now
	return false
}
