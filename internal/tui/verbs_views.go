package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/tui/screen"
)

// viewVerbs open the views. The digits stand for what the tabs show.
func viewVerbs() []verb {
	return []verb{
		v("view.processes", everywhere, "1", "Processes", "processes", shows(action.Processes)),
		v("view.cores", everywhere, "2", "Cores", "migrations from CPU to CPU, and each CPU's time by task", shows(action.Cores)),
		v("view.irqs", everywhere, "3", "IRQs", "rate, CPUs, device and driver of each interrupt", shows(action.IRQs)).like("irq list"),
		v("view.bench", everywhere, "b 4", "Bench", "benchmarks and their results", shows(action.Bench)).like("bench"),
		v("view.journal", everywhere, "5", "Journal", "journal of the changes made", shows(action.Journal)).like("journal"),
		v("view.next", everywhere, "tab", "Next view", "next view", func(m *Model, _ string) tea.Cmd { return m.turn(1) }),
		v("view.previous", everywhere, "shift+tab", "Previous", "previous view", func(m *Model, _ string) tea.Cmd { return m.turn(-1) }),
	}
}

func shows(view action.Context) handler {
	return func(m *Model, _ string) tea.Cmd { return m.show(view) }
}

func coresVerbs() []verb {
	return []verb{
		v("cores.open", coresView, "enter", "Open", "the tasks behind a cell, the ledger of a CPU, a task among the processes", plain(func(m *Model) tea.Cmd { return m.cores.Enter() })),
		v("cores.ledger", coresView, "l", "Ledger", "the ledger of the CPU: its time by task", does(func(m *Model) { m.cores.OpenLedger() })),
		v("cores.window", coresView, "w", "Window", "the last second, 10 seconds or minute", does(func(m *Model) { m.cores.NextWindow() })),
		v("cores.next", coresView, "n", "Next cell", "the next busiest cell of the map", does(func(m *Model) { m.cores.NextBusiest() })),
		v("cores.fold", coresView, "f", "Fold", "the map by CPU, by cache or by node", does(func(m *Model) { m.cores.Fold() })),
		v("cores.list", coresView, "c", "List", "list of the CPUs", does(func(m *Model) { m.cores.ToggleList() })),
		v("cores.pin", coresView, "p", "Pin", "in the ledger, pin the task to the least-loaded other CPU",
			plain((*Model).pinFromLedger)).changesAny("pin"),
	}
}

// irqVerbs show interrupts, and send them elsewhere with the keys that do so with tasks.
func irqVerbs() []verb {
	return []verb{
		v("irqs.affinity", irqsView, "a", "Affinity", "choose the CPUs of the IRQ", plain((*Model).askIRQAffinity)).changes("irq move"),
		v("irqs.place", irqsView, "o", "Place", "place: spread, the device's node, a CPU, cache or node", plain((*Model).askIRQPlace)).changes("irq move"),
		v("irqs.grab", irqsView, "d", "Grab", "grab, to drop on the core panel; the mouse drags there",
			func(m *Model, _ string) tea.Cmd { return m.hold(m.heldIRQs(m.irqs.Targets())) }).changes("irq move"),
		v("irqs.spread", irqsView, "s", "Spread", "spread the tagged ones, or all that are shown, one per CPU", plain((*Model).spreadIRQs)).changesAny("irq spread"),
		v("irqs.reset", irqsView, "r", "Reset", "to the CPUs of new interrupts (default_smp_affinity)", plain((*Model).resetIRQs)).changes("irq reset"),
		v("irqs.queue", irqsView, "e", "Queue", "RPS, XPS and RFS of the network queue", plain((*Model).askQueue)).changes("irq queues"),
		v("irqs.open", irqsView, "enter", "Handler", "the task that handles the interrupt, among the processes",
			plain((*Model).showHandler)),
		v("irqs.filter", irqsView, `f4 \ /`, "Filter", "filter by words: number, handler, device, driver, queue, control", plain(func(m *Model) tea.Cmd { return m.irqs.AskFilter() })),
		v("irqs.sort", irqsView, "f6 < >", "Sort", "by rate, number, top CPU or device", func(m *Model, key string) tea.Cmd { m.irqs.StepSort(key != "<"); return nil }),
		v("irqs.invert", irqsView, "I", "Invert", "invert the order", does(func(m *Model) { m.irqs.Invert() })),
		v("irqs.named", irqsView, "n", "Named", "lines without a number and softirqs, too", does(func(m *Model) { m.irqs.ToggleNamed() })),
		v("irqs.tag", irqsView, "space", "Tag", "tag or untag", does(func(m *Model) { m.irqs.ToggleTag() })).of(),
		v("irqs.all", irqsView, "A", "Tag all", "tag all that are shown", does(func(m *Model) { m.irqs.TagAll() })).of(),
		v("irqs.untag", irqsView, "U", "Untag", "untag all", does(func(m *Model) { m.irqs.Untag() })),
	}
}

func benchVerbs() []verb {
	return []verb{
		v("bench.new", benchView, "n", "New run", "start a workload: form for size, threads, placements, runs",
			plain(func(m *Model) tea.Cmd { return m.bench.StartStudy() })).like("bench").with(action.Idle),
		v("bench.open", benchView, "enter", "Open", "the study under the cursor; Esc returns to this session's",
			plain(func(m *Model) tea.Cmd { return m.bench.ShowSelected() })),
		v("bench.paper", benchView, "p", "Studies", "reproduce a published study, beside its figures",
			plain(func(m *Model) tea.Cmd { return m.bench.Reproduce() })).like("bench paper").with(action.Idle),
		v("bench.picture", benchView, "v", "Picture", "the picture of the results shown", plain(func(m *Model) tea.Cmd { return m.bench.ShowPicture() })),
		v("bench.write", benchView, "w", "Write", "write the results shown as a page and as SVG",
			plain(func(m *Model) tea.Cmd { return m.bench.WriteReport() })).like("bench report"),
		v("bench.cancel", benchView, "x", "Cancel", "cancel the running benchmark",
			plain(func(m *Model) tea.Cmd { return m.bench.CancelStudy() })).with(action.Running),
	}
}

func journalVerbs() []verb {
	return []verb{
		v("journal.open", journalView, "enter", "Open", "the parts of the change: each task and file", does(func(m *Model) { m.journal.ToggleParts() })),
		v("journal.undo", journalView, "z", "Undo", "undo the tagged changes, or the selected one", plain(func(m *Model) tea.Cmd { return m.journal.Undo() })).changesAny("undo").with(action.Undoable),
		v("journal.all", journalView, "A", "Undo all", "undo everything", plain(func(m *Model) tea.Cmd { return m.journal.UndoAll() })).changesAny("undo --all").with(action.Undoable),
		v("journal.tag", journalView, "space", "Tag", "tag, to undo several", does(func(m *Model) { m.journal.ToggleTag() })).changesAny(""),
		v("journal.untag", journalView, "U", "Untag", "untag all", does(func(m *Model) { m.journal.Untag() })).changesAny(""),
		v("journal.read", journalView, "r", "Reload", "read it again", plain(func(m *Model) tea.Cmd { return m.journal.Open() })),
	}
}

func appVerbs() []verb {
	return []verb{
		v("app.help", everywhere, "f1 ? h", "Help", "this help; says why a value is missing", plain((*Model).showHelp)),
		v("app.palette", everywhere, ": ctrl+p", "Find", "find any action, column, view or setting by its name", plain((*Model).openPalette)),
		v("app.setup", everywhere, "f2 S", "Setup", "meters, columns and display", plain((*Model).askSetup)),
		v("app.back", everywhere, "esc", "Back", "close, or clear the search and the filter", plain((*Model).back)),
		v("app.copy", everywhere, "y", "Copy", "copy the command line of the last change", plain((*Model).copyCommand)),
		v("app.mouse", everywhere, "m", "Mouse", "mouse on or off: off, the terminal selects text", plain((*Model).toggleMouse)),
		v("app.repaint", everywhere, "ctrl+l", "Repaint", "repaint the screen", func(*Model, string) tea.Cmd { return screen.Repaint }),
		v("app.suspend", everywhere, "ctrl+z", "Suspend", "suspend; fg resumes", func(*Model, string) tea.Cmd { return screen.Suspend }),
		v("app.quit", everywhere, "f10 q ctrl+c", "Quit", "quit", plain((*Model).quit)),
	}
}
