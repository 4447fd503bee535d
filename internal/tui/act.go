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
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/dialog"
)

// pin puts the targets on the least-loaded core, one core each.
func (m *Model) pin() tea.Cmd {
	targets, subject := m.targets()
	return m.begin(job{what: "pin", subject: subject, targets: targets, want: action.Tuning{Strategy: place.LeastLoaded}})
}

// askAffinity opens the editor over the topology. What the targets may use now is
// read for it: samples have that of rows whose column is shown only.
func (m *Model) askAffinity() tea.Cmd {
	targets, subject := m.targets()
	ask := affinityAsked{job: job{what: "affinity", subject: subject, targets: targets},
		AffinityOptions: dialog.AffinityOptions{Subject: subject, Topology: m.deps.Topology, Load: m.load(),
			LeastLoaded: m.newest.LeastLoaded, Memory: len(m.deps.Topology.Nodes) > 1}}
	pid, tuning := m.table.Targets()[0].Task().TGID, m.deps.Tuning
	return func() tea.Msg {
		ask.Current, ask.Mixed, ask.err = masks(tuning, targets)
		// Without the cpuset the editor offers every CPU, and the plan says no.
		if allowed, _, err := tuning.Cpuset(pid); err == nil && len(targets) == 1 {
			ask.Allowed = allowed
		}
		return ask
	}
}

// affinityAsked opens the editor once the targets' masks and cpuset have been read.
type affinityAsked struct {
	dialog.AffinityOptions
	job job
	err error // the masks are not known
}

func (m *Model) openAffinity(a affinityAsked) tea.Cmd {
	if a.err != nil {
		return m.say(bad, a.err.Error())
	}
	d := dialog.NewAffinity(a.AffinityOptions)
	return m.dialogs.Push(d, func(out dialog.Outcome) tea.Cmd {
		cpus, ok := out.Value.(cpuset.Set)
		if !ok || out.Canceled {
			return nil
		}
		a.job.want.Set = []attr.Setting{attr.SetAffinity(cpus)}
		if d.MemoryFollows() {
			a.job.want.Set = append(a.job.want.Set, attr.SetMemoryNear(cpus))
		}
		return m.begin(a.job)
	})
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

// policyAsked opens the policy dialog once it is known whether nice counts.
type policyAsked struct {
	dialog.PolicyOptions
	targets []change.Target
}

// askPolicy asks for policy, real-time priority and what goes with them.
func (m *Model) askPolicy() tea.Cmd {
	ask := policyAsked{}
	ask.targets, ask.Subject = m.targets()
	first := m.table.Targets()[0]
	t, rates := first.Task(), first.Rates()
	ask.Current = attr.PolicyValue{Policy: t.Policy, RTPrio: int(t.RTPrio), ResetOnFork: t.Have&sample.HaveAttr != 0 && t.ResetOnFork}
	ask.Busy = model.Known(rates.CPUPercent) && rates.CPUPercent >= 50
	tuning := m.deps.Tuning
	return func() tea.Msg {
		ask.Autogroup = tuning.Autogrouped(t.TGID)
		return ask
	}
}

func (m *Model) openPolicy(a policyAsked) tea.Cmd {
	return m.dialogs.Push(dialog.NewPolicy(a.PolicyOptions), func(o dialog.Outcome) tea.Cmd {
		set, ok := o.Value.([]attr.Setting)
		if !ok {
			return nil
		}
		return m.begin(job{what: "policy", subject: a.Subject, targets: a.targets, want: action.Tuning{Set: set}})
	})
}

// ioPrioAsked opens the menu once the present I/O priority, of the first of
// several targets, has been read.
type ioPrioAsked struct {
	job job
	now kernel.IOPrio
	err error
}

// askIOPrio asks for the I/O priority. The present one is read as for askAffinity.
func (m *Model) askIOPrio() tea.Cmd {
	targets, subject := m.targets()
	ask, tuning := ioPrioAsked{job: job{what: "I/O priority", subject: subject, targets: targets}}, m.deps.Tuning
	return func() tea.Msg {
		for _, t := range targets {
			var v attr.Value
			if v, ask.err = present(tuning, attr.IOPrio, t); ask.err == nil {
				ask.now = kernel.IOPrio(v.(attr.IOPrioValue))
				break
			}
		}
		return ask
	}
}

func (m *Model) openIOPrio(a ioPrioAsked) tea.Cmd {
	if a.err != nil {
		return m.say(bad, a.err.Error())
	}
	return m.dialogs.Push(dialog.NewIOPriority(a.job.subject, a.now), func(o dialog.Outcome) tea.Cmd {
		p, ok := o.Value.(kernel.IOPrio)
		if !ok || o.Canceled {
			return nil
		}
		a.job.want.Set = []attr.Setting{attr.SetIOPrio(p)}
		return m.begin(a.job)
	})
}
