package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/tui/dialog"
	"piton/internal/tui/keymap"
	"piton/internal/tui/whyview"
	"piton/internal/tui/widget"
)

// key gives a key to the dialog that is open, or finds the verb that it means
// in this view. Any key takes the message away.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	through, declined := m.dialogs.Lets(k)
	if !m.dialogs.Empty() && !through {
		return m.dialogs.Update(k)
	}
	return tea.Batch(declined, m.verbKey(k))
}

// verbKey is key where no dialog takes it.
func (m *Model) verbKey(k tea.KeyPressMsg) tea.Cmd {
	m.clearNotice()
	name := k.String()
	v := m.verbs.forKey(name, m.context())
	if v == nil || v.ID != "panel.number" {
		m.chooser.digits = ""
	}
	if v == nil && m.deps.ReadOnly {
		v = table().forKey(name, m.context()) // says that it is not to be had
	}
	if v != nil {
		return m.perform(v, name)
	}
	return m.say(info, m.hint(name))
}

// perform does what a verb says, or tells why it cannot be done.
func (m *Model) perform(v *verb, key string) tea.Cmd {
	if why := v.Why(m.state()); why != "" {
		return m.say(bad, why)
	}
	return v.run(m, key)
}

// hint is what is said of a key that means nothing here.
func (m *Model) hint(key string) string {
	if how, ok := action.HtopHint(key); ok && m.context() == action.Processes {
		return fmt.Sprintf("%s is not a key here; %s", keymap.Label([]string{key}), how)
	}
	for _, v := range m.verbs {
		if slices.Contains(v.Keys, key) {
			return fmt.Sprintf("%s is a key of %s: %s", keymap.Label([]string{key}), contextNames(v.In), v.Help)
		}
	}
	return fmt.Sprintf("%s is not a key here; ? lists the keys, : finds anything", keymap.Label([]string{key}))
}

func contextNames(in []action.Context) string {
	return strings.Join(group.Each(in, func(c action.Context) string { return viewNames[c] }), ", ")
}

// digitsStay is how long typed digits count as one number.
const digitsStay = 2 * time.Second

// forgetDigits ends the number after a while, unless more of it is typed.
func (c *chooser) forgetDigits() tea.Cmd {
	digits := c.digits
	return tea.Tick(digitsStay, func(time.Time) tea.Msg {
		return func() tea.Cmd {
			if digits == c.digits {
				c.digits = ""
			}
			return nil
		}
	})
}

// barOrder is the verbs of the key bar, the ones that matter most first: what
// does not fit is left out from the end. Quit always stands last.
var barOrder = map[action.Context][]string{
	action.Processes: {"app.help", "find.search", "find.filter", "show.tree", "sort.menu", "tune.pin", "tune.affinity",
		"tune.policy", "tune.undo", "tune.nice.lower", "tune.nice.raise", "view.bench", "tune.signal", "app.setup",
		"tune.auto", "show.why", "tune.place", "tune.grab", "panel.focus", "show.detail", "tune.ioprio"},
	// The views of cores and interrupts name their own keys.
	action.Cores:   {"app.help", "tune.undo", "view.bench", "app.setup"},
	action.IRQs:    {"app.help", "irqs.filter", "irqs.sort", "irqs.affinity", "irqs.place", "irqs.grab", "irqs.spread", "irqs.reset", "irqs.queue", "tune.undo", "panel.focus", "app.setup"},
	action.Bench:   {"app.help", "bench.new", "bench.paper", "bench.extend", "bench.compare", "bench.picture", "bench.write", "app.copy", "bench.cancel", "app.setup"},
	action.Race:    {"app.help", "race.keep", "race.end", "tune.undo", "app.copy", "app.setup"},
	action.Why:     {"app.help", "why.apply", "tune.undo", "app.copy", "app.back", "app.setup"},
	action.Panel:   {"app.help", "panel.enter", "panel.spread", "panel.tick", "panel.wider", "panel.narrower", "panel.allowed", "panel.isolate", "panel.include", "tune.undo"},
	action.Threads: {"threads.sort", "threads.leave", "show.trace", "show.files", "app.help"},
	action.Journal: {"app.help", "journal.undo", "journal.all", "view.bench", "app.setup"},
}

const barLast = "app.quit"

// barItem is a verb as the key bar shows it.
type barItem struct {
	verb  *verb
	key   string
	label string
	width int
}

func (m *Model) barItems(width int) []barItem {
	last, _ := m.barItem(barLast)
	items, x := make([]barItem, 0, 16), 0
	for _, id := range barOrder[m.context()] {
		it, ok := m.barItem(id)
		if !ok { // not in read-only mode
			continue
		}
		if x += it.width; x > width-last.width {
			break
		}
		items = append(items, it)
	}
	if last.width <= width {
		items = append(items, last)
	}
	return items
}

// barItem is the verb with its first key: "F1Help", "p Pin".
func (m *Model) barItem(id string) (barItem, bool) {
	v := m.verbs.byID(id)
	if v == nil || len(v.Keys) == 0 {
		return barItem{}, false
	}
	key, _, _ := strings.Cut(v.Label, " ")
	label := v.Short
	if len(key) == 1 {
		label = " " + label
	}
	return barItem{verb: v, key: key, label: label, width: widget.Width(key) + widget.Width(label) + 1}, true
}

// keyBar is the last line: what the keys do here. Verbs that cannot be used now
// are faint; their key says why.
func (m *Model) keyBar(width int) string {
	th, state, items := m.th, m.state(), m.barItems(width)
	var cells []string
	for _, it := range items {
		style := th.KeyLabel
		if it.verb.Why(state) != "" {
			style = th.KeyOff
		}
		cells = append(cells, th.Key.Render(it.key)+style.Render(it.label)+" ")
	}
	m.answer("key", 0, m.height-1, cells, func(i int) tea.Cmd {
		m.clearNotice()
		return m.perform(items[i].verb, items[i].verb.Keys[0])
	})
	return widget.Fit(strings.Join(cells, ""), width, "")
}

func itoa(id kernel.TID) string { return strconv.Itoa(int(id)) }

// showHelp lists the keys of this view, and explains the pictures and why values of the
// selected row are missing.
func (m *Model) showHelp() tea.Cmd {
	var specs []action.Spec
	in := m.context()
	for _, own := range []bool{true, false} { // the view's own come first
		for _, v := range m.verbs {
			if v.Works(in) && slices.Contains(v.In, in) == own && len(v.Keys) > 0 {
				specs = append(specs, v.spec)
			}
		}
	}
	about := []string{
		"Core panel: CPU time as user, nice, system, irq, steal; migrations into each CPU per tick, on one scale up to the peak.",
		fmt.Sprintf("%s idlest: the CPU with the least load for a new ordinary task.", m.th.Mark),
		"MIGRATIONS: of all threads, per tick: 1, 2, 4 to 128 and more a second. *: the threads differ.",
	}
	if in == action.Why {
		about = whyview.Help
	}
	about = append(append(about, m.better()...), m.procs.missing()...)
	about = append(about, "piton "+m.deps.Version+"; every key, column and setting: piton help")
	return m.dialogs.Push(dialog.NewHelp("Help: "+viewNames[in], specs, about, m.state()), func(o dialog.Outcome) tea.Cmd {
		if text, ok := o.Value.(string); ok {
			return m.openPalette(text)
		}
		return nil
	})
}

// better says what better sources of figures need than those in use.
func (m *Model) better() []string {
	if m.newest == nil {
		return nil
	}
	var needed []string
	lines := append(m.newest.Sample.Faults(), m.deps.Live.Live().Faults()...)
	all := m.newest.Sample.Collectors
	for _, c := range all {
		if c.Better == "" || slices.Contains(needed, c.Better) {
			continue
		}
		needed = append(needed, c.Better)
		var names, rungs []string
		for _, same := range all {
			if same.Better == c.Better {
				names, rungs = append(names, same.Name), append(rungs, same.Rung)
			}
		}
		what := strings.Join(names, ", ")
		lines = append(lines, fmt.Sprintf("%s: now by %s; better: %s.", strings.ToUpper(what[:1])+what[1:], strings.Join(rungs, ", "), c.Better))
	}
	return lines
}

// openPalette finds any verb by its name: those of the present view come first.
func (m *Model) openPalette(text string) tea.Cmd {
	return m.offer("Find", text, func(v *verb) bool { return v.ID != "app.palette" })
}

// offer lets the user choose one of the verbs that are wanted, text being typed already;
// those that cannot be used here and now say why.
func (m *Model) offer(title, text string, wanted func(*verb) bool) tea.Cmd {
	var here, elsewhere []dialog.Item
	for _, v := range m.verbs {
		c := dialog.Item{Value: v, Key: v.Label, Label: v.Short, Detail: v.Help, Find: v.ID + " " + v.Verb, Off: v.Why(m.state())}
		switch {
		case !wanted(v):
		case v.Works(m.context()):
			here = append(here, c)
		default:
			c.Off = "a key of " + contextNames(v.In) + ": " + v.Help
			elsewhere = append(elsewhere, c)
		}
	}
	menu := dialog.NewMenu(title, append(here, elsewhere...), 0).Typed(text)
	return m.dialogs.Push(menu, dialog.Answered(func(v *verb) tea.Cmd {
		key := ""
		if len(v.Keys) > 0 {
			key = v.Keys[0]
		}
		return m.perform(v, key)
	}))
}
