package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"

	"piton/internal/action"
)

func TestReadOnlyHasNoKeyThatChangesAnything(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		r.m.deps.ReadOnly = true
		r.m.verbs = r.m.deps.verbs()
		for _, s := range table() {
			for _, view := range s.In {
				for _, key := range s.Keys {
					if !s.Mutates {
						continue
					}
					r.press("1")
					if i := map[action.Context]string{action.Cores: "2", action.IRQs: "3", action.Journal: "5", action.Panel: "C"}[view]; i != "" {
						r.press(i)
					}
					r.press(key)
					assert.True(t, r.m.dialogs.Empty(), "%s in %s", s.ID, view)
					assert.Nil(t, r.m.chooser.grabbed, s.ID)
					r.press("esc", "esc", "esc")
				}
			}
		}
		assert.Zero(t, r.tuning.plans)
		assert.Empty(t, p.isolated)
		assert.Empty(t, r.tuning.signals)
		r.press("1")
		for _, word := range []string{"Pin", "Affinity", "Policy", "Undo"} {
			assert.NotContains(t, r.line(-1), word, "the key bar names none")
		}
		r.send(tea.MouseClickMsg{X: 20, Y: r.rowAt("matrix"), Button: tea.MouseLeft})
		r.send(tea.MouseMotionMsg{X: 64, Y: r.area("panel").y + 3, Button: tea.MouseLeft})
		assert.NotContains(t, r.text(), "placing", "nor does the mouse")
		r.press("?")
		assert.NotContains(t, r.text(), "Affinity")
		assert.Contains(t, r.text(), "F5 t     Tree")
	})
}
