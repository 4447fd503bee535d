package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
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
	return tea.Batch(cmd, m.offer("Actions", func(v *verb) bool { return slices.Contains(v.In, m.view) && v.Needs == action.Selection }))
}

// toggleMouse gives the mouse to the terminal, which selects text with it, or takes it back.
func (m *Model) toggleMouse() tea.Cmd {
	m.mouseOff = !m.mouseOff
	if m.mouseOff {
		return m.say(info, "mouse off: the terminal selects text; m switches it on")
	}
	return m.say(info, "mouse on")
}

// clickTab opens the view whose tab is at the column.
func (m *Model) clickTab(x int) tea.Cmd {
	end := 0
	for i, v := range action.Views {
		end += len(viewNames[v]) + 5 // blank, bracket, digit, blank, name, bracket
		if x < end {
			return m.show(action.Views[i])
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
