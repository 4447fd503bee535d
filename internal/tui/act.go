package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/dialog"
	"piton/internal/tune"
)

// pin puts the targets on the least-loaded core, one core each.
func (m *Model) pin() tea.Cmd {
	targets, subject := m.targets()
	return m.begin(job{what: "pin", subject: subject, targets: targets, want: action.Tuning{Strategy: place.LeastLoaded}})
}

// askAffinity opens the editor over the topology.
func (m *Model) askAffinity() tea.Cmd {
	targets, subject := m.targets()
	o := dialog.AffinityOptions{Subject: subject, Topology: m.deps.Topology, Load: m.load(), LeastLoaded: m.model.LeastLoaded,
		Memory: len(m.deps.Topology.Nodes) > 1}
	o.Current, o.Mixed = m.masks()
	if o.Current.Empty() {
		o.Current = m.deps.Topology.Online
	}
	ask := affinityAsked{o, job{what: "affinity", subject: subject, targets: targets}}
	if len(targets) > 1 {
		return m.openAffinity(ask)
	}
	pid, tuning := m.table.Targets()[0].Task().TGID, m.deps.Tuning
	return func() tea.Msg {
		// Without the cpuset the editor offers every CPU, and the plan says no.
		if allowed, _, err := tuning.Cpuset(pid); err == nil {
			ask.Allowed = allowed
		}
		return ask
	}
}

// affinityAsked opens the editor once the target's cpuset has been read.
type affinityAsked struct {
	dialog.AffinityOptions
	job job
}

func (m *Model) openAffinity(a affinityAsked) tea.Cmd {
	d := dialog.NewAffinity(a.AffinityOptions)
	return m.dialogs.Push(d, func(out dialog.Outcome) tea.Cmd {
		cpus, ok := out.Value.(cpuset.Set)
		if !ok || out.Canceled {
			return nil
		}
		a.job.want = action.Tuning{CPUs: cpus, MemoryFollows: d.MemoryFollows()}
		return m.begin(a.job)
	})
}

// masks is the union of the targets' masks, and whether they differ.
func (m *Model) masks() (all cpuset.Set, mixed bool) {
	for i, r := range m.table.Targets() {
		t := r.Task()
		if t.Have&sample.HaveAffinity == 0 {
			continue
		}
		mixed = mixed || i > 0 && !all.Equal(t.Affinity)
		all = all.Or(t.Affinity)
	}
	return all, mixed
}

// load is the busy share of each CPU, for the editor.
func (m *Model) load() dialog.LoadMsg {
	load := dialog.LoadMsg{}
	for i := range m.model.CPUs {
		if c := &m.model.CPUs[i]; model.Known(c.Busy) {
			load[c.ID] = c.Busy
		}
	}
	return load
}

// policyAsked opens the policy dialog once it is known whether nice counts.
type policyAsked struct {
	dialog.PolicyOptions
	targets []tune.Target
}

// askPolicy asks for policy, real-time priority and what goes with them.
func (m *Model) askPolicy() tea.Cmd {
	ask := policyAsked{}
	ask.targets, ask.Subject = m.targets()
	first := m.table.Targets()[0]
	t, rates := first.Task(), first.Rates()
	ask.Current = tune.PolicySetting{Policy: t.Policy, RTPrio: int(t.RTPrio), ResetOnFork: t.Have&sample.HaveAttr != 0 && t.ResetOnFork}
	ask.Busy = model.Known(rates.CPUPercent) && rates.CPUPercent >= 50
	tuning := m.deps.Tuning
	return func() tea.Msg {
		ask.Autogroup = tuning.Autogrouped(t.TGID)
		return ask
	}
}

func (m *Model) openPolicy(a policyAsked) tea.Cmd {
	return m.dialogs.Push(dialog.NewPolicy(a.PolicyOptions), func(o dialog.Outcome) tea.Cmd {
		p, ok := o.Value.(dialog.PolicyAnswer)
		if !ok {
			return nil
		}
		return m.begin(job{what: "policy", subject: a.Subject, targets: a.targets,
			want: action.Tuning{Policy: p.Policy, Slice: p.Slice, Autogroup: p.Session}})
	})
}

func (m *Model) askIOPrio() tea.Cmd {
	targets, subject := m.targets()
	now := m.table.Targets()[0].Task().IOPrio
	return m.dialogs.Push(dialog.NewIOPriority(subject, now), func(o dialog.Outcome) tea.Cmd {
		p, ok := o.Value.(kernel.IOPrio)
		if !ok || o.Canceled {
			return nil
		}
		return m.begin(job{what: "I/O priority", subject: subject, targets: targets, want: action.Tuning{IOPrio: &p}})
	})
}

// undo takes the last change back.
func (m *Model) undo() tea.Cmd { return m.undoThese(tune.UndoRequest{Last: 1}) }

func (m *Model) undoThese(q tune.UndoRequest) tea.Cmd {
	if m.deps.ReadOnly {
		return nil
	}
	return m.begin(job{what: "undo", undo: &q})
}
