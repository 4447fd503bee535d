package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
)

// stepping is the steps of nice under way. One is made at a time, because the
// next starts from what the kernel says then.
type stepping struct {
	busy bool    // one is under way
	done bool    // it has been made; the next sample shows it
	more []steps // asked for meanwhile
}

// steps are presses of the keys that meant the same rows.
type steps struct {
	targets []change.Target
	subject string
	by      int
}

// stepNice changes the nice value by one. Further presses on the same rows add
// up while the change is under way.
func (m *Model) stepNice(by int) tea.Cmd {
	targets, subject := m.targets()
	more := m.nice.more
	if last := len(more) - 1; last >= 0 && slices.Equal(more[last].targets, targets) {
		more[last].by += by
		return nil
	}
	m.nice.more = append(more, steps{targets, subject, by})
	if m.nice.busy {
		return nil
	}
	return m.stepNiceOn()
}

// stepNiceOn goes on with the presses that came meanwhile.
func (m *Model) stepNiceOn() tea.Cmd {
	m.nice.busy, m.nice.done = false, false
	for len(m.nice.more) > 0 {
		next := m.nice.more[0]
		m.nice.more = m.nice.more[1:]
		if next.by != 0 {
			m.nice.busy = true
			return m.begin(stepWish{tune("nice", next.subject, next.targets, action.Tuning{NiceBy: next.by})})
		}
	}
	return nil
}

// over is called when a wish has ended and changed nothing: no sample has to be
// waited for.
func (m *Model) over(w wish) tea.Cmd {
	if _, isStep := w.(stepWish); isStep {
		return m.stepNiceOn()
	}
	return nil
}
