package tui

import (
	"fmt"
	"time"

	"piton/internal/field"
	"piton/internal/kernel"
)

// headerExtra is what the header says beside the machine's figures.
func (m *Model) headerExtra() string {
	extra := ""
	if m.cost && m.model != nil {
		extra = m.ownCost()
	}
	if m.paused {
		if extra != "" {
			extra += "  "
		}
		extra += "paused, Z goes on"
	}
	return extra
}

// ownCost is piton's own use of the machine, and how long the last sample took.
func (m *Model) ownCost() string {
	took := time.Duration(0)
	for _, c := range m.model.Sample.Collectors {
		took += c.Took
	}
	text := fmt.Sprintf("sampling %.1f ms", float64(took.Microseconds())/1000)
	for i := range m.model.Sample.Tasks {
		if m.model.Sample.Tasks[i].TID == kernel.TID(m.deps.PID) {
			row := field.Row{M: m.model, I: i, ASCII: m.th.ASCII}
			return fmt.Sprintf("piton %s%% CPU %s, %s", cell("cpu_percent", row), cell("rss_bytes", row), text)
		}
	}
	return text
}
