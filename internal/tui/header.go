package tui

import (
	"fmt"
	"strings"

	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// part is one piece of the header. Pieces of the largest rank go first when the
// window is too narrow.
type part struct {
	text string
	rank int
}

// header is the first line: the machine in figures. It holds nothing that
// changes every second on an idle machine. extra stands before the migrations, and
// stays longest.
func header(m *model.Model, width int, extra string, th *theme.Theme) string {
	if m == nil {
		return widget.Fit(th.Dim.Render(" reading the machine "+th.Ellipsis), width, th.Ellipsis)
	}
	h := &m.Sample.Host
	right := migrations(m, th)
	if extra != "" {
		right = th.Warn.Render(extra) + "  " + right
	}
	parts := []part{
		{" " + th.Strong.Render(field.Clean(h.Name)), 1},
		{"up " + field.Uptime(h.Uptime), 5},
		{fmt.Sprintf("tasks %d (%d threads, %d running)", m.Counts.Processes, m.Counts.Threads, m.Counts.Running), 4},
		{fmt.Sprintf("load %.2f %.2f %.2f", h.Load1, h.Load5, h.Load15), 2},
		{"mem " + gigabytes(h.MemUsedBytes, h.MemTotalBytes), 3},
	}
	left := ""
	for rank := 5; rank >= 1; rank-- {
		var kept []string
		for _, p := range parts {
			if p.rank <= rank {
				kept = append(kept, p.text)
			}
		}
		left = strings.Join(kept, "   ")
		if widget.Width(left)+3+widget.Width(right)+1 <= width {
			break
		}
	}
	least := min(widget.Width(left), leastName)
	if least+1+widget.Width(right) >= width {
		right = th.Warn.Render(widget.Cut(extra, max(1, width-least-2), th.Ellipsis))
	}
	left = widget.Cut(left, max(least, width-2-widget.Width(right)), th.Ellipsis)
	return widget.Fit(widget.Spread(left, right, width-1, th.Ellipsis), width, th.Ellipsis)
}

// leastName is what is left of a long host name beside the rest of the header.
const leastName = 12

// migrations is the machine's migration rate with the words for its source: a
// worse source is never passed off as exact. The help says what a better one needs.
func migrations(m *model.Model, th *theme.Theme) string {
	if m.Sample.Migrations == sample.SourceNone || !model.Known(m.MigrationsPerS) {
		return "migrations " + th.None
	}
	rate := fmt.Sprintf("%.0f/s", m.MigrationsPerS)
	style := th.Text
	if m.MigrationsPerS >= 10 {
		style = th.Accent
	}
	atLeast, source := "", m.Sample.Migrations.String()
	switch m.Sample.Migrations {
	case sample.SourceSampled:
		atLeast = th.AtLeast
	case sample.SourceBPF:
		source = "exact (eBPF)"
	}
	rate = fmt.Sprintf("%6s", atLeast+rate) // what is before it seldom moves
	return "migrations " + style.Render(rate) + th.Dim.Render(" "+source)
}

func gigabytes(used, total uint64) string {
	const gib = 1 << 30
	if total < 10*gib {
		return fmt.Sprintf("%.1f/%.1fG", float64(used)/gib, float64(total)/gib)
	}
	return fmt.Sprintf("%.0f/%.0fG", float64(used)/gib, float64(total)/gib)
}
