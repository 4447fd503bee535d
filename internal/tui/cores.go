package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/coresview"
	"piton/internal/tui/proctable"
)

// jump shows a task of another view among the processes: its process where
// threads have no rows. What hides it there is reset.
func (m *Model) jump(t coresview.Target) tea.Cmd {
	m.paused, m.model = false, m.newest // an older list may not have the task
	m.table.Load(m.model)
	cmd := m.show(action.Processes)
	tid := t.TID
	if !m.table.View().Threads && t.TGID != 0 {
		tid = t.TGID
	}
	if m.table.Select(tid) {
		return cmd
	}
	task := m.cores.Task(tid)
	if task == nil {
		return tea.Batch(cmd, m.say(bad, fmt.Sprintf("task %d has ended", t.TID)))
	}
	m.change(func(v *proctable.View) {
		v.Filter, v.User = nil, ""
		v.Kernel = v.Kernel || task.Flags&sample.FlagKernelThread != 0
	})
	if !m.table.Select(tid) { // below a folded branch
		m.change(func(v *proctable.View) { v.Tree = proctable.Flat })
		m.table.Select(tid)
	}
	return cmd
}

// pinFromLedger pins the task under the ledger's cursor.
func (m *Model) pinFromLedger() tea.Cmd {
	used, cmd := m.cores.Pin()
	if !used {
		return m.say(info, "p pins a task of a CPU's ledger: l opens one")
	}
	return cmd
}

// pinner pins one thread from the cores view; nil where nothing may be changed.
func (m *Model) pinner() func(coresview.Target, cpuset.Set) tea.Cmd {
	if m.deps.ReadOnly {
		return nil
	}
	return func(t coresview.Target, among cpuset.Set) tea.Cmd {
		name := "task"
		if task := m.cores.Task(t.TID); task != nil && task.ID != nil {
			name = field.Clean(task.ID.Comm)
		}
		return m.begin(tune("pin", fmt.Sprintf("%s (%d)", name, t.TID),
			[]change.Target{{TID: t.TID, StartTicks: t.StartTicks, Scope: change.ScopeThread}},
			action.Tuning{Strategy: place.LeastLoaded, Within: among}))
	}
}
