package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change"
)

// lookAtGuards reads the state of the guards that have not decided.
func (m *Model) lookAtGuards() tea.Cmd {
	read := m.deps.Guards
	if read == nil {
		return nil
	}
	return func() tea.Msg {
		now := read()
		return resume(func(m *Model) tea.Cmd { return m.takeGuards(now) })
	}
}

// guardsTick looks again, while there is an entry with a guard.
func (m *Model) guardsTick() tea.Cmd {
	if len(m.guards) == 0 && len(m.unkept) == 0 {
		return nil
	}
	return m.lookAtGuards()
}

// takeGuards shows them, and says at once when one cannot revert its entry any more.
func (m *Model) takeGuards(now []change.GuardState) tea.Cmd {
	before := m.guards
	m.guards = now
	m.journal.SetGuards(now)
	for _, g := range now {
		text := g.Words()
		if text != "" && !slices.ContainsFunc(before, func(b change.GuardState) bool { return b.Words() == text }) {
			return m.say(bad, text)
		}
	}
	return nil
}

// headerExtra is what the header says beside the machine's figures.
func (m *Model) headerExtra() string {
	for _, g := range m.guards {
		if text := g.Words(); text != "" {
			return text
		}
	}
	if m.paused {
		return "paused, Z goes on"
	}
	switch l := m.line; {
	case l.Every > 0 && l.Known:
		return fmt.Sprintf("slow line: every %g s", l.Every.Seconds())
	case l.Every > 0:
		return fmt.Sprintf("line speed unknown: every %g s", l.Every.Seconds())
	}
	return ""
}
