package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
)

// askSetup opens the setup: delay, core panel, meters, columns.
func (m *Model) askSetup() tea.Cmd {
	now := dialog.Settings{Delay: m.deps.Interval, Panel: m.panelMode.String(), Meters: m.deps.Meters}
	for _, c := range m.deps.columns(m.width, nil) {
		now.Columns = append(now.Columns, c.ID)
	}
	panels := []string{corepanel.Full.String(), corepanel.Folded.String(), corepanel.Hidden.String()}
	return m.dialogs.Push(dialog.NewSetup(field.Columns, panels, now), dialog.Answered(m.apply))
}

// apply uses new settings at once and has them kept.
func (m *Model) apply(s dialog.Settings) tea.Cmd {
	if _, err := field.Select(s.Columns); err != nil {
		return m.say(bad, err.Error())
	}
	m.deps.Columns = s.Columns
	m.change(func(*proctable.View) {})
	if s.Delay != m.deps.Interval {
		m.deps.Interval = s.Delay
		m.deps.Sampler.SetInterval(s.Delay)
	}
	m.setPanel(s.Panel)
	m.deps.Meters = s.Meters
	return m.keep()
}

func (m *Model) setPanel(name string) {
	for mode := corepanel.Full; mode <= corepanel.Hidden; mode++ {
		if mode.String() == name {
			m.panelMode = mode
		}
	}
}

// keep writes the settings, beside the screen.
func (m *Model) keep() tea.Cmd {
	if m.deps.Settings == nil {
		return nil
	}
	v := m.table.View()
	s := Saved{Columns: m.deps.Columns, Interval: m.deps.Interval, Panel: m.panelMode.String(), Meters: m.deps.Meters}
	if v.Sort != nil {
		s.Sort = v.Sort.ID
	}
	store := m.deps.Settings
	return func() tea.Msg {
		if err := store.Save(s); err != nil {
			return saying(bad, "the settings are not kept: "+err.Error())
		}
		return saying(good, "settings kept")
	}
}
