package theme

import (
	"bytes"
	"strings"

	"charm.land/lipgloss/v2"
)

// Style is a look that text is given: the sequence that starts a lipgloss style,
// taken once, when the theme is built. The zero Style leaves text as it is. Styles
// can be compared.
//
// lipgloss.Style.Render splits, measures and pads its text; a tick draws hundreds of
// short cells, and BenchmarkAppend beside BenchmarkRender says what that would cost.
type Style struct{ on string }

// reset is what lipgloss ends every style with.
const reset = "\x1b[m"

// styleOf takes the opening sequence of a style that only colours and weighs text.
func styleOf(s lipgloss.Style) Style {
	on, _, _ := strings.Cut(s.Render("x"), "x")
	return Style{on}
}

// Render returns the text in this style. The text must not contain styles of
// its own: they would end this one.
func (s Style) Render(text string) string {
	if s.on == "" || text == "" {
		return text
	}
	return s.on + text + reset
}

// Append adds the text in this style to dst; see Render.
func (s Style) Append(dst []byte, text string) []byte {
	if s.on == "" || text == "" {
		return append(dst, text...)
	}
	dst = append(dst, s.on...)
	dst = append(dst, text...)
	return append(dst, reset...)
}

// Open adds the sequence that starts the style; Close ends it. They serve text
// that is appended piece by piece.
func (s Style) Open(dst []byte) []byte { return append(dst, s.on...) }

// Close adds the sequence that ends the style.
func (s Style) Close(dst []byte) []byte {
	if s.on == "" {
		return dst
	}
	return append(dst, reset...)
}

// Join makes one run of the cell that starts at cell in dst and the one before it, with a
// blank between them, where both are in the same style: a terminal, and who draws for it,
// have less to read. run is where the run starts that ends with the cell before, -1 for
// none; Join returns the one that ends with this cell.
func Join(dst []byte, run, cell int) ([]byte, int) {
	on := 0
	if bytes.HasPrefix(dst[cell:], []byte("\x1b[")) {
		on = bytes.IndexByte(dst[cell:], 'm') + 1
	}
	if on == 0 || bytes.Count(dst[cell+on:], []byte{0x1b}) != 1 || !bytes.HasSuffix(dst, []byte(reset)) {
		return dst, -1
	}
	if run < 0 || !bytes.HasPrefix(dst[run:], dst[cell:cell+on]) {
		return dst, cell
	}
	dst = append(dst[:cell-1-len(reset)], dst[cell-1:]...)
	cell -= len(reset)
	return append(dst[:cell], dst[cell+on:]...), run
}
