package tui

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
)

// quitTime is how long the end of the program waits for a change under way.
const quitTime = 5 * time.Second

// finished delivers what became of a change, for which the end of the program waits.
type finished struct{ msg tea.Msg }

// beside runs a change beside the screen, one at a time. None begins once the program
// has ended.
func (m *Model) beside(do func() tea.Msg) tea.Cmd {
	m.busy++
	return func() tea.Msg {
		m.gate <- struct{}{}
		defer func() { <-m.gate }()
		return finished{do()}
	}
}

func (m *Model) takeFinished(f finished) tea.Cmd {
	m.busy--
	cmd := m.tuned(f.msg)
	if m.quitting && m.busy == 0 {
		return tea.Quit
	}
	return cmd
}

// quit ends the program once no change is under way.
func (m *Model) quit() tea.Cmd {
	if m.busy == 0 {
		return tea.Quit
	}
	m.quitting = true
	return tea.Batch(m.say(info, "finishing the change"+m.th.Ellipsis), tea.Tick(quitTime, func(time.Time) tea.Msg { return tea.Quit() }))
}

// finish waits for the change under way when the screen is gone, by q or by a signal.
func (m *Model) finish() error {
	most := quitTime
	if m.quitting { // that long has been waited
		most = time.Millisecond
	}
	select {
	case m.gate <- struct{}{}:
		return nil
	case <-time.After(most):
		return errors.New("a change was still under way at the end; piton journal shows what became of it")
	}
}
