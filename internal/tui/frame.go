package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/kernel"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/meters"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// The smallest window in which something can be shown.
const (
	leastWidth  = 16
	leastHeight = 4
)

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
	m.areas = m.areas[:0]
	if h >= 6 {
		lines = append(lines, m.header.Render(meters.Input{Model: m.model, Live: m.deps.Live.Live(), Meters: m.meters,
			Extra: m.headerExtra(), Width: w, Height: h, Theme: m.th})...)
	}
	cpus := m.chooser.panel.Render(corepanel.Input{Model: m.model, Topology: m.deps.Topology,
		Theme: m.th, Width: w, Height: h, Mode: m.panelShown(), Pick: m.chooser.picked()})
	m.areas = append(m.areas, area{"panel", 0, len(lines), w, len(cpus), m.clickPanel})
	lines = append(lines, cpus...)
	if h >= 8 {
		lines = append(lines, m.tabs(len(lines), w))
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
	return strings.Join(append(append(lines, own...), last...), "\n")
}

func (m *Model) headerExtra() string {
	for _, g := range m.changes.guards {
		if text := g.Words(); text != "" {
			return text
		}
	}
	if m.paused {
		return "paused, Z resumes"
	}
	if m.race.Running() && m.view != action.Race {
		return "a search is under way, R shows it"
	}
	return ""
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
		return []string{m.chooser.line(width)}
	case lines == 1:
		return []string{m.keyBar(width)}
	case len(notice) == 0:
		notice = []string{m.summary(width)}
	}
	return append(notice[:max(1, min(len(notice), most-1))], m.keyBar(width))
}

func (m *Model) body(at, width, height int) []string {
	m.procs.SetQuiet(m.chooser.on)
	m.irqs.SetQuiet(m.chooser.on)
	if height < 1 {
		return nil
	}
	list := height - m.procs.detailHeight(width, height)
	m.areas = append(m.areas, area{"list", 0, at, width, list, m.clickPage}, area{"detail", 1, at + list, width, height - list, m.procs.clickDetail})
	lines := strings.Split(m.page().Render(width, height, m.th), "\n")
	return lines[:min(len(lines), height)]
}

// panelShown is the panel's mode; the other parts of the screen have the room on
// small ones.
func (m *Model) panelShown() corepanel.Mode {
	choosing := m.chooser.active()
	switch {
	case choosing && m.chooser.mode == corepanel.Hidden:
		return corepanel.Full
	case choosing:
	case m.procs.detailed && m.height < 36 && m.view == action.Processes:
		return corepanel.Hidden
	case m.view == action.Journal || m.view != action.Processes && m.height < 36:
		return corepanel.Hidden
	}
	return m.chooser.mode
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

var viewNames = map[action.Context]string{
	action.Processes: "Processes",
	action.Cores:     "Cores",
	action.IRQs:      "IRQs",
	action.Bench:     "Bench",
	action.Journal:   "Journal",
	action.Race:      "the race (R)",
	action.Why:       "the Why pane (w)",
	action.Panel:     "the core panel (C)",
	action.Threads:   "the thread list (Enter, Enter)",
}

// tabs is the line that says which view this is and what limits the list.
func (m *Model) tabs(y, width int) string {
	th := m.th
	var views, layouts []string
	for i, v := range action.Views {
		views = append(views, " "+tab(th, th.Title, fmt.Sprintf("%d %s", i+1, viewNames[v]), v == m.view))
	}
	m.answer("view", 0, y, views, func(i int) tea.Cmd { return m.show(action.Views[i]) })
	left := strings.Join(views, "")
	if m.view != action.Processes {
		return widget.Cut(left, width, th.Ellipsis)
	}
	all, at := m.procs.layouts.All()
	for i, l := range all {
		layouts = append(layouts, tab(th, th.Accent, l.Name, i == at))
	}
	named, x := left+"  "+strings.Join(layouts, ""), widget.Width(left)
	right, fits := m.procs.listState(width-widget.Width(named)-1, "")
	if !fits {
		right, _ = m.procs.listState(width-x-1, m.procs.layouts.Present().Name)
		return widget.Spread(left, right, width, th.Ellipsis)
	}
	m.answer("layout", x+2, y, layouts, func(i int) tea.Cmd { return m.procs.chooseLayout(all[i].Name) })
	return widget.Spread(named, right, width, th.Ellipsis)
}

// tab is one of several names, in brackets and in a style if it is the present one.
func tab(th *theme.Theme, present theme.Style, name string, is bool) string {
	if is {
		return present.Render("[" + name + "]")
	}
	return th.Dim.Render(" " + name + " ")
}

// summary is the line about what is chosen, or the task under the cursor.
func (m *Model) summary(width int) string {
	if m.chooser.active() {
		return m.chooser.line(width)
	}
	if m.view != action.Processes {
		hint := "" // where the workload is, so that it can be found in the list and tuned by hand
		if pid := m.bench.PID(); pid != 0 {
			hint = fmt.Sprintf(" the workload is PID %d: 1 and /%d select it among the processes", pid, pid)
		}
		return m.th.Dim.Render(widget.Fit(hint, width, m.th.Ellipsis))
	}
	return m.procs.summary(width)
}
