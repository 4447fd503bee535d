package tui

import (
	"fmt"
	"strings"

	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// summary is the line about the task under the cursor.
func (p *processView) summary(width int) string {
	th := p.th
	row, ok := p.Selected()
	if !ok {
		return th.Dim.Render(widget.Fit(" "+p.whyEmpty(), width, th.Ellipsis))
	}
	row.ASCII = th.ASCII
	rule := th.Dim.Render(th.Horizontal)
	name := fmt.Sprintf("%d %s", row.Task().TID, field.Cell("command", row))
	if row.Sum() {
		name = p.GroupName(row)
	}
	name = widget.Cut(name, max(12, width/3), th.Ellipsis)
	line := rule + " " + th.Dim.Render(p.Position()) + " " + rule + " " + th.Title.Render(name) + " " + rule + " " + strings.Join(p.facts(row), th.Dim.Render(" "+th.Dot+" "))
	return widget.Fit(line, width, th.Ellipsis)
}

// listState names everything that decides which rows are shown and how, as far as
// there is room: the order and the flags show in the list itself, tags and what
// hides rows may not. fits says whether all of it is there.
func (p *processView) listState(room int, layout string) (line string, fits bool) {
	th, v := p.th, p.View()
	var parts []string
	add := func(label, value string) {
		parts = append(parts, th.Dim.Render(label)+th.Accent.Render(value))
	}
	if n := p.Tags(); n > 0 {
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
	}{{v.Threads, "threads"}, {v.Kernel, "kernel"}, {v.Tree != proctable.Flat, v.Tree.String()}, {p.Following(), "follow"}} {
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

func (p *processView) whyEmpty() string {
	v := p.View()
	switch {
	case p.model == nil:
		return "reading the machine"
	case v.Filter != nil:
		why := v.Filter.WhyNone(p.Model())
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
func (p *processView) facts(row field.Row) []string {
	var facts []string
	task := row.Task()
	if pin := p.pinFact(); pin != "" {
		facts = append(facts, pin)
	}
	if moved := bounced(row, p.th); moved != "" {
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
