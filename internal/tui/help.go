package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/tui/dialog"
	"piton/internal/tui/widget"
)

func itoa(id kernel.TID) string { return strconv.Itoa(int(id)) }

// showHelp explains the keys, the pictures, and why values of the selected row
// are missing.
func (m *Model) showHelp() tea.Cmd {
	head := []string{
		"piton " + m.deps.Version + ": see which tasks move between CPUs, place them, prove that it helped.",
		fmt.Sprintf("Core panel: load, then migrations into the CPU per tick, %s to %s: %s. %s is the least-loaded CPU.",
			m.th.Spark[0], m.th.Spark[7], widget.RateLegend, m.th.Mark),
		"BOUNCE: height is the CPU that the task was on at each tick; a pinned task is flat.",
		"Rows keep their places while their rates differ by less than 0.3.",
	}
	head = append(head, m.better()...)
	head = append(head, m.missing()...)
	return m.dialogs.Push(dialog.NewHelp(head, action.Specs, m.state()), nil)
}

// better says what better sources of figures need than those in use.
func (m *Model) better() []string {
	if m.newest == nil {
		return nil
	}
	var lines, needed []string
	all := m.newest.Sample.Collectors
	for _, c := range all {
		if c.Better == "" || slices.Contains(needed, c.Better) {
			continue
		}
		needed = append(needed, c.Better)
		var names, rungs []string
		for _, same := range all {
			if same.Better == c.Better {
				names, rungs = append(names, same.Name), append(rungs, same.Rung)
			}
		}
		what := strings.Join(names, ", ")
		lines = append(lines, fmt.Sprintf("%s: now by %s; better: %s.", strings.ToUpper(what[:1])+what[1:], strings.Join(rungs, ", "), c.Better))
	}
	return lines
}

// missing says why values of the selected row are not there.
func (m *Model) missing() []string {
	row, ok := m.table.Selected()
	if !ok || m.view != action.Processes {
		return nil
	}
	var lines []string
	for _, c := range m.table.Shown() {
		if why := c.Why(row); why != "" {
			lines = append(lines, fmt.Sprintf("%s in %s of %d: %s.", field.None, c.Title, row.Task().TID, why))
		}
	}
	return lines
}
