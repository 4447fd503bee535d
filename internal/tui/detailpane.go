package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/kernel"
	"piton/internal/taskfacts"
	"piton/internal/tui/detail"
	"piton/internal/tui/dialog"
)

// Inspector reads what the detail pane shows beyond samples; detail.Inspector is
// the real one. It is called from commands, beside the screen.
type Inspector interface {
	Read(pid kernel.TID) detail.Reading
	Facts(pid kernel.TID) taskfacts.Facts
	Environ(pid kernel.TID) ([]string, error)
}

// factReads paces the reading of files and sockets for the pane: one at a time,
// and no more than a twentieth of the time is spent on it.
type factReads struct {
	pid  kernel.TID // of the last one
	busy bool
	next time.Time // not before
}

// Bounds of the pause between two readings of the same process's facts.
const (
	factsShare = 20
	factsEvery = 3 * time.Second
)

// openDetail opens the pane about the task under the cursor; where it is open, it
// gives the keys to the thread list, or closes a pane about a single thread.
func (m *Model) openDetail() tea.Cmd {
	if m.detailed && m.detail.Focus() {
		return nil
	}
	return m.toggleDetail()
}

// toggleDetail opens or closes the pane.
func (m *Model) toggleDetail() tea.Cmd {
	m.detailed = !m.detailed
	m.detail.Leave()
	return m.noteDetail()
}

// leaveThreads gives the keys back to the process table.
func (m *Model) leaveThreads() tea.Cmd {
	m.detail.Leave()
	return m.noteDetail()
}

// inThreads reports whether the pane's thread list has the keys.
func (m *Model) inThreads() bool { return m.detailed && m.detail.Focused() }

// followThreads has the pane show the thread under the cursor of its list.
func (m *Model) followThreads() tea.Cmd {
	if m.inThreads() {
		return m.noteDetail()
	}
	return nil
}

// noteDetail gives the pane the selected row and has the rest read while it is
// on the screen.
func (m *Model) noteDetail() tea.Cmd {
	row, ok := m.table.Process()
	if !ok {
		return nil
	}
	m.detail.Note(row)
	if !m.detailed || m.view != action.Processes {
		return nil
	}
	pid, in := row.Task().TGID, m.deps.Inspect
	return tea.Batch(m.readFacts(pid), func() tea.Msg {
		reading := in.Read(pid)
		return resume(func(m *Model) tea.Cmd {
			if row, ok := m.table.Process(); ok && m.detailed {
				m.detail.Take(reading, row)
			}
			return nil
		})
	})
}

// readFacts reads files and sockets when they are shown and the last reading is
// old enough.
func (m *Model) readFacts(pid kernel.TID) tea.Cmd {
	r, now := &m.factReads, time.Now()
	if r.busy || !m.detail.WantsFacts() || pid == r.pid && now.Before(r.next) {
		return nil
	}
	r.pid, r.busy = pid, true
	in := m.deps.Inspect
	return func() tea.Msg {
		began := time.Now()
		facts := in.Facts(pid)
		took := time.Since(began)
		return resume(func(m *Model) tea.Cmd {
			m.factReads.busy = false
			m.factReads.next = time.Now().Add(max(factsEvery, factsShare*took))
			m.detail.TakeFacts(facts)
			return nil
		})
	}
}

// detailHeight is the open pane's share of the lines: what it has to show, and
// at most three fifths of them.
func (m *Model) detailHeight(width, height int) int {
	row, ok := m.table.Process()
	if !ok || height < 6 {
		return 0
	}
	return min(m.detail.Height(row, width), height*3/5)
}

func (m *Model) detailBody(width, height int) []string {
	row, ok := m.table.Process()
	if !ok {
		return nil
	}
	return m.detail.Render(row, width, height, m.th)
}

// showEnvironment reads the environment of the process under the cursor.
func (m *Model) showEnvironment() tea.Cmd {
	row, ok := m.table.Process()
	if !ok {
		return nil
	}
	pid, in := row.Task().TGID, m.deps.Inspect
	return func() tea.Msg {
		vars, err := in.Environ(pid)
		switch {
		case err != nil:
			return saying(bad, "environment of "+itoa(pid)+" not readable: "+err.Error())
		case len(vars) == 0:
			return saying(info, "process "+itoa(pid)+" has no environment")
		}
		return resume(func(m *Model) tea.Cmd { return m.dialogs.Push(dialog.NewText("Environment of "+itoa(pid), vars), nil) })
	}
}

// showFiles lists the open files of the process under the cursor.
func (m *Model) showFiles() tea.Cmd {
	row, ok := m.table.Process()
	if !ok {
		return nil
	}
	pid, in := row.Task().TGID, m.deps.Inspect
	return func() tea.Msg {
		lines := detail.FileLines(in.Facts(pid))
		return resume(func(m *Model) tea.Cmd {
			return m.dialogs.Push(dialog.NewText("Open files of "+itoa(pid), lines), nil)
		})
	}
}

// trace attaches strace to the process under the cursor, or to the thread that
// the pane's list has it on.
func (m *Model) trace() tea.Cmd {
	row, ok := m.table.Process()
	if !ok {
		return nil
	}
	task := row.Task()
	if m.deps.MadeUp {
		return m.say(info, "strace: the tasks of this machine are made up")
	}
	if int(task.TGID) == m.deps.PID { // its output would be traced in turn
		return m.say(bad, "strace of piton itself: not from within it")
	}
	tid, whole := task.TID, task.IsProcess()
	if m.inThreads() {
		tid, whole = m.detail.Trace(), false
	}
	return detail.Strace(tid, whole, func(failure string) tea.Msg {
		if failure == "" {
			return nil
		}
		return saying(bad, failure)
	})
}
