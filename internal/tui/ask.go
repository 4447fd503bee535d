package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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
			return m.saying(bad, err.Error())
		}
		// Without the cpuset the editor offers every CPU, and the plan says no.
		if allowed, _, err := tuning.Cpuset(pid); err == nil && len(targets) == 1 {
			o.Allowed = allowed
		}
		return func() tea.Cmd {
			return m.openAffinity(o, targets)
		}
	}
}

func (m *Model) openAffinity(o dialog.AffinityOptions, targets []change.Target) tea.Cmd {
	d := dialog.NewAffinity(o)
	return m.dialogs.Push(d, dialog.Answered(func(cpus cpuset.Set) tea.Cmd {
		set := []attr.Setting{attr.SetAffinity(cpus)}
		if d.MemoryFollows {
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

func (m *Model) askPolicy() tea.Cmd {
	targets, subject := m.targets()
	first := m.table.Targets()[0]
	t, rates := first.Task(), first.Rates()
	o := dialog.PolicyOptions{Subject: subject, Busy: model.Known(rates.CPUPercent) && rates.CPUPercent >= 50,
		Current: attr.PolicyValue{Policy: t.Policy, RTPrio: int(t.RTPrio), ResetOnFork: t.Have&sample.HaveAttr != 0 && t.ResetOnFork}}
	tuning := m.deps.Tuning
	return func() tea.Msg {
		o.Autogroup, o.Leftover = tuning.Autogrouped(t.TGID), tuning.Leftover()
		return func() tea.Cmd {
			return m.dialogs.Push(dialog.NewPolicy(o), dialog.Answered(func(set []attr.Setting) tea.Cmd {
				return m.begin(tune("policy", subject, targets, action.Tuning{Set: set}))
			}))
		}
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
			return m.saying(bad, err.Error())
		}
		return func() tea.Cmd {
			return m.dialogs.Push(dialog.NewIOPriority(subject, kernel.IOPrio(now.(attr.IOPrioValue))), dialog.Answered(func(p kernel.IOPrio) tea.Cmd {
				return m.begin(tune("I/O priority", subject, targets, action.Tuning{Set: []attr.Setting{attr.SetIOPrio(p)}}))
			}))
		}
	}
}

// processes are those of the rows that an action would act on, each once: a
// signal is for a whole process, whichever of its threads are tagged.
func (m *Model) processes() (targets []change.Target, subject string) {
	var rows []field.Row
	seen := map[kernel.TID]bool{}
	for _, r := range m.table.Targets() {
		if pid := r.Task().TGID; !seen[pid] {
			seen[pid] = true
			rows = append(rows, processOf(r))
		}
	}
	targets, subject = targetsOf(rows)
	if n := len(rows); n > 1 {
		subject = cmp.Or(m.table.Named(), chart.Plural(n, "process"))
	}
	return targets, subject
}

// processOf is the row of a thread's process, the thread's own if there is none.
func processOf(r field.Row) field.Row {
	if i, ok := action.Find(r.M, change.Target{TID: r.Task().TGID}); ok {
		r.I = i
	}
	return r
}

func (m *Model) askSignal() tea.Cmd {
	targets, subject := m.processes()
	return m.dialogs.Push(dialog.NewSignals(subject), dialog.Answered(func(n int) tea.Cmd {
		if len(targets) > 1 {
			return m.confirmSignal(syscall.Signal(n), targets, subject)
		}
		return m.send(syscall.Signal(n), targets)
	}))
}

func (m *Model) confirmSignal(sig syscall.Signal, targets []change.Target, subject string) tea.Cmd {
	lines := []dialog.Line{{Tone: dialog.Loud, Text: fmt.Sprintf("send signal %d (%s) to %s", int(sig), field.Clean(sig.String()), subject)}}
	return m.dialogs.Push(dialog.NewConfirm("Send?", lines, "send", "cancel").Careful(), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return nil
		}
		return m.send(sig, targets)
	})
}

func (m *Model) send(sig syscall.Signal, targets []change.Target) tea.Cmd {
	tuning := m.deps.Tuning
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
			m.deps.Sampler.Refresh()
			if first != nil {
				return m.say(bad, fmt.Sprintf("signal %d sent to %d of %s: %v", int(sig), sent, chart.Plural(len(targets), "process"), first))
			}
			return m.say(good, fmt.Sprintf("signal %d (%s) sent to %s", int(sig), field.Clean(sig.String()), chart.Plural(sent, "process")))
		}
	}
}

// askSearch moves the cursor while one types. With a search going on, F3 finds
// the next match, as in htop.
func (m *Model) askSearch(key string) tea.Cmd {
	if m.search != "" && key == "f3" {
		if !m.table.Search(m.search, true) {
			return m.say(bad, "no match in the list for "+field.Clean(m.search))
		}
		return m.say(info, "searching "+field.Clean(m.search)+": F3 next, Esc ends")
	}
	p := dialog.NewPrompt("Search", "", nil)
	start, ok := m.table.Selected()
	if !ok {
		return m.say(info, "the list is empty")
	}
	return m.dialogs.Push(p, func(o dialog.Outcome) tea.Cmd {
		text, _ := o.Value.(string)
		switch {
		case o.Canceled:
			m.table.Select(start.Task().TID)
		case o.Done:
			m.search = text
		case text != "" && !m.table.SelectPrefix(text) && !m.table.Search(text, false):
			p.SetNote("no match in the list")
		}
		return nil
	})
}

// askFilter shows only matching rows while one types.
func (m *Model) askFilter() tea.Cmd {
	before, at := m.table.View().Filter, m.table.At()
	check := func(text string) error { _, err := field.ParseFilter(text); return err }
	return m.dialogs.Push(dialog.NewPrompt("Filter", before.String(), check), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			cmd := m.setFilter(before)
			m.table.List.Select(at)
			return cmd
		}
		text, _ := o.Value.(string)
		if f, err := field.ParseFilter(text); err == nil {
			return m.setFilter(f)
		}
		return nil
	})
}

func (m *Model) setFilter(f *field.Filter) tea.Cmd {
	if f.String() == "" {
		f = nil
	}
	return m.change(func(v *proctable.View) { v.Filter = f })
}

func (m *Model) askUser() tea.Cmd {
	if m.model == nil {
		return nil
	}
	count, all := map[string]int{}, 0
	for i := range m.model.Sample.Tasks {
		if t := m.model.Sample.Tasks[i]; t.IsProcess() && t.ID != nil {
			count[t.ID.User]++
			all++
		}
	}
	item := func(label, name string, n int) dialog.Item {
		number, word, _ := strings.Cut(chart.Plural(n, "process"), " ")
		return dialog.Item{Label: label, Detail: fmt.Sprintf("%5s %s", number, word), Value: func() tea.Cmd {
			return m.change(func(v *proctable.View) { v.User = name })
		}}
	}
	items, at := []dialog.Item{item("all users", "", all)}, 0
	for _, name := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	}) {
		if name == m.table.View().User {
			at = len(items)
		}
		items = append(items, item(name, name, count[name]))
	}
	return m.menu("Show processes of", items, at)
}

func (m *Model) askSort() tea.Cmd {
	current := ""
	if c := m.table.View().Sort; c != nil {
		current = c.ID
	}
	return m.dialogs.Push(dialog.NewSort(field.Columns, current), dialog.Answered(m.sortBy))
}

func (m *Model) askSetup() tea.Cmd {
	l := m.layouts.Present()
	now := dialog.Settings{Delay: m.interval, Panel: m.chooser.mode.String(), Meters: m.meters, Layout: l.Name,
		Columns: l.Shown(m.table.View().Threads)}
	panels := []string{corepanel.Full.String(), corepanel.Folded.String(), corepanel.Hidden.String()}
	return m.dialogs.Push(dialog.NewSetup(field.Columns, panels, now), dialog.Answered(m.apply))
}

// apply uses new settings at once and has them kept.
func (m *Model) apply(s dialog.Settings) tea.Cmd {
	if !slices.Equal(s.Columns, m.layouts.Present().Shown(m.table.View().Threads)) {
		m.layouts.SetColumns(s.Columns)
	}
	m.change(func(*proctable.View) {})
	if s.Delay != m.interval {
		m.interval = s.Delay
		m.deps.Sampler.SetInterval(s.Delay)
	}
	m.chooser.setMode(s.Panel)
	m.meters = s.Meters
	if s.Layouts {
		return tea.Batch(m.keep(), m.askLayout())
	}
	return m.keep()
}

// askLayout offers the layouts, and to save, rename or delete the present one.
func (m *Model) askLayout() tea.Cmd {
	all, at := m.layouts.All()
	var items []dialog.Item
	for _, l := range all {
		columns := cmp.Or(strings.Join(l.Columns, " "), "the usual columns")
		items = append(items, dialog.Item{Label: l.Name, Detail: columns, Value: func() tea.Cmd { return m.chooseLayout(l.Name) }})
	}
	name := m.layouts.Present().Name
	rename, remove := m.layouts.Fixed()
	items = append(items,
		dialog.Item{Label: "save as" + m.th.Ellipsis, Detail: "the present columns, order, arrangement and filter", Value: func() tea.Cmd {
			return m.nameLayout("Save layout as", "", func(name string) error { return m.layouts.Save(name, m.table.View()) })
		}},
		dialog.Item{Label: "rename" + m.th.Ellipsis, Detail: name, Off: rename, Value: func() tea.Cmd {
			return m.nameLayout("Rename layout to", name, m.layouts.Rename)
		}},
		dialog.Item{Label: "delete", Detail: name, Off: remove, Value: m.deleteLayout})
	return m.menu("Layouts", items, at)
}

// nameLayout asks for a name, and keeps what use does with it.
func (m *Model) nameLayout(label, now string, use func(string) error) tea.Cmd {
	return m.dialogs.Push(dialog.NewPrompt(label, now, nil), func(o dialog.Outcome) tea.Cmd {
		name, _ := o.Value.(string)
		if !o.Done || o.Canceled {
			return nil
		}
		if err := use(name); err != nil {
			return m.say(bad, "layout: "+err.Error())
		}
		return m.layoutsChanged("layout " + name)
	})
}

func (m *Model) deleteLayout() tea.Cmd {
	name := m.layouts.Present().Name
	l := m.layouts.Delete()
	m.change(func(v *proctable.View) { l.Apply(v) })
	return m.layoutsChanged("layout " + name + " deleted")
}

// layoutsChanged makes verbs of the layouts that there are now, and keeps them.
func (m *Model) layoutsChanged(what string) tea.Cmd {
	o := m.deps.Options
	o.Layouts = m.layouts.Own()
	m.verbs = o.verbs()
	return tea.Batch(m.say(info, what), m.keep())
}

func (c *chooser) setMode(name string) {
	for mode := corepanel.Full; mode <= corepanel.Hidden; mode++ {
		if mode.String() == name {
			c.mode = mode
		}
	}
}

// keep writes the settings, beside the screen.
func (m *Model) keep() tea.Cmd {
	if m.deps.Settings == nil {
		return nil
	}
	l := m.layouts.Main(m.table.View())
	s := Saved{Columns: l.Columns, Sort: l.Sort, Layouts: m.layouts.Own(), Interval: m.interval, Panel: m.chooser.mode.String(),
		Meters: m.meters}
	store := m.deps.Settings
	return func() tea.Msg {
		if err := store.Save(s); err != nil {
			return m.saying(bad, "settings not saved: "+err.Error())
		}
		return m.saying(good, "settings kept")
	}
}
