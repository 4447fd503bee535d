package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/proctable"
)

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
