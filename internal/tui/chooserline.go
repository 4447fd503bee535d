package tui

import (
	"strings"

	"piton/internal/action"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/rows"
	"piton/internal/tui/widget"
)

// chooserLine stands in for the summary while CPUs are chosen: what for, which
// are under the cursor, and what the keys do.
func (m *Model) chooserLine(width int) string {
	th := m.th
	r := m.chosen(width)
	keys := [][]string{{"arrows", "CPU", "+", "wider", "Enter", "apply", "s", "one each", "Esc", "cancel"},
		{"arrows", "CPU", "+", "wider", "Enter", "apply", "Esc", "cancel"}, {"+", "wider", "Enter", "apply", "Esc", "cancel"},
		{"Enter", "apply", "Esc", "cancel"}}
	switch {
	case m.chooser.held == nil && m.deps.ReadOnly:
		keys = [][]string{{"Space", "ticks", "f", m.otherList(), "Esc", "back"}, {"Space", "ticks", "Esc", "back"}}
	case m.chooser.held == nil:
		keys = [][]string{{"Space", "ticks", "f", m.otherList(), "I", "isolates", "i", "includes", "Esc", "back"},
			{"Space", "ticks", "f", m.otherList(), "Esc", "back"}, {"Space", "ticks", "Esc", "back"}}
	}
	for _, pairs := range keys {
		if k := rows.Keys(th, pairs...); !m.chooser.drag && r.Width()+3+k.Width() < width {
			r.Add(th.Text, "   ")
			r = append(r, k...)
			break
		}
	}
	return widget.Fit(r.Render(th, width), width, th.Ellipsis)
}

// chosen is what is being placed, and where it would go.
func (m *Model) chosen(width int) rows.Row {
	th, c, at := m.th, &m.chooser, m.region()
	var r rows.Row
	r.Add(th.Text, " ")
	if c.drag && c.over.Empty() {
		r.Add(th.Strong, "placing "+c.held.subject)
		r.Add(th.Dim, ": over no CPU")
		return r
	}
	if c.held != nil && width >= narrowLine {
		r.Add(th.Strong, "placing "+c.held.subject)
		r.Add(th.Text, " "+th.Arrow+" ")
	}
	r.Add(th.Title, m.dropName(at))
	if c.held != nil && width < narrowLine { // where to matters more
		r.Add(th.Strong, " for "+c.held.subject)
	}
	if busy := busyWords(m.model, at.CPUs); busy != "" {
		r.Add(th.Dim, " "+busy)
	}
	if m.digits != "" {
		r.Add(th.Input, " "+m.digits)
	}
	return r
}

// narrowLine is the width below which a name and a place do not both fit.
const narrowLine = 40

// otherList is what the key that changes the list's meaning would show.
func (m *Model) otherList() string {
	if m.chooser.mayRun {
		return "only what is on them"
	}
	return "all that may run there"
}

// dropName names the CPUs that a drop would choose: those that are ticked for it,
// or what is under the cursor.
func (m *Model) dropName(at corepanel.Region) string {
	if h := m.chooser.held; h != nil && !h.on.Empty() {
		return "cpus " + h.on.String()
	}
	if cpus := at.CPUs.String(); !strings.HasSuffix(at.Name, " "+cpus) {
		return at.Name + " (" + cpus + ")"
	}
	return at.Name
}

// choosable reports whether CPUs can be chosen in a view.
func choosable(v action.Context) bool {
	return v == action.Processes || v == action.Cores || v == action.IRQs
}
