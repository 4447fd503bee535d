package dialog

import (
	"strings"

	"charm.land/lipgloss/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// The frame's share of the screen: a border line and one blank column inside it.
const (
	frameLeft   = 2
	frameTop    = 1
	frameWidth  = 2 * frameLeft
	frameHeight = 2 * frameTop

	// Below these sizes of content a frame costs more than it helps.
	leastFramedWidth  = 12
	leastFramedHeight = 3
)

// inner is the room for content on a screen; framed is false on a screen so
// small that the content gets all of it.
func inner(width, height int) (w, h int, framed bool) {
	w, h = width-frameWidth, height-frameHeight
	if w < leastFramedWidth || h < leastFramedHeight {
		return width, height, false
	}
	return w, h, true
}

// frame is the box around the content with the title in its border. It is as wide as
// the widest line or the title needs, with at most maxW × maxH cells inside.
func frame(title, content string, maxW, maxH int, th *theme.Theme) *lipgloss.Layer {
	title = rows.Text(th, title)
	w, h := lipgloss.Width(content), lipgloss.Height(content)
	w, h = min(max(w, widget.Width(title)+2), maxW), min(h, maxH)
	box := th.Box.Width(w + frameWidth).Height(h + frameHeight).Render(rows.Clip(content, w, h))
	return lipgloss.NewLayer(box, lipgloss.NewLayer(th.Title.Render(" "+widget.Cut(title, w-2, th.Ellipsis)+" ")).X(frameLeft).Z(1))
}

// cover draws a box over lines of width cells, with its corner at x, y. The compositor takes every cell
// that it is given apart, so it is given only the lines that the box touches.
func cover(lines []string, width int, box *lipgloss.Layer, x, y int) {
	under := lines[y : y+box.Height()]
	layers := lipgloss.NewCompositor(lipgloss.NewLayer(strings.Join(under, "\n")), box.X(x).Z(1))
	copy(under, strings.Split(lipgloss.NewCanvas(width, len(under)).Compose(layers).Render(), "\n"))
}

// fill cuts and pads a text to exactly width × height cells, so that nothing
// shows through.
func fill(s string, width, height int) *lipgloss.Layer {
	return lipgloss.NewLayer(lipgloss.Place(width, height, lipgloss.Left, lipgloss.Top, rows.Clip(s, width, height)))
}
