package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/tui/proctable"
)

// tick ticks the CPUs under the panel's cursor, or takes their ticks away: for
// what is grabbed, where to drop it; else for the list, what to show.
func (m *Model) tick() tea.Cmd {
	cpus := m.region().CPUs
	if h := m.chooser.held; h != nil {
		h.on = toggle(h.on, cpus)
		return nil
	}
	m.chooser.ticked = toggle(m.chooser.ticked, cpus)
	return m.filterByCPUs()
}

func toggle(set, cpus cpuset.Set) cpuset.Set {
	if cpus.SubsetOf(set) {
		return set.AndNot(cpus)
	}
	return set.Or(cpus)
}

// untick takes all ticks away.
func (m *Model) untick() tea.Cmd {
	if h := m.chooser.held; h != nil {
		h.on = cpuset.Set{}
		return nil
	}
	m.chooser.ticked = cpuset.Set{}
	return m.filterByCPUs()
}

// toggleMayRun changes between tasks that are on ticked CPUs and tasks that may
// run on them.
func (m *Model) toggleMayRun() tea.Cmd {
	m.chooser.mayRun = !m.chooser.mayRun
	if m.chooser.ticked.Empty() {
		return m.say(info, "ticked CPUs will show "+m.thisList())
	}
	return m.filterByCPUs()
}

func (m *Model) thisList() string {
	if m.chooser.mayRun {
		return "all that may run on them"
	}
	return "only what is on them"
}

// filterByCPUs writes the ticks into the filter, where they are seen, edited and
// removed as any other words of it.
func (m *Model) filterByCPUs() tea.Cmd {
	c := &m.chooser
	text := strings.TrimSpace(strings.Replace(m.table.View().Filter.String(), c.expr, "", 1))
	c.expr = ""
	if !c.ticked.Empty() {
		c.expr = "on=" + c.ticked.String()
		if c.mayRun {
			c.expr = "allowed~" + c.ticked.String()
		}
	}
	m.irqs.SetCPUs(c.ticked, c.mayRun)
	f, err := field.ParseFilter(strings.TrimSpace(text + " " + c.expr))
	if err != nil {
		f = nil // nothing is left of it
	}
	return m.change(func(v *proctable.View) { v.Filter = f })
}

// keepTicks takes the ticks away when their words are no longer in the filter.
func (m *Model) keepTicks(f *field.Filter) {
	if c := &m.chooser; c.expr != "" && !strings.Contains(f.String(), c.expr) {
		c.ticked, c.expr = cpuset.Set{}, ""
		m.irqs.SetCPUs(cpuset.Set{}, false)
	}
}
