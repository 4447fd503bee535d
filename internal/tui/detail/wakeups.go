package detail

import (
	"strings"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// wakeups are the threads that wake the process or are woken by it, in words.
type wakeups struct {
	partners []string
	why      string // they are not known
}

// wakeupLines is how many of them stand beside threads and chart.
const wakeupLines = 2

// note takes in the newest sample. One without wakeups of the process changes nothing.
func (w *wakeups) note(s *sample.Sample, pid kernel.TID) {
	if s.Wakes.Of == pid && pid != 0 {
		*w = wakeups{partners: field.Wakeups(&s.Wakes)}
	}
	if why := s.WhyNot("wakes"); why != "" {
		*w = wakeups{why: why}
	}
}

// draw draws so many partners, a line each, or in a single line as many as it has room for.
func (w *wakeups) draw(height, width int, th *theme.Theme) (lines []string) {
	words := w.partners
	switch {
	case len(words) == 0:
		words = []string{strings.TrimSpace(th.None + " " + w.why)}
	case height == 1:
		words = []string{strings.Join(words, "; ")}
	}
	for i := range height {
		f := fact{value: string(field.AppendClean(nil, widget.LineAt(words, i), th.ASCII))}
		if i == 0 {
			f.label = "wakeups"
		}
		lines = append(lines, f.draw(width, th))
	}
	return lines
}
