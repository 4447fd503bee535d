package tui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatMattersStaysOnANarrowScreen(t *testing.T) {
	on(t, 8, 80, 24, func(r *rig) {
		tabs := func() string { return r.line(r.m.areas.tabs) }
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
			assert.Contains(t, r.line(0), "paused, Z goes on")
			assert.Contains(t, r.line(0), " long-name.l")
		})
	}
}
