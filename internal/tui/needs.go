package tui

import (
	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/sample"
	"piton/internal/tui/meters"
)

// askFor tells the sampler what the screen shows now, when that has changed.
func (m *Model) askFor() {
	n := m.wanted()
	meters.Needs(m.deps.Meters, &n)
	if n.Equal(m.needs) {
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
		n := sample.Needs{Threads: v.Threads}
		if m.view == action.Cores {
			m.cores.Needs(&n)
		}
		return n
	}
	n := field.Needs(m.table.Shown(), v.Filter)
	n.Threads = v.Threads
	n.Watch = m.table.Watched()
	m.table.SumNeeds(&n)
	if v.Sort != nil {
		v.Sort.NeedsOfAll(&n)
	}
	if m.detailed {
		n.Trace = m.detail.Trace()
		n.Affinity, n.Switches, n.Migrations, n.IOPrio, n.ThreadDelay, n.ThreadAttr = true, true, true, true, true, true
	}
	return n
}
