package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"piton/internal/action"
	"piton/internal/group"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Help is the keys of a view: all of them at a glance, or those that fit what is typed,
// each with a sentence. It has no value.
type Help struct {
	Titled
	specs []action.Spec
	about []string
	state action.State
	input Input
	text  scrolled
}

// NewHelp explains the keys of specs, under the headings of their groups. about is shown
// below them: what the columns and pictures mean, why values are missing. Actions that
// cannot be used in state are faint, and say why when they are searched for.
func NewHelp(title string, specs []action.Spec, about []string, state action.State) *Help {
	return &Help{Titled: Titled(title), specs: specs, about: about, state: state, input: NewInput("")}
}

// Update scrolls and searches.
func (h *Help) Update(msg tea.Msg) Outcome {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "esc", "enter", "ctrl+c", "ctrl+g", "f1", "f10":
			return canceled
		}
		if h.input.Value() == "" && (k.String() == "?" || k.String() == "q") {
			return canceled
		}
		if h.text.key(k, false) {
			return Outcome{}
		}
	}
	if h.input.Update(msg) {
		h.text.view.GotoTop()
	}
	return Outcome{}
}

// Render draws the keys with what is typed below.
func (h *Help) Render(width, height int, th *theme.Theme) string {
	lines := h.glance(width, height-1, th)
	foot := rows.Keys(th, "type", "to search", "Esc", "close")
	if text := h.input.Value(); text != "" {
		lines = h.found(strings.ToLower(text), width, th)
		foot = nil
		foot.Add(th.Accent, "search: ")
		foot.Add(th.Input, text)
	} else if len(lines) > height-1 {
		foot = rows.Keys(th, "↑ ↓ PgUp PgDn", "scroll", "type", "to search", "Esc", "close")
	}
	return rows.Stack(width, height, nil, len(lines), h.text.body(lines), []string{foot.Render(th, width)})
}

// The cells of a key and of its name at a glance.
const (
	keyCells  = 8
	nameCells = 11
	gapCells  = 2
)

// glance is every key with its name, in as many columns as height asks for and width has
// room for.
func (h *Help) glance(width, height int, th *theme.Theme) []string {
	var lines []string
	for _, specs := range group.By(h.specs, func(s *action.Spec) string { return s.Group }) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, th.Title.Render(specs[0].Group))
		for _, s := range specs {
			key, name := th.Key, th.Text
			if s.Why(h.state) != "" {
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
	for i, text := range h.about {
		if i == 0 {
			below = append(below, "")
		}
		below = append(below, rows.Wrap(th, text, width)...)
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

// found is what fits the text, each with its sentence.
func (h *Help) found(text string, width int, th *theme.Theme) []string {
	var lines []string
	for _, s := range h.specs {
		if !strings.Contains(strings.ToLower(strings.Join([]string{s.Label, s.Short, s.Help, s.Group, s.Verb}, " ")), text) {
			continue
		}
		var r rows.Row
		r.Left(th, th.Key, s.Label, keyCells)
		r.Add(th.Text, " "+s.Help)
		if s.Verb != "" {
			r.Add(th.Dim, " (piton "+s.Verb+")")
		}
		if why := s.Why(h.state); why != "" {
			r.Add(th.Warn, "  "+why)
		}
		lines = append(lines, r.Render(th, width))
	}
	for _, about := range h.about {
		if strings.Contains(strings.ToLower(about), text) {
			lines = append(lines, widget.Cut(rows.Text(th, about), width, th.Ellipsis))
		}
	}
	if len(lines) == 0 {
		lines = []string{th.Dim.Render("no key here does this; : finds actions of every view")}
	}
	return lines
}
