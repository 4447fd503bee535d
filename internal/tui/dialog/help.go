package dialog

import (
	"strings"

	"charm.land/lipgloss/v2"

	"piton/internal/action"
	"piton/internal/group"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// NewHelp explains the keys of specs, under the headings of their groups. about is shown
// below them: what the columns and pictures mean, why values are missing. Actions that
// cannot be used in state are faint. Its value is what the user begins to search for.
func NewHelp(title string, specs []action.Spec, about []string, state action.State) *Pager {
	return &Pager{Titled: Titled(title), finds: true, draw: func(width, height int, th *theme.Theme) []string {
		return glance(specs, about, state, width, height, th)
	}}
}

// The cells of a key and of its name at a glance.
const (
	keyCells  = 8
	nameCells = 11
	gapCells  = 2
)

// glance is every key with its name, in as many columns as height asks for and width has
// room for.
func glance(specs []action.Spec, about []string, state action.State, width, height int, th *theme.Theme) []string {
	var lines []string
	for _, specs := range group.By(specs, func(s *action.Spec) string { return s.Group }) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, th.Title.Render(specs[0].Group))
		for _, s := range specs {
			key, name := th.Key, th.Text
			if s.Why(state) != "" {
				key, name = th.Dim, th.Dim
			}
			var r rows.Row
			r.Left(th, key, s.Label, keyCells)
			r.Add(name, " ")
			r.Left(th, name, s.Short, nameCells)
			lines = append(lines, r.Render(th, width))
		}
	}
	cell := keyCells + 1 + nameCells + gapCells
	var below []string
	if len(about) > 0 {
		below = append([]string{""}, wrapped(about, width, th)...)
	}
	n := 1
	for most := (width + gapCells) / cell; n < most && (len(lines)+n-1)/n > height-len(below); n++ {
	}
	return append(inColumns(lines, n, cell), below...)
}

// inColumns sets lines in n columns of about the same length. A heading is no column's last
// line, and a blank no column's first.
func inColumns(lines []string, n, width int) []string {
	height := (len(lines) + n - 1) / n
	var all []string
	for ; n > 0 && len(lines) > 0; n-- {
		end := min(height, len(lines))
		for end < len(lines) && end > 1 && (lines[end-1] == "" || end > 1 && lines[end-2] == "") {
			end--
		}
		if n == 1 {
			end = len(lines)
		}
		all = append(all, lipgloss.NewStyle().Width(width).Render(strings.Join(lines[:end], "\n")))
		lines = lines[end:]
		for len(lines) > 0 && lines[0] == "" {
			lines = lines[1:]
		}
	}
	return strings.Split(lipgloss.JoinHorizontal(lipgloss.Top, all...), "\n")
}
