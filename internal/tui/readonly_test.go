package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"

	"piton/internal/action"
)

// lookOnly makes the action table of --readonly for one test.
func lookOnly(t *testing.T) {
	before := action.Specs
	action.Specs = action.Looking()
	t.Cleanup(func() { action.Specs = before })
}

func TestReadOnlyHasNoKeyThatChangesAnything(t *testing.T) {
	all := action.Specs
	lookOnly(t)
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		r.m.deps.ReadOnly = true
		for _, s := range all {
			for _, view := range s.In {
				for _, key := range s.Keys {
					if !s.Mutates {
						continue
					}
					r.press("alt+1")
					if i := map[action.Context]string{action.Cores: "alt+2", action.IRQs: "alt+3", action.Journal: "alt+5", action.Panel: "C"}[view]; i != "" {
						r.press(i)
					}
					r.press(key)
					assert.True(t, r.m.dialogs.Empty(), "%s in %s", s.ID, view)
					assert.Nil(t, r.m.chooser.held, s.ID)
					r.press("esc", "esc", "esc")
				}
			}
		}
		assert.Zero(t, r.tuning.plans)
		assert.Empty(t, p.isolated)
		assert.Empty(t, r.tuning.signals)
		r.press("alt+1")
		for _, word := range []string{"Pin", "Affinity", "Policy", "Undo"} {
			assert.NotContains(t, r.line(-1), word, "the key bar names none")
		}
		r.send(tea.MouseClickMsg{X: 20, Y: r.rowAt("matrix"), Button: tea.MouseLeft})
		r.send(tea.MouseMotionMsg{X: 64, Y: r.m.areas.panel + 3, Button: tea.MouseLeft})
		assert.NotContains(t, r.text(), "placing", "nor does the mouse")
		r.press("?")
		assert.NotContains(t, r.text(), "pin to the least-loaded core")
		assert.Contains(t, r.text(), "tree of processes")
	})
}
