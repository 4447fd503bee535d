package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/dialog"
)

// pin puts the targets on the least-loaded core, one core each.
func (m *Model) pin() tea.Cmd {
	targets, subject := m.targets()
	return m.begin(tune("pin", subject, targets, pinning()))
}

// askAffinity opens the editor over the topology. What the targets may use now is
// read for it: samples have that of rows whose column is shown only.
func (m *Model) askAffinity() tea.Cmd {
	targets, subject := m.targets()
	o := dialog.AffinityOptions{Subject: subject, Topology: m.deps.Topology, Load: m.load(),
		LeastLoaded: m.newest.LeastLoaded, Memory: len(m.deps.Topology.Nodes) > 1}
	pid, tuning := m.table.Targets()[0].Task().TGID, m.deps.Tuning
	return func() tea.Msg {
		var err error
		if o.Current, o.Mixed, err = masks(tuning, targets); err != nil {
			return saying(bad, err.Error())
		}
		// Without the cpuset the editor offers every CPU, and the plan says no.
		if allowed, _, err := tuning.Cpuset(pid); err == nil && len(targets) == 1 {
			o.Allowed = allowed
		}
		return resume(func(m *Model) tea.Cmd {
			return m.openAffinity(o, targets)
		})
	}
}

func (m *Model) openAffinity(o dialog.AffinityOptions, targets []change.Target) tea.Cmd {
	d := dialog.NewAffinity(o)
	return m.dialogs.Push(d, dialog.Answered(func(cpus cpuset.Set) tea.Cmd {
		set := []attr.Setting{attr.SetAffinity(cpus)}
		if d.MemoryFollows() {
			set = append(set, attr.SetMemoryNear(cpus))
		}
		return m.begin(tune("affinity", o.Subject, targets, action.Tuning{Set: set}))
	}))
}

// masks is the union of the targets' masks, and whether they differ; of targets
// that have ended meanwhile the plan tells.
func masks(tuning Tuning, targets []change.Target) (all cpuset.Set, mixed bool, err error) {
	for _, t := range targets {
		var v attr.Value
		if v, err = present(tuning, attr.Affinity, t); err == nil {
			mixed = mixed || !all.Empty() && !all.Equal(attr.CPUs(v))
			all = all.Or(attr.CPUs(v))
		}
	}
	if !all.Empty() {
		err = nil
	}
	return all, mixed, err
}

// present is what a target has now of an attribute.
func present(tuning Tuning, a attr.Attribute, t change.Target) (attr.Value, error) {
	v, err := tuning.Value(a, t.TID)
	if err != nil {
		err = fmt.Errorf("%s of %d: %w", a.Title(), t.TID, err)
	}
	return v, err
}

// load is the busy share of each CPU, for the editor.
func (m *Model) load() dialog.LoadMsg {
	load := dialog.LoadMsg{}
	for i := range m.newest.CPUs {
		if c := &m.newest.CPUs[i]; model.Known(c.Busy) {
			load[c.ID] = c.Busy
		}
	}
	return load
}

// askPolicy asks for policy, real-time priority and what goes with them.
func (m *Model) askPolicy() tea.Cmd {
	targets, subject := m.targets()
	first := m.table.Targets()[0]
	t, rates := first.Task(), first.Rates()
	o := dialog.PolicyOptions{Subject: subject, Busy: model.Known(rates.CPUPercent) && rates.CPUPercent >= 50,
		Current: attr.PolicyValue{Policy: t.Policy, RTPrio: int(t.RTPrio), ResetOnFork: t.Have&sample.HaveAttr != 0 && t.ResetOnFork}}
	tuning := m.deps.Tuning
	return func() tea.Msg {
		o.Autogroup = tuning.Autogrouped(t.TGID)
		return resume(func(m *Model) tea.Cmd {
			return m.dialogs.Push(dialog.NewPolicy(o), dialog.Answered(func(set []attr.Setting) tea.Cmd {
				return m.begin(tune("policy", subject, targets, action.Tuning{Set: set}))
			}))
		})
	}
}

// askIOPrio asks for the I/O priority. The present one, of the first of several
// targets, is read as for askAffinity.
func (m *Model) askIOPrio() tea.Cmd {
	targets, subject := m.targets()
	tuning := m.deps.Tuning
	return func() tea.Msg {
		var now attr.Value
		var err error
		for _, t := range targets {
			if now, err = present(tuning, attr.IOPrio, t); err == nil {
				break
			}
		}
		if err != nil {
			return saying(bad, err.Error())
		}
		return resume(func(m *Model) tea.Cmd {
			return m.dialogs.Push(dialog.NewIOPriority(subject, kernel.IOPrio(now.(attr.IOPrioValue))), dialog.Answered(func(p kernel.IOPrio) tea.Cmd {
				return m.begin(tune("I/O priority", subject, targets, action.Tuning{Set: []attr.Setting{attr.SetIOPrio(p)}}))
			}))
		})
	}
}
