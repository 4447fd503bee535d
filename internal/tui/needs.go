package tui

import (
	"slices"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/sample"
)

// askFor tells the sampler what the screen shows now, when that has changed.
func (m *Model) askFor() {
	n := m.wanted()
	if sameNeeds(n, m.needs) {
		return
	}
	m.needs = n
	m.deps.Sampler.SetNeeds(n)
}

// wanted is what has to be read for the visible columns of the visible and the
// tagged rows; for every row where the order or the filter judges by it.
func (m *Model) wanted() sample.Needs {
	v := m.table.View()
	if m.view != action.Processes {
		return sample.Needs{Threads: v.Threads}
	}
	n := field.Needs(m.table.Shown(), v.Filter)
	n.Threads = v.Threads
	n.Watch = m.table.Watched()
	// Migrations of busy tasks are counted anyway, and idle ones have none.
	if v.Sort != nil && v.Sort.Needs != nil && v.Sort.ID != "migrations_per_s" {
		v.Sort.Needs(&n)
		n.All = true
	}
	if m.detailed {
		n.Affinity, n.Switches, n.Migrations, n.IOPrio = true, true, true, true
	}
	return n
}

func sameNeeds(a, b sample.Needs) bool {
	watch := slices.Equal(a.Watch, b.Watch)
	a.Watch, b.Watch = nil, nil
	return watch && a.Threads == b.Threads && a.Affinity == b.Affinity && a.Switches == b.Switches &&
		a.Migrations == b.Migrations && a.IOPrio == b.IOPrio && a.Identity == b.Identity && a.All == b.All
}
