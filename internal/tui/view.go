package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/kernel"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/meters"
	"piton/internal/tui/widget"
)

// The smallest window in which something can be shown.
const (
	leastWidth  = 16
	leastHeight = 4
)

// areas says where the parts of the frame are, for the mouse and for scrolling.
type areas struct {
	panel, panelLines int // first line of the core panel, and how many it has

	tabs   int // line of the tabs, -1 when there are none
	list   int // first line of the list, its heading
	rows   int // lines of the list below the heading
	keyBar int // line of the key bar, -1 when there is none
}

// View draws the frame, or returns the last one when nothing happened since.
func (m *Model) View() tea.View {
	if m.dirty {
		m.frame = m.draw()
		m.dirty = false
	}
	v := tea.NewView(m.frame)
	v.AltScreen = true
	if !m.mouseOff {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle = "piton"
	v.Cursor = m.dialogs.Cursor()
	return v
}

func (m *Model) draw() string {
	if m.width <= 0 || m.height <= 0 {
		return ""
	}
	base := m.base()
	if m.dialogs.Empty() {
		return base
	}
	return m.dialogs.Overlay(base, m.width, m.height, m.th)
}

// base is the frame without dialogs: exactly m.height lines.
func (m *Model) base() string {
	if m.width < leastWidth || m.height < leastHeight {
		return tooSmall(m.width, m.height, m.th.Ellipsis)
	}
	var lines []string
	w, h := m.width, m.height
	m.areas = areas{tabs: -1, keyBar: -1}
	if h >= 6 {
		lines = append(lines, m.header.Render(meters.Input{Model: m.model, Live: m.deps.Live.Live(), Meters: m.deps.Meters,
			Extra: m.headerExtra(), Width: w, Height: h, Theme: m.th})...)
	}
	cpus := m.panel.Render(corepanel.Input{Model: m.model, Topology: m.deps.Topology,
		Theme: m.th, Width: w, Height: h, Mode: m.panelShown(), Pick: m.picked()})
	m.areas.panel, m.areas.panelLines = len(lines), len(cpus)
	lines = append(lines, cpus...)
	if h >= 8 {
		m.areas.tabs = len(lines)
		lines = append(lines, m.tabs(w))
	}
	foot := 1
	if h >= 7 {
		foot = 2
	}
	last := m.foot(w, foot, h-len(lines)-leastBody)
	own := m.cost.Lines(m.newest, kernel.TID(m.deps.PID), w, max(h-len(lines)-len(last)-leastHeight, 0), m.th)
	body := h - len(lines) - len(last) - len(own)
	lines = append(lines, m.body(len(lines), w, body)...)
	for len(lines) < h-len(last)-len(own) {
		lines = append(lines, "")
	}
	m.areas.keyBar = h - 1
	return strings.Join(append(append(lines, own...), last...), "\n")
}

// leastBody is the lines of a list that a message leaves.
const leastBody = 3

// foot is the last lines: what is selected, or the message in its place, and the key bar.
// Where there is one line for it all, a message or what is being placed matters more than
// the keys. A message takes most lines at most, and never covers the list.
func (m *Model) foot(width, lines, most int) []string {
	notice := m.notice.lines(width, m.th)
	switch {
	case lines == 1 && len(notice) > 0:
		return notice[:1]
	case lines == 1 && m.chooser.active():
		return []string{m.chooserLine(width)}
	case lines == 1:
		return []string{m.keyBar(width)}
	case len(notice) == 0:
		notice = []string{m.summary(width)}
	}
	return append(notice[:max(1, min(len(notice), most-1))], m.keyBar(width))
}

// body is the view's own part of the frame.
func (m *Model) body(at, width, height int) []string {
	m.table.SetQuiet(m.chooser.on)
	m.irqs.SetQuiet(m.chooser.on)
	if m.view != action.Processes {
		m.areas.list = at
		return m.pageBody(width, height)
	}
	list := height
	if m.detailed {
		list = height - m.detailHeight(width, height)
	}
	m.areas.list, m.areas.rows = at, list-1
	lines := m.table.Render(width, min(list, height), m.th)
	if m.detailed && height > list {
		lines = append(lines, m.detailBody(width, height-list)...)
	}
	return lines
}

// panelShown is the panel's mode; the other parts of the screen have the room on
// small ones.
func (m *Model) panelShown() corepanel.Mode {
	choosing := m.chooser.active()
	switch {
	case choosing && m.panelMode == corepanel.Hidden:
		return corepanel.Full
	case choosing:
	case m.detailed && m.height < 36 && m.view == action.Processes:
		return corepanel.Hidden
	case m.view == action.Journal || m.view != action.Processes && m.height < 36:
		return corepanel.Hidden
	}
	return m.panelMode
}

func tooSmall(width, height int, ellipsis string) string {
	lines := make([]string, height)
	for i, word := range []string{"too small", "for piton"} {
		if i < height {
			lines[i] = widget.Fit(word, width, ellipsis)
		}
	}
	return strings.Join(lines, "\n")
}
