package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/dialog"
)

// openPalette finds any verb by its name: those of the present view come first.
func (m *Model) openPalette() tea.Cmd {
	return m.offer("Find", func(v *verb) bool { return v.ID != "app.palette" })
}

// offer lets the user choose one of the verbs that are wanted; those that cannot be used
// here and now say why.
func (m *Model) offer(title string, wanted func(*verb) bool) tea.Cmd {
	var here, elsewhere []dialog.Choice
	for _, v := range m.verbs {
		c := dialog.Choice{ID: v.ID, Key: v.Label, Name: v.Short, Help: v.Help, Command: v.Verb, Off: v.Why(m.state())}
		switch {
		case !wanted(v):
		case v.Works(m.context()):
			here = append(here, c)
		default:
			c.Off = "a key of " + contextNames(v.In) + ": " + v.Help
			elsewhere = append(elsewhere, c)
		}
	}
	choices := append(here, elsewhere...)
	return m.dialogs.Push(dialog.NewPalette(title, choices), dialog.Answered(func(id string) tea.Cmd {
		v := m.verbs.byID(id)
		key := ""
		if len(v.Keys) > 0 {
			key = v.Keys[0]
		}
		return m.perform(v, key)
	}))
}
