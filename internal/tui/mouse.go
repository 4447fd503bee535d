package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/proctable"
	"piton/internal/tui/widget"
)

// wheelRows is how far a notch of the wheel scrolls.
const wheelRows = 3

// buttons are what the mouse does at a cell of the screen.
var buttons = map[tea.MouseButton]func(m *Model, x, y int) tea.Cmd{
	tea.MouseLeft:      (*Model).click,
	tea.MouseRight:     (*Model).openMenu,
	tea.MouseWheelUp:   func(m *Model, x, y int) tea.Cmd { return m.wheel(x, y, -1) },
	tea.MouseWheelDown: func(m *Model, x, y int) tea.Cmd { return m.wheel(x, y, 1) },
}

// mouse answers buttons and the wheel, unless a dialog is open.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	at := msg.Mouse()
	do := buttons[at.Button]
	if _, released := msg.(tea.MouseReleaseMsg); released {
		do = (*Model).release
	}
	switch {
	case !m.dialogs.Empty():
		m.chooser.pressed, m.chooser.drag = nil, false
	case do != nil:
		return do(m, at.X, at.Y)
	}
	return nil
}

// wheel turns the pages of the core panel where it has several, else scrolls the list that
// has the keys.
func (m *Model) wheel(x, y, by int) tea.Cmd {
	if m.areaAt(x, y).name == "panel" && m.chooser.panel.Page(by) {
		return nil
	}
	m.lister().Wheel(by * wheelRows)
	return m.procs.followThreads()
}

// area is a part of the frame that answers the mouse. click is told the cell within it.
type area struct {
	name                string
	x, y, width, height int
	click               func(x, y int) tea.Cmd
}

// areaAt is the area at a cell of the screen; without a name where there is none.
func (m *Model) areaAt(x, y int) area {
	for _, a := range m.areas {
		if x >= a.x && x < a.x+a.width && y >= a.y && y < a.y+a.height {
			return a
		}
	}
	return area{click: func(int, int) tea.Cmd { return nil }}
}

// answer makes areas of cells that stand beside each other from column x on.
func (m *Model) answer(name string, x, y int, cells []string, do func(i int) tea.Cmd) {
	for i, c := range cells {
		m.areas = append(m.areas, area{name, x, y, widget.Width(c), 1, func(int, int) tea.Cmd { return do(i) }})
		x += widget.Width(c)
	}
}

func (m *Model) click(x, y int) tea.Cmd {
	m.chooser.pressed, m.chooser.pressedAt = nil, y
	a := m.areaAt(x, y)
	return a.click(x-a.x, y-a.y)
}

func (m *Model) clickPage(x, y int) tea.Cmd {
	if m.page().Click(x, y) {
		m.press()
	}
	return nil
}

func (p *processView) clickDetail(x, y int) tea.Cmd {
	if p.detailed && p.detail.Click(x, y) {
		return p.noteDetail()
	}
	return nil
}

// openMenu offers what can be done with the row under the mouse: with the tagged rows
// when it is one of them.
func (m *Model) openMenu(x, y int) tea.Cmd {
	if name := m.areaAt(x, y).name; name != "list" && name != "detail" {
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

// press grabs the row under the mouse: of all tagged rows when it is one
// of them. Only a motion makes a drag of it.
func (m *Model) press() {
	id := map[action.Context]string{action.Processes: "tune.grab", action.IRQs: "irqs.grab"}[m.view]
	switch grab := m.verbs.byID(id); {
	case grab == nil || grab.Why(m.state()) != "":
	case m.view == action.IRQs:
		m.chooser.pressed = m.irqs.pressed()
	default:
		m.chooser.pressed = m.procs.selectedRows()
		if r, ok := m.procs.Process(); ok && m.procs.Tags() > 0 && !m.procs.Tagged(proctable.KeyOf(r.Task())) {
			m.chooser.pressed = m.changes.grabRow(r)
		}
	}
}

// dragTo moves what is grabbed to a cell of the screen, and reports whether that
// changes what is shown.
func (m *Model) dragTo(x, y int) bool {
	c := &m.chooser
	if c.pressed == nil || !c.drag && y == c.pressedAt {
		return false
	}
	var over cpuset.Set
	if a := m.areaAt(x, y); a.name == "panel" {
		over = m.chooser.panel.At(x, y-a.y)
	}
	changed := !c.drag || !over.Equal(c.over)
	c.drag, c.over, c.grabbed = true, over, c.pressed
	m.chooser.pointAtRegion(over)
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
	g, over := c.grabbed, c.over
	c.drag, c.grabbed, c.pressed, c.over = false, nil, nil, cpuset.Set{}
	if over.Empty() {
		return m.say(info, g.subject+": nothing was changed")
	}
	return g.drop(over)
}

// pointAtRegion puts the panel's cursor on what the panel shows as one.
func (c *chooser) pointAtRegion(cpus cpuset.Set) {
	if cpus.Empty() {
		return
	}
	c.pointAt(cpus.First())
	for i, r := range corepanel.Regions(c.deps.Topology, cpus.First()) {
		if r.CPUs.Equal(cpus) {
			c.wide = i
		}
	}
}

// clickPanel points at CPUs; when something is grabbed it drops it there.
func (m *Model) clickPanel(x, y int) tea.Cmd {
	cpus := m.chooser.panel.At(x, y)
	if cpus.Empty() || m.model == nil || !m.verbs.byID("panel.focus").Works(m.view) {
		return nil
	}
	m.chooser.pointAtRegion(cpus)
	if g := m.chooser.grabbed; g != nil {
		m.chooser.grabbed = nil
		return tea.Batch(m.chooser.leave(), g.drop(cpus))
	}
	return m.chooser.enter()
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
