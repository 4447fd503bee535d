package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Help is the scrollable list of keys, made from the action table. It has no
// value.
type Help struct {
	head  []string
	specs []action.Spec
	state action.State
	list  rows.Scroll
}

// NewHelp explains the keys of specs. head is shown above them: what the columns
// and pictures mean, or which version this is. Actions that cannot be used in
// state say why.
func NewHelp(head []string, specs []action.Spec, state action.State) *Help {
	return &Help{head: head, specs: specs, state: state}
}

// Title is fixed.
func (h *Help) Title() string { return "Help" }

// Cursor is hidden.
func (h *Help) Cursor() *tea.Cursor { return nil }

// Update scrolls; any key that does not scroll closes.
func (h *Help) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || h.list.Key(k, maxLines, true) {
		return Outcome{}
	}
	if k.String() == "space" {
		h.list.Key(tea.KeyPressMsg{Code: tea.KeyPgDown}, maxLines, false)
		return Outcome{}
	}
	return canceled
}

// Render draws the groups, in two columns where there is room.
func (h *Help) Render(width, height int, th *theme.Theme) string {
	lines := h.lines(width, th)
	body := func(room int) []string {
		from, to := h.list.Page(len(lines), room)
		return lines[from:to]
	}
	keys := rows.Keys(th, "up down PgUp PgDn", "scroll", "any other key", "closes")
	return rows.Stack(width, height, nil, len(lines), body, []string{"", keys.Render(th, width)})
}

// twoColumns is the width from which groups stand side by side.
const twoColumns = 150

func (h *Help) lines(width int, th *theme.Theme) []string {
	var lines []string
	for _, text := range h.head {
		lines = append(lines, rows.Wrap(th, text, width)...)
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	blocks := h.blocks(min(width, 100), th)
	if width < twoColumns {
		for _, b := range blocks {
			lines = append(lines, append(b, "")...)
		}
		return trimBlank(lines)
	}
	left, right := halves(h.blocks(width/2-2, th))
	for i := range max(len(left), len(right)) {
		line := ""
		if i < len(left) {
			line = left[i]
		}
		line = widget.Fit(line, width/2, "")
		if i < len(right) {
			line += right[i]
		}
		lines = append(lines, line)
	}
	return trimBlank(lines)
}

// blocks are the groups in the order in which the table first names them.
func (h *Help) blocks(width int, th *theme.Theme) [][]string {
	index := map[string]int{}
	var blocks [][]string
	keys := 0
	for _, s := range h.specs {
		keys = max(keys, widget.Width(s.Label))
	}
	keys = min(keys, 16)
	for _, s := range h.specs {
		i, ok := index[s.Group]
		if !ok {
			i = len(blocks)
			index[s.Group] = i
			blocks = append(blocks, []string{th.Title.Render(s.Group)})
		}
		blocks[i] = append(blocks[i], h.line(s, keys, width, th))
	}
	return blocks
}

func (h *Help) line(s action.Spec, keys, width int, th *theme.Theme) string {
	var r rows.Row
	r.Add(th.Text, " ")
	if reason := s.Why(h.state); reason != "" {
		r.Left(th, th.Dim, s.Label, keys)
		r.Add(th.Dim, "  "+s.Help+" ("+reason+")")
		return r.Render(th, width)
	}
	r.Left(th, th.Key, s.Label, keys)
	r.Add(th.Text, "  "+s.Help)
	return r.Render(th, width)
}

// halves deals blocks out to two columns of about the same length, in order.
func halves(blocks [][]string) (left, right []string) {
	total := 0
	for _, b := range blocks {
		total += len(b) + 1
	}
	for _, b := range blocks {
		if len(right) == 0 && len(left)+len(b)/2 <= total/2 {
			left = append(left, append(b, "")...)
		} else {
			right = append(right, append(b, "")...)
		}
	}
	return left, right
}

func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
