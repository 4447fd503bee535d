package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/place"
)

// held is what was grabbed, to be dropped on CPUs. It was fixed at the keypress:
// however the list moves meanwhile, it stays what it is.
type held struct {
	subject string
	on      cpuset.Set // ticked for the drop; empty: what is under the cursor
	drop    func(cpus cpuset.Set) tea.Cmd
	spread  func(cpus cpuset.Set) tea.Cmd // one CPU each
}

// grabbed is the tagged tasks, or the selected one.
func (m *Model) grabbed() *held {
	targets, subject := m.targets()
	if len(targets) == 0 {
		return nil
	}
	return m.heldTargets(targets, subject)
}

// heldRow is one task, whatever is tagged.
func (m *Model) heldRow(r field.Row) *held {
	return m.heldTargets([]change.Target{targetOf(r)}, nameOf(r))
}

func (m *Model) heldTargets(targets []change.Target, subject string) *held {
	return &held{subject: subject, drop: func(cpus cpuset.Set) tea.Cmd {
		return m.begin(tune("place", subject, targets,
			action.Tuning{Set: []attr.Setting{attr.SetAffinity(cpus)}, Reason: "dropped on the core panel"}))
	}, spread: func(cpus cpuset.Set) tea.Cmd {
		return m.begin(tune("spread", subject, targets, action.Tuning{Strategy: place.Spread, Within: cpus}))
	}}
}

// grab takes the rows that an action would act on, and gives the keys to the
// core panel; the cursor begins on the least-loaded CPU.
func (m *Model) grab() tea.Cmd { return m.hold(m.grabbed()) }

func (m *Model) hold(h *held) tea.Cmd {
	if h == nil || m.model == nil {
		return nil
	}
	m.chooser.held = h
	if best := m.newest.LeastLoaded; best >= 0 {
		m.pointAt(best)
	}
	return m.enterPanel()
}

// enterCPUs drops what was grabbed; without that it goes back to the list.
func (m *Model) enterCPUs() tea.Cmd {
	if h := m.chooser.held; h != nil {
		return m.letFall(h, h.drop)
	}
	return m.leavePanel()
}

// letFall gives the keys back, and does with what was grabbed what how says.
func (m *Model) letFall(h *held, how func(cpuset.Set) tea.Cmd) tea.Cmd {
	cpus := h.on
	if cpus.Empty() {
		cpus = m.region().CPUs
	}
	m.chooser.held = nil
	return tea.Batch(m.leavePanel(), how(cpus))
}
