package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/kernel"
	"piton/internal/tui/detail"
)

// Inspector reads what the detail pane shows beyond samples; detail.Inspector is
// the real one. It is called from commands, beside the screen.
type Inspector interface {
	Read(pid kernel.TID) detail.Reading
	Environ(pid kernel.TID) ([]string, error)
}

// inspected delivers a reading for the detail pane.
type inspected struct{ detail.Reading }

// environment delivers the environment of a process.
type environment struct {
	pid  kernel.TID
	vars []string
	err  error
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
	return func() tea.Msg { return inspected{in.Read(pid)} }
}

// takeReading accepts what was read, unless the cursor has moved on.
func (m *Model) takeReading(r detail.Reading) {
	if row, ok := m.table.Selected(); ok && m.detailed {
		m.detail.Take(r, row)
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
		return environment{pid, vars, err}
	}
}

func (m *Model) openEnvironment(e environment) tea.Cmd {
	switch {
	case e.err != nil:
		return m.say(bad, "the environment cannot be read: "+e.err.Error())
	case len(e.vars) == 0:
		return m.say(info, "this process has no environment")
	}
	return m.dialogs.Push(&textDialog{title: "Environment of " + itoa(e.pid), text: e.vars}, nil)
}
