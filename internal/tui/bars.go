package tui

import (
	"fmt"
	"strings"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// viewNames are the tabs' words.
var viewNames = map[action.Context]string{
	action.Processes: "Processes",
	action.Cores:     "Cores",
	action.IRQs:      "IRQs",
	action.Bench:     "Bench",
	action.Journal:   "Journal",
	action.Panel:     "the core panel (C)",
	action.Threads:   "the thread list (Enter, Enter)",
}

// tabs is the line that says which view this is and what limits the list.
func (m *Model) tabs(width int) string {
	th := m.th
	var left []byte
	for i, v := range action.Views {
		style, open, end := th.Dim, " ", " "
		if v == m.view {
			style, open, end = th.Title, "[", "]"
		}
		left = append(append(style.Open(append(left, ' ')), open...), byte('1'+i), ' ')
		left = style.Close(append(append(left, viewNames[v]...), end...))
	}
	right := ""
	if m.view == action.Processes {
		right = m.listState(width - widget.Width(string(left)) - 1)
	}
	return widget.Spread(string(left), right, width, th.Ellipsis)
}

// listState names everything that decides which rows are shown and how, as far as
// there is room: the order and the flags show in the list itself, tags and what
// hides rows may not.
func (m *Model) listState(room int) string {
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
	line := strings.Join(parts, "  ")
	for ; len(parts) > needed && widget.Width(line) >= room; line = strings.Join(parts, "  ") {
		parts = parts[:len(parts)-1]
	}
	return widget.Cut(line, room-1, th.Ellipsis) + " "
}

// summary is the line about the task under the cursor.
func (m *Model) summary(width int) string {
	th := m.th
	if m.chooser.active() {
		return m.chooserLine(width)
	}
	if m.view != action.Processes {
		return th.Dim.Render(widget.Fit(m.benchHint(), width, th.Ellipsis))
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

// whyEmpty says in words why no row is there.
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

// bounced says how much a task moves: "bounced 41/s over 4 CPUs".
func bounced(row field.Row, th *theme.Theme) string {
	rates, task := row.Rates(), row.Task()
	rests := rates.MigPerS < 0.05
	several := task.IsProcess() && task.Threads > 1 // CPUsSeen is of the first thread
	switch {
	case !model.Known(rates.MigPerS) || rests && rates.CPUsSeen < 2:
		return ""
	case rests:
		return fmt.Sprintf("on %d CPUs lately", rates.CPUsSeen)
	}
	text := fmt.Sprintf("bounces %s/s over %d CPUs", field.Cell("migrations_per_s", row), rates.CPUsSeen)
	if several || rates.CPUsSeen < 2 {
		text = fmt.Sprintf("migrates %s/s", field.Cell("migrations_per_s", row))
	}
	if across := acrossLLC(row); across != "" && !several {
		text += ", " + across
	}
	if rates.MigPerS >= 10 {
		return th.Warn.Render(text)
	}
	return text
}

// acrossLLC is the share of the seen moves that left the last-level cache.
func acrossLLC(row field.Row) string {
	moves, far := countMoves(row)
	if moves == 0 || far == 0 {
		return ""
	}
	return fmt.Sprintf("%d%% of seen moves across caches", far*100/moves)
}
