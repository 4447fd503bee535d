package tui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatMattersStaysOnANarrowScreen(t *testing.T) {
	on(t, 8, 80, 24, func(r *rig) {
		tabs := func() string { return r.line(r.area("view").y) }
		assert.Contains(t, tabs(), "sort CPU%")
		r.press("f4", "n", "g", "i", "n", "x", "enter")
		assert.Contains(t, tabs(), "filter nginx ")
		assert.NotContains(t, tabs(), "sort")
		r.press("esc", "space", "space", "space", "t")
		assert.Contains(t, tabs(), "3 tagged  tree")
		r.press("f4", "c", "p", "u", ">", "0", ".", "5", "enter")
		assert.Contains(t, tabs(), "3 tagged  filter cpu>…")
	})
}

func TestPausedStaysBesideALongHostName(t *testing.T) {
	for _, width := range []int{80, 60, 40, 32} {
		on(t, 8, width, 24, func(r *rig) {
			s := r.machine.Tick()
			s.Host.Name = strings.Repeat("long-name.", 4)
			r.deliver(s)
			if width == 80 {
				assert.Contains(t, r.line(0), s.Host.Name, "there is room without")
			}
			r.press("Z")
			assert.Contains(t, r.line(0), "paused, Z resumes")
			assert.Contains(t, r.line(0), " long-name.l")
		})
	}
}

// TestStatusLineSaysWherePinGoes: the choice is the pin action's own, of the task under
// the cursor, and made anew for another task, or when samples have come since.
func TestStatusLineSaysWherePinGoes(t *testing.T) {
	onSmall(t, func(r *rig) {
		assert.Contains(t, r.line(-2), "p → cpu 5: 99 % of a CPU expected (others use 1 %, same L3 as now) ")
		asked := r.tuning.chosen
		r.press("left")
		assert.Equal(t, asked, r.tuning.chosen, "nothing has changed")
		r.press("down")
		assert.Equal(t, asked+1, r.tuning.chosen)
		assert.Contains(t, r.line(-2), "p → cpu 5")
		r.tick()
		assert.Equal(t, asked+1, r.tuning.chosen, "it is not old yet")
		for range 4 {
			r.tick()
		}
		assert.Equal(t, asked+2, r.tuning.chosen)
		r.press("space")
		assert.NotContains(t, r.line(-2), "p → cpu", "p acts on the tagged row")
		r.press("U", "b")
		for range 6 {
			r.tick()
		}
		assert.Equal(t, asked+3, r.tuning.chosen, "not where no task is shown")
		assert.NotContains(t, r.text(), "p → cpu")
	})
	onSmall(t, func(r *rig) { assert.NotContains(t, r.text(), "p → cpu") }, func(d *Deps) { d.ReadOnly = true })
}
