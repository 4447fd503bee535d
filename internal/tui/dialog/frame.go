package dialog

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

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

// frame draws the border and the title around the content. The box is as wide as
// the widest line or the title needs, with at most maxW × maxH cells inside.
func frame(title, content string, maxW, maxH int, th *theme.Theme) string {
	title = rows.Text(th, title)
	w, h := lipgloss.Width(content), lipgloss.Height(content)
	w, h = min(max(w, widget.Width(title)+2), maxW), min(h, maxH)

	title = " " + strings.TrimRight(widget.Fit(title, min(widget.Width(title), w-2), th.Ellipsis), " ") + " "
	rule := strings.Repeat(th.Horizontal, w+1-widget.Width(title))
	var b strings.Builder
	b.WriteString(th.Border.Render(th.TopLeft+th.Horizontal) + th.Title.Render(title) +
		th.Border.Render(rule+th.TopRight) + "\n")
	for line := range strings.SplitSeq(fill(content, w, h), "\n") {
		b.WriteString(th.Border.Render(th.Vertical) + " " + line + " " + th.Border.Render(th.Vertical) + "\n")
	}
	b.WriteString(th.Border.Render(th.BottomLeft + strings.Repeat(th.Horizontal, w+2) + th.BottomRight))
	return b.String()
}

// splice draws a box over lines with its corner at x, y. It cuts only the lines
// that the box touches: lipgloss's compositor takes every cell of the screen
// apart, which is thirty times as slow and would be felt at each key.
func splice(lines []string, box string, x, y int) {
	for i, part := range strings.Split(box, "\n") {
		under := &lines[y+i]
		left := widget.Fit(ansi.Truncate(*under, x, ""), x, "")
		*under = left + endStyle + part + endStyle + rightOf(*under, x+ansi.StringWidth(part))
	}
}

// rightOf is what a line has from a column on. Of a wide character that the
// column divides a blank is left.
func rightOf(line string, from int) string {
	room := ansi.StringWidth(line) - from
	right := ansi.TruncateLeft(line, from, "")
	if ansi.StringWidth(right) > room {
		right = ansi.TruncateLeft(line, from+1, "")
	}
	return strings.Repeat(" ", max(room-ansi.StringWidth(right), 0)) + right
}

// endStyle ends whatever style the frame had at the edge of the box.
const endStyle = "\x1b[m"

// fill cuts and pads a text to exactly width × height cells, so that nothing
// shows through.
func fill(s string, width, height int) string {
	lines := strings.Split(s, "\n")
	for len(lines) < height {
		lines = append(lines, "")
	}
	for i := range lines {
		lines[i] = widget.Fit(lines[i], width, "")
	}
	return strings.Join(lines[:height], "\n")
}
