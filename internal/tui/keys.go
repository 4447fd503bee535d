package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/tui/proctable"
	"piton/internal/tui/screen"
)

// handler does what a verb says; key is the one that was pressed.
type handler func(m *Model, key string) tea.Cmd

// handlers is what each verb of the action table does on the screen.
var handlers map[string]handler

// The table refers to methods that look verbs up in it.
func init() {
	handlers = map[string]handler{
		"tune.pin":        plain((*Model).pin),
		"tune.place":      plain((*Model).askPlace),
		"tune.affinity":   plain((*Model).askAffinity),
		"tune.nice.lower": func(m *Model, _ string) tea.Cmd { return m.stepNice(-1) },
		"tune.nice.raise": func(m *Model, _ string) tea.Cmd { return m.stepNice(1) },
		"tune.policy":     plain((*Model).askPolicy),
		"tune.ioprio":     plain((*Model).askIOPrio),
		"tune.signal":     plain((*Model).askSignal),
		"tune.undo":       plain((*Model).undo),

		"tune.grab":      plain((*Model).grab),
		"panel.focus":    plain((*Model).focusPanel),
		"panel.enter":    plain((*Model).enterCPUs),
		"panel.spread":   func(m *Model, _ string) tea.Cmd { return m.letFall(m.chooser.held, m.chooser.held.spread) },
		"panel.wider":    does(func(m *Model) { m.widen(1) }),
		"panel.narrower": does(func(m *Model) { m.widen(-1) }),
		"panel.tick":     plain((*Model).tick),
		"panel.allowed":  plain((*Model).toggleMayRun),
		"panel.isolate":  plain((*Model).isolate),
		"panel.include":  plain((*Model).include),
		"panel.untick":   plain((*Model).untick),
		"panel.number":   (*Model).typeCPU,

		"show.detail":      plain((*Model).toggleDetail),
		"show.tree":        views(func(v *proctable.View) { v.Tree = !v.Tree }),
		"show.fold":        does(func(m *Model) { m.table.ToggleFold() }),
		"show.threads":     plain((*Model).toggleThreads),
		"show.kernel":      views(func(v *proctable.View) { v.Kernel = !v.Kernel }),
		"show.environment": plain((*Model).showEnvironment),
		"show.follow":      does(func(m *Model) { m.table.SetFollow(!m.table.Following()) }),
		"show.pause":       plain((*Model).togglePause),
		"show.panel":       plain((*Model).cyclePanel),
		"show.cost":        does(func(m *Model) { m.cost.shown = !m.cost.shown }),
		"cores.pin":        says("p pins a task of a CPU's ledger: l opens one"),
		"irqs.affinity":    plain((*Model).askIRQAffinity),
		"irqs.place":       plain((*Model).askIRQPlace),
		"irqs.grab":        func(m *Model, _ string) tea.Cmd { return m.hold(m.heldIRQs(m.irqs.Targets())) },
		"irqs.spread":      plain((*Model).spreadIRQs),
		"irqs.reset":       plain((*Model).resetIRQs),
		"irqs.queue":       plain((*Model).askQueue),
		"irqs.open":        says("it has no thread of its own: the CPU that it comes to handles it"),

		"find.search": (*Model).askSearch,
		"find.filter": plain((*Model).askFilter),
		"find.user":   plain((*Model).askUser),
		"find.pid":    (*Model).typePID,
		"sort.menu":   plain((*Model).askSort),
		"sort.invert": views(func(v *proctable.View) { v.Desc = !v.Desc }),

		"move.up":       either(func(m *Model) { m.stepCPU(0, -1) }, func(m *Model) { m.table.Move(-1) }),
		"move.down":     either(func(m *Model) { m.stepCPU(0, 1) }, func(m *Model) { m.table.Move(1) }),
		"move.pageup":   does(func(m *Model) { m.table.Page(-1) }),
		"move.pagedown": does(func(m *Model) { m.table.Page(1) }),
		"move.home":     either(func(m *Model) { m.edgeCPU(false) }, func(m *Model) { m.table.Home() }),
		"move.end":      either(func(m *Model) { m.edgeCPU(true) }, func(m *Model) { m.table.End() }),
		"move.left":     either(func(m *Model) { m.stepCPU(-1, 0) }, func(m *Model) { m.table.Scroll(-1) }),
		"move.right":    either(func(m *Model) { m.stepCPU(1, 0) }, func(m *Model) { m.table.Scroll(1) }),
		"tag.toggle":    does(func(m *Model) { m.table.ToggleTag() }),
		"tag.children":  plain((*Model).tagChildren),
		"tag.all":       plain((*Model).tagAll),
		"tag.none":      does(func(m *Model) { m.table.Untag() }),

		"view.next":      func(m *Model, _ string) tea.Cmd { return m.turn(1) },
		"view.previous":  func(m *Model, _ string) tea.Cmd { return m.turn(-1) },
		"view.processes": func(m *Model, _ string) tea.Cmd { return m.show(action.Processes) },
		"view.cores":     func(m *Model, _ string) tea.Cmd { return m.show(action.Cores) },
		"view.irqs":      func(m *Model, _ string) tea.Cmd { return m.show(action.IRQs) },
		"view.bench":     func(m *Model, _ string) tea.Cmd { return m.show(action.Bench) },
		"view.journal":   func(m *Model, _ string) tea.Cmd { return m.show(action.Journal) },
		"view.number":    (*Model).showNumber,

		"app.help":    plain((*Model).showHelp),
		"app.setup":   plain((*Model).askSetup),
		"app.back":    plain((*Model).back),
		"app.repaint": func(*Model, string) tea.Cmd { return screen.Repaint },
		"app.suspend": func(*Model, string) tea.Cmd { return tea.Suspend },
		"app.quit":    plain((*Model).quit),
	}
	for _, id := range []string{"cpu_percent", "mem_percent", "time_s", "pid", "migrations_per_s"} {
		handlers["sort."+id] = func(m *Model, _ string) tea.Cmd { return m.sortByID(id) }
	}
}

func plain(f func(*Model) tea.Cmd) handler {
	return func(m *Model, _ string) tea.Cmd { return f(m) }
}

func does(f func(*Model)) handler {
	return func(m *Model, _ string) tea.Cmd { f(m); return nil }
}

func says(text string) handler {
	return func(m *Model, _ string) tea.Cmd { return m.say(info, text) }
}

// views alters what the list shows.
func views(f func(*proctable.View)) handler {
	return func(m *Model, _ string) tea.Cmd { return m.change(f) }
}

// either does one thing while CPUs are chosen in the core panel, and another in the list.
func either(panel, list func(*Model)) handler {
	return does(func(m *Model) {
		if m.chooser.on {
			panel(m)
		} else {
			list(m)
		}
	})
}

// key gives a key to the dialog that is open, or finds the verb that it means
// in this view. Any key takes the message away.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	through, declined := m.dialogs.Lets(k)
	if !m.dialogs.Empty() && !through {
		return m.dialogs.Update(k)
	}
	return tea.Batch(declined, m.viewOrVerb(k))
}

// viewOrVerb is key where no dialog wants it.
func (m *Model) viewOrVerb(k tea.KeyPressMsg) tea.Cmd {
	m.clearNotice()
	name := k.String()
	s, ok := action.ForKey(name, m.context())
	if ok && s.ID != "find.pid" && s.ID != "panel.number" {
		m.pid = ""
	}
	if !m.chooser.on {
		if used, cmd := m.viewKey(k, s); used {
			return cmd
		}
	}
	if !ok {
		return nil
	}
	return m.perform(s, name)
}

// perform does what a verb says, or tells why it cannot be done.
func (m *Model) perform(s *action.Spec, key string) tea.Cmd {
	if why := s.Why(m.state()); why != "" {
		return m.say(bad, why)
	}
	if h, ok := handlers[s.ID]; ok {
		return h(m, key)
	}
	return nil
}

// pidStays is how long typed digits count as one number.
const pidStays = 2 * time.Second

// typePID jumps to the process whose number the digits so far make.
func (m *Model) typePID(key string) tea.Cmd {
	if len(m.pid) < 7 {
		m.pid += key
	}
	m.table.SelectPrefix(m.pid)
	return m.forgetDigits()
}

// forgetDigits ends the number after a while, unless more of it is typed.
func (m *Model) forgetDigits() tea.Cmd {
	digits := m.pid
	return tea.Tick(pidStays, func(time.Time) tea.Msg {
		return resume(func(m *Model) tea.Cmd {
			if digits == m.pid {
				m.pid = ""
			}
			return nil
		})
	})
}
