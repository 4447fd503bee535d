package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/meters"
	"piton/internal/tui/proctable"
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
	m.table.SetQuiet(m.chooser.on)
	m.irqs.SetQuiet(m.chooser.on)
	if m.view != action.Processes {
		m.areas = append(m.areas, area{"list", 0, at, width, height, m.clickPage})
		return m.pageBody(width, height)
	}
	list := height
	if m.detailed {
		list = height - m.detailHeight(width, height)
	}
	m.areas = append(m.areas, area{"list", 0, at, width, list, m.clickList}, area{"detail", 1, at + list, width, height - list, m.clickDetail})
	lines := m.table.Render(width, min(list, height), m.th)
	if m.detailed && height > list {
		row, _ := m.table.Process()
		lines = append(lines, m.detail.Render(row, width, height-list, m.th)...)
	}
	return lines
}

// panelShown is the panel's mode; the other parts of the screen have the room on
// small ones.
func (m *Model) panelShown() corepanel.Mode {
	choosing := m.chooser.active()
	switch {
	case choosing && m.chooser.mode == corepanel.Hidden:
		return corepanel.Full
	case choosing:
	case m.detailed && m.height < 36 && m.view == action.Processes:
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
	all, at := m.layouts.All()
	for i, l := range all {
		layouts = append(layouts, tab(th, th.Accent, l.Name, i == at))
	}
	named, x := left+"  "+strings.Join(layouts, ""), widget.Width(left)
	right, fits := m.listState(width-widget.Width(named)-1, "")
	if !fits {
		right, _ = m.listState(width-x-1, m.layouts.Present().Name)
		return widget.Spread(left, right, width, th.Ellipsis)
	}
	m.answer("layout", x+2, y, layouts, func(i int) tea.Cmd { return m.chooseLayout(all[i].Name) })
	return widget.Spread(named, right, width, th.Ellipsis)
}

// tab is one of several names, in brackets and in a style if it is the present one.
func tab(th *theme.Theme, present theme.Style, name string, is bool) string {
	if is {
		return present.Render("[" + name + "]")
	}
	return th.Dim.Render(" " + name + " ")
}

// listState names everything that decides which rows are shown and how, as far as
// there is room: the order and the flags show in the list itself, tags and what
// hides rows may not. fits says whether all of it is there.
func (m *Model) listState(room int, layout string) (line string, fits bool) {
	th, v := m.th, m.table.View()
	var parts []string
	add := func(label, value string) {
		parts = append(parts, th.Dim.Render(label)+th.Accent.Render(value))
	}
	if n := m.table.Tags(); n > 0 {
		parts = append(parts, th.Tagged.Render(fmt.Sprintf("%s%d tagged", th.Tag, n)))
	}
	if v.User != "" {
		add("user ", field.Clean(v.User))
	}
	if v.Filter != nil {
		add("filter ", field.Clean(v.Filter.String()))
	}
	needed := len(parts)
	if layout != "" && layout != proctable.Main {
		add("layout ", layout)
	}
	for _, flag := range []struct {
		on   bool
		word string
	}{{v.Threads, "threads"}, {v.Kernel, "kernel"}, {v.Tree != proctable.Flat, v.Tree.String()}, {m.table.Following(), "follow"}} {
		if flag.on {
			add("", flag.word)
		}
	}
	mark := th.SortUp
	if v.Desc {
		mark = th.SortDown
	}
	if v.Sort != nil {
		add("sort ", v.Sort.Title+" "+mark)
	}
	line = strings.Join(parts, "  ")
	for fits = true; len(parts) > needed && widget.Width(line) >= room; line = strings.Join(parts, "  ") {
		parts, fits = parts[:len(parts)-1], false
	}
	return widget.Cut(line, room-1, th.Ellipsis) + " ", fits && widget.Width(line) < room
}

// summary is the line about the task under the cursor.
func (m *Model) summary(width int) string {
	th := m.th
	if m.chooser.active() {
		return m.chooser.line(width)
	}
	if m.view != action.Processes {
		hint := "" // where the workload is, so that it can be found in the list and tuned by hand
		if pid := m.bench.PID(); pid != 0 {
			hint = fmt.Sprintf(" the workload is PID %d: 1 and /%d select it among the processes", pid, pid)
		}
		return th.Dim.Render(widget.Fit(hint, width, th.Ellipsis))
	}
	row, ok := m.table.Selected()
	if !ok {
		return th.Dim.Render(widget.Fit(" "+m.whyEmpty(), width, th.Ellipsis))
	}
	row.ASCII = th.ASCII
	rule := th.Dim.Render(th.Horizontal)
	name := fmt.Sprintf("%d %s", row.Task().TID, field.Cell("command", row))
	if row.Sum() {
		name = m.table.GroupName(row)
	}
	name = widget.Cut(name, max(12, width/3), th.Ellipsis)
	line := rule + " " + th.Dim.Render(m.table.Position()) + " " + rule + " " + th.Title.Render(name) + " " + rule + " " + strings.Join(m.facts(row), th.Dim.Render(" "+th.Dot+" "))
	return widget.Fit(line, width, th.Ellipsis)
}

func (m *Model) whyEmpty() string {
	v := m.table.View()
	switch {
	case m.model == nil:
		return "reading the machine"
	case v.Filter != nil:
		why := v.Filter.WhyNone(m.table.Model())
		if why == "" {
			why = "the filter matches only tasks that are not listed here"
		}
		return why + "; Esc clears the filter"
	case v.User != "":
		return "no task of this user; u chooses another"
	}
	return "no tasks"
}

// facts are what the summary says of a task, most telling first.
func (m *Model) facts(row field.Row) []string {
	var facts []string
	task := row.Task()
	if pin := m.pinFact(); pin != "" {
		facts = append(facts, pin)
	}
	if moved := bounced(row, m.th); moved != "" {
		facts = append(facts, moved)
	}
	if row.Sum() {
		return append(facts, "CPU "+field.Cell("cpu_percent", row)+"%", "RSS "+field.Cell("rss_bytes", row),
			fmt.Sprintf("%d threads", task.Threads), field.Cell("cgroup", row))
	}
	facts = append(facts, fmt.Sprintf("start %s", field.Cell("start", row)), "RSS "+field.Cell("rss_bytes", row),
		fmt.Sprintf("nice %d", task.Nice), field.Cell("policy", row))
	if task.Threads > 1 {
		facts = append(facts, fmt.Sprintf("%d threads", task.Threads))
	}
	return facts
}

// bounced warns of a task that moves often: "bounces 41/s over 4 CPUs". Fewer moves are
// in its row, and would change this line at each tick.
func bounced(row field.Row, th *theme.Theme) string {
	rates, task := row.Rates(), row.Task()
	if !model.Known(rates.MigPerS) || rates.MigPerS < 10 {
		return ""
	}
	text := fmt.Sprintf("bounces %s/s", field.Cell("migrations_per_s", row))
	if rates.CPUsSeen > 1 && !(task.IsProcess() && task.Threads > 1) { // CPUsSeen is of the first thread
		text += fmt.Sprintf(" over %d CPUs", rates.CPUsSeen)
	}
	return th.Warn.Render(text)
}
