package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
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
		"panel.spread":   plain((*Model).spreadHeld),
		"panel.wider":    func(m *Model, _ string) tea.Cmd { return m.widen(1) },
		"panel.narrower": func(m *Model, _ string) tea.Cmd { return m.widen(-1) },
		"panel.tick":     plain((*Model).tick),
		"panel.allowed":  plain((*Model).toggleMayRun),
		"panel.isolate":  plain((*Model).isolate),
		"panel.include":  plain((*Model).include),
		"panel.untick":   plain((*Model).untick),
		"panel.number":   (*Model).typeCPU,

		"show.detail":      plain((*Model).toggleDetail),
		"show.tree":        plain((*Model).toggleTree),
		"show.fold":        func(m *Model, _ string) tea.Cmd { m.table.ToggleFold(); return nil },
		"show.threads":     plain((*Model).toggleThreads),
		"show.kernel":      plain((*Model).toggleKernel),
		"show.environment": plain((*Model).showEnvironment),
		"show.follow":      plain((*Model).toggleFollow),
		"show.pause":       plain((*Model).togglePause),
		"show.panel":       plain((*Model).cyclePanel),
		"show.cost":        plain((*Model).toggleCost),
		"cores.pin":        plain((*Model).whyNotPinned),
		"irqs.affinity":    plain((*Model).askIRQAffinity),
		"irqs.place":       plain((*Model).askIRQPlace),
		"irqs.grab":        plain((*Model).grabIRQs),
		"irqs.spread":      plain((*Model).spreadIRQs),
		"irqs.reset":       plain((*Model).resetIRQs),
		"irqs.queue":       plain((*Model).askQueue),
		"irqs.open":        plain((*Model).whyNoHandler),

		"find.search": (*Model).askSearch,
		"find.filter": plain((*Model).askFilter),
		"find.user":   plain((*Model).askUser),
		"find.pid":    (*Model).typePID,
		"sort.menu":   plain((*Model).askSort),
		"sort.invert": plain((*Model).invert),

		"move.up":       arrows(0, -1, func(m *Model) { m.table.Move(-1) }),
		"move.down":     arrows(0, 1, func(m *Model) { m.table.Move(1) }),
		"move.pageup":   func(m *Model, _ string) tea.Cmd { m.table.Page(-1); return nil },
		"move.pagedown": func(m *Model, _ string) tea.Cmd { m.table.Page(1); return nil },
		"move.home":     edges(false, func(m *Model) { m.table.Home() }),
		"move.end":      edges(true, func(m *Model) { m.table.End() }),
		"move.left":     arrows(-1, 0, func(m *Model) { m.table.Scroll(-1) }),
		"move.right":    arrows(1, 0, func(m *Model) { m.table.Scroll(1) }),
		"tag.toggle":    func(m *Model, _ string) tea.Cmd { m.table.ToggleTag(); return nil },
		"tag.children":  plain((*Model).tagChildren),
		"tag.all":       plain((*Model).tagAll),
		"tag.none":      func(m *Model, _ string) tea.Cmd { m.table.Untag(); return nil },

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
