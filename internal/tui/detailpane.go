package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/kernel"
	"piton/internal/tui/detail"
	"piton/internal/tui/dialog"
)

// Inspector reads what the detail pane shows beyond samples; detail.Inspector is
// the real one. It is called from commands, beside the screen.
type Inspector interface {
	Read(pid kernel.TID) detail.Reading
	Environ(pid kernel.TID) ([]string, error)
}

// toggleDetail opens or closes the pane about the task under the cursor.
func (m *Model) toggleDetail() tea.Cmd {
	m.detailed = !m.detailed
	return m.noteDetail()
}

// noteDetail gives the pane the selected row and has the rest read while it is
// open.
func (m *Model) noteDetail() tea.Cmd {
	row, ok := m.table.Selected()
	if !ok {
		return nil
	}
	m.detail.Note(row)
	if !m.detailed {
		return nil
	}
	pid, in := row.Task().TGID, m.deps.Inspect
	return func() tea.Msg {
		reading := in.Read(pid)
		return resume(func(m *Model) tea.Cmd {
			if row, ok := m.table.Selected(); ok && m.detailed {
				m.detail.Take(reading, row)
			}
			return nil
		})
	}
}

// detailHeight is the open pane's share of the lines: what it has to show, and
// at most three fifths of them.
func (m *Model) detailHeight(width, height int) int {
	row, ok := m.table.Selected()
	if !ok || height < 6 {
		return 0
	}
	return min(m.detail.Height(row, width), height*3/5)
}

func (m *Model) detailBody(width, height int) []string {
	row, ok := m.table.Selected()
	if !ok {
		return nil
	}
	return m.detail.Render(row, width, height, m.th)
}

// showEnvironment reads the environment of the process under the cursor.
func (m *Model) showEnvironment() tea.Cmd {
	row, ok := m.table.Selected()
	if !ok {
		return nil
	}
	pid, in := row.Task().TGID, m.deps.Inspect
	return func() tea.Msg {
		vars, err := in.Environ(pid)
		switch {
		case err != nil:
			return saying(bad, "the environment cannot be read: "+err.Error())
		case len(vars) == 0:
			return saying(info, "this process has no environment")
		}
		return resume(func(m *Model) tea.Cmd { return m.dialogs.Push(dialog.NewText("Environment of "+itoa(pid), vars), nil) })
	}
}
