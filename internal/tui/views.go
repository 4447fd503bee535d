package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/tui/theme"
)

// page is a view other than the processes. It keeps its own state and gets its
// own messages.
type page interface {
	lister
	// Open is called each time the view is shown.
	Open() tea.Cmd
	Update(msg tea.Msg) tea.Cmd
	Render(width, height int, th *theme.Theme) string
}

// lister is what moves as one list: a view, the process table, the threads of the
// detail pane.
type lister interface {
	Move(by int)
	Page(by int)
	Home()
	End()
	Scroll(by int)
	Wheel(by int)
}

// clickable is a view with rows and headings under the mouse.
type clickable interface {
	Click(x, y int) (row bool)
}

// page is the present view's; nil for the processes.
func (m *Model) page() page { return m.pages[m.view] }

// lister is the list that has the keys.
func (m *Model) lister() lister {
	switch p := m.page(); {
	case p != nil:
		return p
	case m.inThreads():
		return m.detail
	}
	return m.table
}

// viewMessage gives every view the messages that only views know.
func (m *Model) viewMessage(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, v := range action.Views {
		if p := m.pages[v]; p != nil {
			cmds = append(cmds, p.Update(msg))
		}
	}
	return tea.Batch(cmds...)
}

// entered is called when a view is shown.
func (m *Model) entered() tea.Cmd {
	switch p := m.page(); {
	case p == nil:
		return nil
	case m.view == action.Journal:
		return tea.Batch(p.Open(), m.lookAtGuards())
	default:
		return p.Open()
	}
}

// pageBody draws a view other than the processes.
func (m *Model) pageBody(width, height int) []string {
	p := m.page()
	if p == nil || height < 1 {
		return nil
	}
	lines := strings.Split(p.Render(width, height, m.th), "\n")
	return lines[:min(len(lines), height)]
}

// journalChanged has the journal read again, if it is what is shown.
func (m *Model) journalChanged() tea.Cmd {
	if m.view == action.Journal {
		return m.entered()
	}
	return nil
}

func (m *Model) benchRunning() bool { return m.bench != nil && m.bench.Running() }

// benchHint says on the summary line where the workload is, so that it can be
// found in the list and tuned by hand.
func (m *Model) benchHint() string {
	if !m.benchRunning() || m.bench.PID() == 0 {
		return ""
	}
	return fmt.Sprintf(" the workload is PID %d: 1 and /%d select it among the processes", m.bench.PID(), m.bench.PID())
}
