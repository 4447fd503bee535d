package tui

import (
	"testing"

	"piton/internal/tui/golden"
	"piton/internal/tui/picture"
	"piton/internal/tui/theme"
)

// TestPicture keeps the README's picture the screen that is drawn.
func TestPicture(t *testing.T) {
	const width, height = 120, 36
	on(t, 8, width, height, func(r *rig) {
		for range 40 {
			r.tick()
		}
		r.press("B", "enter")
		golden.File(t, "../../testdata/screen.svg", string(picture.SVG(r.m.View().Content, width, height)))
	}, func(d *Deps) { d.Theme.Background = theme.Dark }) // as the picture's is
}
