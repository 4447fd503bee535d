package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/tui/proctable"
)

// change alters what the list shows.
func (m *Model) change(f func(*proctable.View)) tea.Cmd {
	v := m.table.View()
	f(&v)
	v.Columns = m.deps.columns(m.width, v.Sort)
	m.keepTicks(v.Filter)
	m.table.SetView(v)
	return nil
}

// toggleThreads needs a new sample before threads can be shown.
func (m *Model) toggleThreads() tea.Cmd {
	m.deps.Threads = !m.deps.Threads
	m.change(func(v *proctable.View) {
		v.Threads = m.deps.Threads
	})
	m.askFor()
	m.deps.Sampler.Refresh()
	return nil
}

func (m *Model) togglePause() tea.Cmd {
	m.paused = !m.paused
	if !m.paused {
		m.deps.Sampler.Refresh()
	}
	return nil
}

func (m *Model) cyclePanel() tea.Cmd {
	m.panelMode = m.panelMode.Next()
	return m.say(info, "core panel "+m.panelMode.String())
}

func (m *Model) sortBy(c *field.Column) tea.Cmd {
	return m.change(func(v *proctable.View) {
		if v.Sort == c {
			v.Desc = !v.Desc
			return
		}
		v.Sort, v.Desc = c, c.Desc
	})
}

// sortByID sorts in the column's usual direction.
func (m *Model) sortByID(id string) tea.Cmd {
	c, ok := field.Lookup(id)
	if !ok {
		return nil
	}
	return m.change(func(v *proctable.View) { v.Sort, v.Desc = c, c.Desc })
}

// toggleColumn shows a column before the command, or hides it.
func (m *Model) toggleColumn(id string) tea.Cmd {
	var ids []string
	for _, c := range m.deps.columns(m.width, nil) {
		ids = append(ids, c.ID)
	}
	if i := slices.Index(ids, id); i >= 0 {
		ids = slices.Delete(ids, i, i+1)
	} else if last := len(ids) - 1; last >= 0 && ids[last] == "command" {
		ids = slices.Insert(ids, last, id)
	} else {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return m.say(bad, "the last column stays")
	}
	m.deps.Columns = ids
	return tea.Batch(m.change(func(*proctable.View) {}), m.keep())
}

func (m *Model) tagChildren() tea.Cmd {
	n := m.table.TagTree()
	return m.say(info, fmt.Sprintf("tagged %d with its descendants", n))
}

func (m *Model) tagAll() tea.Cmd {
	return m.say(info, fmt.Sprintf("%d tagged; U takes the tags away", m.table.TagAll()))
}

// show opens a view.
func (m *Model) show(v action.Context) tea.Cmd {
	left := m.leavePanel()
	m.view = v
	m.digits = ""
	return tea.Batch(left, m.entered())
}

// turn goes to the next view, or back.
func (m *Model) turn(by int) tea.Cmd {
	n := len(action.Views)
	return m.show(action.Views[(slices.Index(action.Views, m.view)+by+n)%n])
}

// back closes what is open: the core panel's cursor, the detail pane's, the pane, then the filter, the user, the
// tags' search; in another view it goes back to the processes.
func (m *Model) back() tea.Cmd {
	v := m.table.View()
	switch {
	case m.chooser.on:
		return m.leavePanel()
	case m.page() != nil:
		return m.backFromPage()
	case m.inThreads():
		return m.leaveThreads()
	case m.detailed:
		return m.toggleDetail()
	case v.Filter != nil || v.User != "":
		return m.change(func(v *proctable.View) { v.Filter, v.User = nil, "" })
	}
	m.search = ""
	return nil
}

// backFromPage closes what is open in a view, or goes back to the processes.
func (m *Model) backFromPage() tea.Cmd {
	used, cmd := false, tea.Cmd(nil)
	switch m.view {
	case action.Cores:
		used = m.cores.Back()
	case action.IRQs:
		used, cmd = m.irqs.Back()
	case action.Bench:
		used = m.bench.Back()
	}
	if used {
		return cmd
	}
	return m.show(action.Processes)
}
