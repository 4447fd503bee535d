package tui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/tui/coresview"
	"piton/internal/tui/dialog"
)

// reader reads the interrupts, or says that they are not read.
func (q IRQs) reader() func() (irq.Table, error) {
	if q.Read != nil {
		return q.Read
	}
	return func() (irq.Table, error) { return irq.Table{}, errors.New("interrupts are not read here") }
}

// askIRQFilter shows only matching interrupts while one types.
func (m *Model) askIRQFilter(now string) tea.Cmd {
	return m.dialogs.Push(dialog.NewPrompt("Filter", now, nil), func(o dialog.Outcome) tea.Cmd {
		text, _ := o.Value.(string)
		if o.Canceled {
			text = now
		}
		m.irqs.SetFilter(text)
		return nil
	})
}

// showHandler shows the task that handles the interrupt under the cursor.
func (m *Model) showHandler() tea.Cmd {
	used, cmd := m.irqs.ShowHandler()
	if !used {
		return m.say(info, "no thread handles this interrupt: its CPU does")
	}
	return cmd
}

// jumpToHandler shows the task that handles an interrupt among the processes.
func (m *Model) jumpToHandler(tid kernel.TID) tea.Cmd {
	return m.jump(coresview.Target{TID: tid, TGID: tid}) // a kernel thread is its own process
}
