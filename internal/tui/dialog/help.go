package dialog

import (
	"strings"

	"piton/internal/action"
	"piton/internal/group"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// help is the list of keys, made from the action table.
type help struct {
	head  []string
	specs []action.Spec
	state action.State
}

// NewHelp explains the keys of specs, in two columns where there is room. head is
// shown above them: what the columns and pictures mean, or which version this is.
// Actions that cannot be used in state say why.
func NewHelp(head []string, specs []action.Spec, state action.State) *Pager {
	h := &help{head: head, specs: specs, state: state}
	return NewPager("Help", h.lines)
}

// twoColumns is the width from which groups stand side by side.
const twoColumns = 150

func (h *help) lines(width int, th *theme.Theme) []string {
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
		lines = append(lines, widget.Fit(widget.LineAt(left, i), width/2, "")+widget.LineAt(right, i))
	}
	return trimBlank(lines)
}

// blocks are the groups in the order in which the table first names them.
func (h *help) blocks(width int, th *theme.Theme) [][]string {
	var blocks [][]string
	keys := 0
	for _, s := range h.specs {
		keys = max(keys, widget.Width(s.Label))
	}
	keys = min(keys, 16)
	for _, specs := range group.By(h.specs, func(s *action.Spec) string { return s.Group }) {
		block := []string{th.Title.Render(specs[0].Group)}
		for _, s := range specs {
			block = append(block, h.line(s, keys, width, th))
		}
		blocks = append(blocks, block)
	}
	return blocks
}

func (h *help) line(s action.Spec, keys, width int, th *theme.Theme) string {
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

// halves divides blocks into two columns of about the same length, in order.
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
