package rows

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Clip cuts a text to width × height cells.
func Clip(text string, width, height int) string {
	lines := strings.Split(text, "\n")
	lines = lines[:max(min(len(lines), height), 0)]
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, width, "")
	}
	return strings.Join(lines, "\n")
}

// Stack puts a head, a body and a foot above each other in width × height cells.
// Of a body of n rows at least three stay (or all): lines of the foot go first,
// then lines of the head, each from its far end.
func Stack(width, height int, head []string, n int, body func(height int) []string, foot []string) string {
	least := min(n, 3, height)
	for len(foot) > 0 && height-len(head)-len(foot) < least {
		foot = foot[:len(foot)-1]
	}
	for len(head) > 0 && height-len(head)-len(foot) < least {
		head = head[:len(head)-1]
	}
	lines := append([]string(nil), head...)
	lines = append(lines, body(height-len(head)-len(foot))...)
	lines = append(lines, foot...)
	return Clip(strings.Join(lines, "\n"), width, height)
}
