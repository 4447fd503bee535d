// Package widget draws the small parts that screens are made of: text fitted to
// a width, bars, sparklines, charts of moves. Everything here is a
// pure function that appends to a buffer, so a frame costs few allocations.
//
// Start at AppendFit, AppendFramed and AppendSpark.
package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// AppendSpaces adds n spaces.
func AppendSpaces(dst []byte, n int) []byte { return append(dst, strings.Repeat(" ", max(n, 0))...) }

// ascii reports whether every byte of s is a printable ASCII character, so that
// bytes and cells are the same thing.
func ascii[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Width is the number of cells that s takes; styles in it take none.
func Width(s string) int {
	if ascii(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// cut makes s at most width cells long and says how many blanks then fill these.
func cut(s string, width int, ellipsis string) (text string, blanks int) {
	if n := Width(s); n <= width {
		return s, width - n
	}
	s = ansi.Truncate(s, width, ellipsis)
	return s, width - ansi.StringWidth(s)
}

// AppendFit adds text in exactly width cells: cut with the ellipsis when it is
// too long, padded on the right, or on the left when right is set. It may hold styles.
func AppendFit[T string | []byte](dst []byte, text T, width int, right bool, ellipsis string) []byte {
	blanks := width - len(text)
	if blanks < 0 || !ascii(text) {
		var s string
		s, blanks = cut(string(text), max(width, 0), ellipsis)
		text = T(s)
	}
	if right {
		return append(AppendSpaces(dst, blanks), text...)
	}
	return AppendSpaces(append(dst, text...), blanks)
}

// Fit returns s in exactly width cells.
func Fit(s string, width int, ellipsis string) string {
	return string(AppendFit(nil, s, width, false, ellipsis))
}

// FitRight is Fit with the padding on the left.
func FitRight(s string, width int, ellipsis string) string {
	return string(AppendFit(nil, s, width, true, ellipsis))
}

// Cut returns s in at most width cells; it may hold styles.
func Cut(s string, width int, ellipsis string) string {
	return ansi.Truncate(s, max(width, 0), ellipsis)
}

// Spread puts left and right at the two ends of width cells. When both do not
// fit with a space between them, right is left out.
func Spread(left, right string, width int, ellipsis string) string {
	l, r := Width(left), Width(right)
	if r == 0 || l+1+r > width {
		return Fit(left, width, ellipsis)
	}
	return left + strings.Repeat(" ", width-l-r) + right
}

// Wrap breaks s at spaces into lines of at most width cells.
func Wrap(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}

// SkipCells drops n cells from the left of s.
func SkipCells(s string, n int) string {
	if n >= Width(s) {
		return ""
	}
	return ansi.TruncateLeft(s, n, "")
}

// LineAt is a line of several, "" below the last.
func LineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
