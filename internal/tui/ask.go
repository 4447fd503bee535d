package tui

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/chart"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
)

// pin puts the targets on the least-loaded core, one core each.
func (p *processView) pin() tea.Cmd {
	targets, subject := p.targets()
	return p.chooser.changes.begin(tune("pin", subject, targets, pinning()))
}

// askAffinity opens the editor over the topology. What the targets may use now is
// read for it: samples have that of rows whose column is shown only.
func (p *processView) askAffinity() tea.Cmd {
	targets, subject := p.targets()
	o := dialog.AffinityOptions{Subject: subject, Topology: p.deps.Topology, Load: p.load(),
		LeastLoaded: p.newest.LeastLoaded, Memory: len(p.deps.Topology.Nodes) > 1}
	pid, tuning := p.Targets()[0].Task().TGID, p.deps.Tuning
	return func() tea.Msg {
		var err error
		if o.Current, o.Mixed, err = masks(tuning, targets); err != nil {
			return p.saying(bad, err.Error())
		}
		// Without the cpuset the editor offers every CPU, and the plan says no.
		if allowed, _, err := tuning.Cpuset(pid); err == nil && len(targets) == 1 {
			o.Allowed = allowed
		}
		return func() tea.Cmd {
			return p.openAffinity(o, targets)
		}
	}
}

func (p *processView) openAffinity(o dialog.AffinityOptions, targets []change.Target) tea.Cmd {
	d := dialog.NewAffinity(o)
	return p.dialogs.Push(d, dialog.Answered(func(cpus cpuset.Set) tea.Cmd {
		set := []attr.Setting{attr.SetAffinity(cpus)}
		if d.MemoryFollows {
			set = append(set, attr.SetMemoryNear(cpus))
		}
		return p.chooser.changes.begin(tune("affinity", o.Subject, targets, action.Tuning{Set: set}))
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

func present(tuning Tuning, a attr.Attribute, t change.Target) (attr.Value, error) {
	v, err := tuning.Value(a, t.TID)
	if err != nil {
		err = fmt.Errorf("%s of %d: %w", a.Title(), t.TID, err)
	}
	return v, err
}

// load is the busy share of each CPU, for the editor.
func (s *shared) load() dialog.LoadMsg {
	load := dialog.LoadMsg{}
	for i := range s.newest.CPUs {
		if c := &s.newest.CPUs[i]; model.Known(c.Busy) {
			load[c.ID] = c.Busy
		}
	}
	return load
}

func (p *processView) askPolicy() tea.Cmd {
	targets, subject := p.targets()
	first := p.Targets()[0]
	t, rates := first.Task(), first.Rates()
	o := dialog.PolicyOptions{Subject: subject, Busy: model.Known(rates.CPUPercent) && rates.CPUPercent >= 50,
		Current: attr.PolicyValue{Policy: t.Policy, RTPrio: int(t.RTPrio), ResetOnFork: t.Have&sample.HaveAttr != 0 && t.ResetOnFork}}
	tuning := p.deps.Tuning
	return func() tea.Msg {
		o.Autogroup, o.Leftover = tuning.Autogrouped(t.TGID), tuning.Leftover()
		return func() tea.Cmd {
			return p.dialogs.Push(dialog.NewPolicy(o), dialog.Answered(func(set []attr.Setting) tea.Cmd {
				return p.chooser.changes.begin(tune("policy", subject, targets, action.Tuning{Set: set}))
			}))
		}
	}
}

// askIOPrio asks for the I/O priority. The present one, of the first of several
// targets, is read as for askAffinity.
func (p *processView) askIOPrio() tea.Cmd {
	targets, subject := p.targets()
	tuning := p.deps.Tuning
	return func() tea.Msg {
		var now attr.Value
		var err error
		for _, t := range targets {
			if now, err = present(tuning, attr.IOPrio, t); err == nil {
				break
			}
		}
		if err != nil {
			return p.saying(bad, err.Error())
		}
		return func() tea.Cmd {
			return p.dialogs.Push(dialog.NewIOPriority(subject, kernel.IOPrio(now.(attr.IOPrioValue))), dialog.Answered(func(prio kernel.IOPrio) tea.Cmd {
				return p.chooser.changes.begin(tune("I/O priority", subject, targets, action.Tuning{Set: []attr.Setting{attr.SetIOPrio(prio)}}))
			}))
		}
	}
}

// processOf is the row of a thread's process, the thread's own if there is none.
func processOf(r field.Row) field.Row {
	if i, ok := action.Find(r.M, change.Target{TID: r.Task().TGID}); ok {
		r.I = i
	}
	return r
}

func (p *processView) askSignal() tea.Cmd {
	targets, subject := p.processes()
	return p.dialogs.Push(dialog.NewSignals(subject), dialog.Answered(func(n int) tea.Cmd {
		if len(targets) > 1 {
			return p.confirmSignal(syscall.Signal(n), targets, subject)
		}
		return p.send(syscall.Signal(n), targets)
	}))
}

func (p *processView) confirmSignal(sig syscall.Signal, targets []change.Target, subject string) tea.Cmd {
	lines := []dialog.Line{{Tone: dialog.Loud, Text: fmt.Sprintf("send signal %d (%s) to %s", int(sig), field.Clean(sig.String()), subject)}}
	return p.dialogs.Push(dialog.NewConfirm("Send?", lines, "send", "cancel").Careful(), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return nil
		}
		return p.send(sig, targets)
	})
}

func (p *processView) send(sig syscall.Signal, targets []change.Target) tea.Cmd {
	tuning := p.deps.Tuning
	return func() tea.Msg {
		sent, first := 0, error(nil)
		for _, t := range targets {
			if err := tuning.Signal(t, sig); err == nil {
				sent++
			} else {
				first = cmp.Or(first, err)
			}
		}
		return func() tea.Cmd {
			p.deps.Sampler.Refresh()
			if first != nil {
				return p.say(bad, fmt.Sprintf("signal %d sent to %d of %s: %v", int(sig), sent, chart.Plural(len(targets), "process"), first))
			}
			return p.say(good, fmt.Sprintf("signal %d (%s) sent to %s", int(sig), field.Clean(sig.String()), chart.Plural(sent, "process")))
		}
	}
}

func (m *Model) askSetup() tea.Cmd {
	l := m.procs.layouts.Present()
	now := dialog.Settings{Delay: m.interval, Panel: m.chooser.mode.String(), Meters: m.meters, Layout: l.Name,
		Columns: l.Shown(m.procs.View().Threads)}
	return m.dialogs.Push(dialog.NewSetup(field.Columns, corepanel.Modes, now), dialog.Answered(m.apply))
}

// apply uses new settings at once and has them kept.
func (m *Model) apply(s dialog.Settings) tea.Cmd {
	if !slices.Equal(s.Columns, m.procs.layouts.Present().Shown(m.procs.View().Threads)) {
		m.procs.layouts.SetColumns(s.Columns)
	}
	m.procs.change(func(*proctable.View) {})
	if s.Delay != m.interval {
		m.interval = s.Delay
		m.deps.Sampler.SetInterval(s.Delay)
	}
	m.chooser.mode = corepanel.ModeOf(s.Panel)
	m.meters = s.Meters
	if s.Layouts {
		return tea.Batch(m.keep(), m.procs.askLayout())
	}
	return m.keep()
}

// keep makes verbs of the layouts that there are now, and writes the settings, beside the
// screen.
func (m *Model) keep() tea.Cmd {
	o := m.deps.Options
	o.Layouts = m.procs.layouts.Own()
	m.verbs = o.verbs()
	if m.deps.Settings == nil {
		return nil
	}
	l := m.procs.layouts.Main(m.procs.View())
	s := Saved{Columns: l.Columns, Sort: l.Sort, Layouts: o.Layouts, Interval: m.interval, Panel: m.chooser.mode.String(),
		Meters: m.meters}
	store := m.deps.Settings
	return func() tea.Msg {
		if err := store.Save(s); err != nil {
			return m.saying(bad, "settings not saved: "+err.Error())
		}
		return m.saying(good, "settings kept")
	}
}
