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
		n := sample.Needs{Threads: v.Threads}
		if m.view == action.Cores {
			m.cores.Needs(&n)
		}
		return n
	}
	n := field.Needs(m.table.Shown(), v.Filter)
	n.Threads = v.Threads
	n.Watch = m.table.Watched()
	// Migrations of busy tasks are counted anyway, and idle ones have none.
	if v.Sort != nil && v.Sort.Needs != nil && v.Sort.ID != "migrations_per_s" {
		v.Sort.Needs(&n)
		n.All = n.All || costly(v.Sort)
	}
	if m.detailed {
		n.Trace = m.detail.Trace()
		n.Affinity, n.Switches, n.Migrations, n.IOPrio = true, true, true, true
	}
	return n
}

// costly reports whether a column's figure is read task by task, which an order
// by it wants of them all.
func costly(c *field.Column) bool {
	var n sample.Needs
	c.Needs(&n)
	n.PingPongs, n.Delay = false, false // these come for every task
	return !sameNeeds(n, sample.Needs{})
}

func sameNeeds(a, b sample.Needs) bool {
	watch := slices.Equal(a.Watch, b.Watch)
	a.Watch, b.Watch = nil, nil
	return watch && a.Threads == b.Threads && a.Affinity == b.Affinity && a.Switches == b.Switches &&
		a.Migrations == b.Migrations && a.IOPrio == b.IOPrio && a.Identity == b.Identity && a.All == b.All &&
		a.Trace == b.Trace && a.Ledger == b.Ledger && a.Delay == b.Delay && a.PingPongs == b.PingPongs
}
