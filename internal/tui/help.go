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
)

func itoa(id kernel.TID) string { return strconv.Itoa(int(id)) }

// showHelp lists the keys of this view, and explains the pictures and why values of the
// selected row are missing.
func (m *Model) showHelp() tea.Cmd {
	var specs []action.Spec
	in := m.context()
	for _, v := range m.verbs { // the view's own come first
		if slices.Contains(v.In, in) && len(v.Keys) > 0 {
			specs = append(specs, v.spec)
		}
	}
	for _, v := range m.verbs {
		if v.Works(in) && !slices.Contains(v.In, in) && len(v.Keys) > 0 {
			specs = append(specs, v.spec)
		}
	}
	about := []string{
		"Core panel: CPU time as user, nice, system, irq, steal; migrations into each CPU per tick, on one scale up to the peak.",
		fmt.Sprintf("%s idlest: the CPU with the least load for a new ordinary task.", m.th.Mark),
		"MIGRATIONS: of all threads, per tick: 1, 2, 4 to 128 and more a second. *: the threads differ.",
	}
	about = append(append(about, m.better()...), m.missing()...)
	about = append(about, "piton "+m.deps.Version+"; every key, column and setting: piton help")
	return m.dialogs.Push(dialog.NewHelp("Keys: "+viewNames[in], specs, about, m.state()), nil)
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
	row, ok := m.table.Process()
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
