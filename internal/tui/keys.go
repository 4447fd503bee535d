package tui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/tui/keymap"
)

// key gives a key to the dialog that is open, or finds the verb that it means
// in this view. Any key takes the message away.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	through, declined := m.dialogs.Lets(k)
	if !m.dialogs.Empty() && !through {
		return m.dialogs.Update(k)
	}
	return tea.Batch(declined, m.verbKey(k))
}

// verbKey is key where no dialog takes it.
func (m *Model) verbKey(k tea.KeyPressMsg) tea.Cmd {
	m.clearNotice()
	name := k.String()
	v := m.verbs.forKey(name, m.context())
	if v == nil || v.ID != "panel.number" {
		m.digits = ""
	}
	if v == nil && m.deps.ReadOnly {
		v = table.forKey(name, m.context()) // says that it is not to be had
	}
	if v != nil {
		return m.perform(v, name)
	}
	return m.say(info, m.hint(name))
}

// perform does what a verb says, or tells why it cannot be done.
func (m *Model) perform(v *verb, key string) tea.Cmd {
	if why := v.Why(m.state()); why != "" {
		return m.say(bad, why)
	}
	return v.run(m, key)
}

// hint is what is said of a key that means nothing here.
func (m *Model) hint(key string) string {
	if how, ok := action.HtopHint(key); ok && m.context() == action.Processes {
		return fmt.Sprintf("%s is not a key here; %s", keymap.Label([]string{key}), how)
	}
	for _, v := range m.verbs {
		if slices.Contains(v.Keys, key) {
			return fmt.Sprintf("%s is a key of %s: %s", keymap.Label([]string{key}), contextNames(v.In), v.Help)
		}
	}
	return fmt.Sprintf("%s is not a key here; ? lists the keys, : finds anything", keymap.Label([]string{key}))
}

func contextNames(in []action.Context) string {
	text := ""
	for i, c := range in {
		if i > 0 {
			text += ", "
		}
		text += viewNames[c]
	}
	return text
}

// digitsStay is how long typed digits count as one number.
const digitsStay = 2 * time.Second

// forgetDigits ends the number after a while, unless more of it is typed.
func (m *Model) forgetDigits() tea.Cmd {
	digits := m.digits
	return tea.Tick(digitsStay, func(time.Time) tea.Msg {
		return resume(func(m *Model) tea.Cmd {
			if digits == m.digits {
				m.digits = ""
			}
			return nil
		})
	})
}
