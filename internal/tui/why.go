package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
)

// showWhy opens the pane that says why the tagged processes wait, or the selected one; threads by
// themselves where only such are meant, or the thread list has the keys.
func (m *Model) showWhy() tea.Cmd {
	targets, subject := m.procs.targets()
	if m.procs.inThreads() {
		targets, subject = targetsOf(m.procs.detail.Targets())
	} else if slices.ContainsFunc(targets, func(t change.Target) bool { return t.Scope != change.ScopeThread }) {
		targets, subject = m.procs.processes()
	}
	m.why.Choose(targets, subject)
	return m.show(action.Why)
}

// applyRemedy asks for what the selected row's command does. What is about others than those who
// wait shows its plan first.
func (m *Model) applyRemedy() tea.Cmd {
	r, command, none := m.why.Remedy()
	if none != "" {
		return m.say(info, none)
	}
	now, lines, changes := m.newest, m.deps.IRQs.Read, &m.changes
	return func() tea.Msg {
		q, err := r.Request(now, lines)
		return func() tea.Cmd {
			if err != nil {
				return changes.say(bad, q.What+": "+err.Error())
			}
			return changes.begin(request{Request: q, whole: !r.Own, shown: command})
		}
	}
}
