package dialog

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"piton/internal/tui/theme"
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
// the widest line needs, at least the title, at most maxInner plus the frame.
func frame(title, content string, maxInner int, th *theme.Theme) string {
	lines := strings.Split(content, "\n")
	inW := ansi.StringWidth(title) + 2
	for _, l := range lines {
		inW = max(inW, ansi.StringWidth(l))
	}
	inW = min(inW, maxInner)

	title = ansi.Truncate(" "+title+" ", inW, th.Ellipsis)
	rule := strings.Repeat(th.Horizontal, inW+1-ansi.StringWidth(title))
	var b strings.Builder
	b.WriteString(th.Border.Render(th.TopLeft+th.Horizontal) + th.Title.Render(title) +
		th.Border.Render(rule+th.TopRight) + "\n")
	for _, l := range lines {
		b.WriteString(th.Border.Render(th.Vertical) + " " + fit(l, inW) + " " + th.Border.Render(th.Vertical) + "\n")
	}
	b.WriteString(th.Border.Render(th.BottomLeft + strings.Repeat(th.Horizontal, inW+2) + th.BottomRight))
	return b.String()
}

// fit cuts or pads one line to exactly width cells.
func fit(s string, width int) string {
	s = ansi.Truncate(s, width, "")
	return s + strings.Repeat(" ", max(width-ansi.StringWidth(s), 0))
}

// fill pads a text to exactly width × height cells, so that nothing shows through.
func fill(s string, width, height int) string {
	lines := strings.Split(s, "\n")
	for len(lines) < height {
		lines = append(lines, "")
	}
	for i := range lines {
		lines[i] = fit(lines[i], width)
	}
	return strings.Join(lines[:height], "\n")
}
