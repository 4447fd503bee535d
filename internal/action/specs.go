package action

import "cmp"

var (
	everywhere = []Context{Everywhere}
	processes  = []Context{Processes}
	coresView  = []Context{Cores}
	irqsView   = []Context{IRQs}
	benchView  = []Context{Bench}
	journal    = []Context{Journal}
	panel      = []Context{Panel}
	others     = []Context{Cores, IRQs, Bench, Journal}
)

// groups are the verbs under the headings of the help screen, in its order.
var groups = []struct {
	title string
	specs []Spec
}{
	{"Tune", append(tuneSpecs, irqSpecs...)}, {"Core panel", panelSpecs}, {"Show", showSpecs}, {"Find and order", findSpecs},
	{"Move and tag", moveSpecs}, {"Views", viewSpecs}, {"piton", appSpecs},
}

// Groups are the headings, and Specs every verb. Keys follow htop where htop has the
// function; every F-key has a twin that reaches piton through terminals which keep F-keys.
var Groups, Specs = inGroups()

func inGroups() (titles []string, all []Spec) {
	for _, g := range groups {
		titles = append(titles, g.title)
		for _, s := range g.specs {
			s.Group, s.Label = g.title, cmp.Or(s.Label, s.Keys[0])
			all = append(all, s)
		}
	}
	return titles, all
}

var tuneSpecs = []Spec{
	{ID: "tune.pin", In: processes, Keys: []string{"p"}, Short: "Pin", Verb: "pin", Mutates: true, needs: selection,
		Help: "pin to the least-loaded core; says which and why"},
	{ID: "tune.place", In: processes, Keys: []string{"o"}, Short: "Place", Verb: "pin", Mutates: true, needs: selection,
		Help: "place: each strategy with what it would choose and why; a CPU, cache or node"},
	{ID: "tune.grab", In: processes, Keys: []string{"d"}, Short: "Grab", Verb: "pin", Mutates: true, needs: selection,
		Help: "grab, to drop it on a CPU, cache or node of the core panel; the mouse drags rows there"},
	{ID: "tune.affinity", In: processes, Keys: []string{"a"}, Short: "Affinity", Verb: "pin", Mutates: true, needs: selection,
		Help: "choose the CPUs it may run on"},
	{ID: "tune.nice.lower", In: processes, Keys: []string{"f7", "["}, Label: "F7 [", Short: "Nice -", Verb: "nice", Mutates: true, needs: selection,
		Help: "nice one lower: more CPU time"},
	{ID: "tune.nice.raise", In: processes, Keys: []string{"f8", "]"}, Label: "F8 ]", Short: "Nice +", Verb: "nice", Mutates: true, needs: selection,
		Help: "nice one higher: less CPU time"},
	{ID: "tune.policy", In: processes, Keys: []string{"Y"}, Short: "Policy", Verb: "policy", Mutates: true, needs: selection,
		Help: "scheduling policy and real-time priority"},
	{ID: "tune.ioprio", In: processes, Keys: []string{"i"}, Short: "I/O prio", Verb: "ionice", Mutates: true, needs: selection,
		Help: "I/O priority"},
	{ID: "tune.signal", In: processes, Keys: []string{"f9", "k"}, Label: "F9 k", Short: "Signal", Mutates: true, needs: selection,
		Help: "send a signal"},
	{ID: "tune.undo", In: []Context{Processes, Cores, Panel, IRQs, Journal}, Keys: []string{"z"}, Short: "Undo", Verb: "undo", Mutates: true, needs: undoable,
		Help: "undo the last change; in the journal, the selected one"},
}

var showSpecs = []Spec{
	{ID: "show.detail", In: processes, Keys: []string{"enter"}, Label: "Enter", Short: "Detail", needs: selection,
		Help: "detail pane: threads, affinity explained, bounce chart"},
	{ID: "show.tree", In: processes, Keys: []string{"f5", "t"}, Label: "F5 t", Short: "Tree", Help: "tree of processes"},
	{ID: "show.fold", In: processes, Keys: []string{"+", "-"}, Label: "+ -", Help: "fold or unfold the subtree"},
	{ID: "show.threads", In: processes, Keys: []string{"H"}, Help: "threads on or off"},
	{ID: "show.kernel", In: processes, Keys: []string{"K"}, Help: "kernel threads on or off"},
	{ID: "show.environment", In: processes, Keys: []string{"e"}, needs: selection, Help: "environment of the process"},
	{ID: "show.follow", In: processes, Keys: []string{"F"}, needs: selection, Help: "keep the selected process in view as the order changes"},
	{ID: "show.pause", In: processes, Keys: []string{"Z"}, Help: "pause or go on"},
	{ID: "show.panel", In: []Context{Processes, Panel}, Keys: []string{"#"}, Help: "core panel full, folded or hidden"},
	{ID: "show.cost", In: everywhere, Keys: []string{"ctrl+o"}, Label: "^O", Help: "what piton itself costs"},
}

var findSpecs = []Spec{
	{ID: "find.search", In: processes, Keys: []string{"f3", "/"}, Label: "F3 /", Short: "Search", Help: "search by name"},
	{ID: "find.filter", In: processes, Keys: []string{"f4", "\\"}, Label: `F4 \`, Short: "Filter", Help: "filter: words and comparisons, e.g. cpu=3 mig>10 user:root"},
	{ID: "find.user", In: processes, Keys: []string{"u"}, Help: "processes of one user"},
	{ID: "find.pid", In: processes, Keys: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, Label: "0-9", Help: "jump to a PID"},
	{ID: "sort.menu", In: processes, Keys: []string{"f6", "<", ">"}, Label: "F6 < >", Short: "Sort", Help: "choose the column to sort by"},
	{ID: "sort.invert", In: processes, Keys: []string{"I"}, Help: "invert the order"},
	{ID: "sort.cpu_percent", In: processes, Keys: []string{"P"}, Help: "sort by CPU%"},
	{ID: "sort.mem_percent", In: processes, Keys: []string{"M"}, Help: "sort by MEM%"},
	{ID: "sort.time_s", In: processes, Keys: []string{"T"}, Help: "sort by TIME+"},
	{ID: "sort.pid", In: processes, Keys: []string{"N"}, Help: "sort by PID"},
	{ID: "sort.migrations_per_s", In: processes, Keys: []string{"B"}, Help: "sort by MIG/s: tasks by migrations"},
}

var moveSpecs = []Spec{
	{ID: "move.up", In: everywhere, Keys: []string{"up"}, Label: "↑", Help: "one row up"},
	{ID: "move.down", In: everywhere, Keys: []string{"down", "j"}, Label: "↓ j", Help: "one row down"},
	{ID: "move.pageup", In: everywhere, Keys: []string{"pgup"}, Label: "PgUp", Help: "one page up"},
	{ID: "move.pagedown", In: everywhere, Keys: []string{"pgdown"}, Label: "PgDn", Help: "one page down"},
	{ID: "move.home", In: everywhere, Keys: []string{"home", "g"}, Label: "Home g", Help: "first row"},
	{ID: "move.end", In: everywhere, Keys: []string{"end", "G"}, Label: "End G", Help: "last row"},
	{ID: "move.left", In: everywhere, Keys: []string{"left"}, Label: "←", Help: "scroll left"},
	{ID: "move.right", In: everywhere, Keys: []string{"right"}, Label: "→", Help: "scroll right"},
	{ID: "tag.toggle", In: processes, Keys: []string{"space"}, Label: "Space", needs: selection, Help: "tag or untag"},
	{ID: "tag.children", In: processes, Keys: []string{"c"}, needs: selection, Help: "tag with its children"},
	{ID: "tag.all", In: processes, Keys: []string{"A"}, needs: selection, Help: "tag all that are shown: with a filter (comm~^nq), everything that matches"},
	{ID: "tag.none", In: processes, Keys: []string{"U"}, Help: "untag all"},
}

// irqSpecs send interrupts elsewhere, with the keys that do so with tasks.
var irqSpecs = []Spec{
	{ID: "irqs.affinity", In: irqsView, Keys: []string{"a"}, Short: "Affinity", Verb: "irq move", Mutates: true, needs: selection,
		Help: "IRQs: choose the CPUs they may come to"},
	{ID: "irqs.place", In: irqsView, Keys: []string{"o"}, Short: "Place", Verb: "irq move", Mutates: true, needs: selection,
		Help: "IRQs: place: spread, the device's node, a CPU, cache or node"},
	{ID: "irqs.grab", In: irqsView, Keys: []string{"d"}, Short: "Grab", Verb: "irq move", Mutates: true, needs: selection,
		Help: "IRQs: grab, to drop it on the core panel; the mouse drags there"},
	{ID: "irqs.spread", In: irqsView, Keys: []string{"s"}, Short: "Spread", Verb: "irq spread", Mutates: true,
		Help: "IRQs: spread the tagged ones, or all that are shown, one per CPU"},
	{ID: "irqs.reset", In: irqsView, Keys: []string{"r"}, Short: "Reset", Verb: "irq reset", Mutates: true, needs: selection,
		Help: "IRQs: let them go where new ones go (default_smp_affinity)"},
	{ID: "irqs.queue", In: irqsView, Keys: []string{"e"}, Short: "Queue", Verb: "irq queues", Mutates: true, needs: selection,
		Help: "IRQs: RPS, XPS and RFS of the network queue"},
}

var viewSpecs = []Spec{
	{ID: "view.next", In: everywhere, Keys: []string{"tab"}, Label: "Tab", Help: "next view"},
	{ID: "view.previous", In: everywhere, Keys: []string{"shift+tab"}, Label: "⇧Tab", Help: "previous view"},
	// Digits search for a PID among the processes, so the views have them
	// elsewhere, and with Alt everywhere.
	{ID: "view.processes", In: everywhere, Keys: []string{"alt+1"}, Label: "Alt-1", Help: "processes"},
	{ID: "view.cores", In: everywhere, Keys: []string{"alt+2"}, Label: "Alt-2",
		Help: "cores: migrations from CPU to CPU, and each CPU's time by task"},
	{ID: "view.irqs", In: everywhere, Keys: []string{"alt+3"}, Label: "Alt-3", Verb: "irq list",
		Help: "IRQs: rate, CPUs, device and driver of each interrupt"},
	{ID: "view.bench", In: everywhere, Keys: []string{"alt+4", "b"}, Label: "b Alt-4", Short: "Bench", Verb: "bench", Help: "benchmarks and their results"},
	{ID: "view.journal", In: everywhere, Keys: []string{"alt+5"}, Label: "Alt-5", Verb: "journal", Help: "journal of the changes made"},
	{ID: "view.number", In: others, Keys: []string{"1", "2", "3", "4", "5"}, Label: "1-5", Help: "the view with that number"},
	{ID: "cores.open", In: coresView, Keys: []string{"enter"}, Label: "Enter",
		Help: "cores: the tasks behind a cell, the ledger of a CPU, a task among the processes"},
	{ID: "cores.ledger", In: coresView, Keys: []string{"l"}, Help: "cores: the ledger of the CPU: everything that takes its time"},
	{ID: "cores.window", In: coresView, Keys: []string{"w"}, Help: "cores: the last second, 10 seconds or minute"},
	{ID: "cores.next", In: coresView, Keys: []string{"n"}, Help: "cores: the next busiest cell of the map"},
	{ID: "cores.fold", In: coresView, Keys: []string{"f"}, Help: "cores: the map by CPU, by cache or by node"},
	{ID: "cores.list", In: coresView, Keys: []string{"c"}, Help: "cores: list of the CPUs"},
	{ID: "cores.pin", In: coresView, Keys: []string{"p"}, Verb: "pin", Mutates: true,
		Help: "cores: in the ledger, pin the task elsewhere, to the least-loaded core"},
	{ID: "irqs.open", In: irqsView, Keys: []string{"enter"}, Label: "Enter", Help: "IRQs: the task that handles the interrupt, among the processes"},
	{ID: "irqs.filter", In: irqsView, Keys: []string{"f4", "\\", "/"}, Label: `F4 \ /`, Short: "Filter",
		Help: "IRQs: filter by words: number, handler, device, driver, queue, control"},
	{ID: "irqs.sort", In: irqsView, Keys: []string{"f6", "<", ">"}, Label: "F6 < >", Short: "Sort", Help: "IRQs: by rate, number, top CPU or device"},
	{ID: "irqs.invert", In: irqsView, Keys: []string{"I"}, Help: "IRQs: invert the order"},
	{ID: "irqs.named", In: irqsView, Keys: []string{"n"}, Help: "IRQs: lines without a number and softirqs, too"},
	{ID: "irqs.tag", In: irqsView, Keys: []string{"space"}, Label: "Space", needs: selection, Help: "IRQs: tag or untag"},
	{ID: "irqs.all", In: irqsView, Keys: []string{"A"}, needs: selection, Help: "IRQs: tag all that are shown"},
	{ID: "irqs.untag", In: irqsView, Keys: []string{"U"}, Help: "IRQs: untag all"},
	{ID: "bench.new", In: benchView, Keys: []string{"n", "enter"}, Label: "n Enter", Short: "New run", Verb: "bench", needs: idle,
		Help: "start a workload: form for size, threads, placements, runs"},
	{ID: "bench.paper", In: benchView, Keys: []string{"p"}, Short: "Studies", Verb: "bench paper", needs: idle,
		Help: "reproduce the table of a published study, beside its figures"},
	{ID: "bench.picture", In: benchView, Keys: []string{"v"}, Short: "Picture", Help: "the picture of the results shown"},
	{ID: "bench.write", In: benchView, Keys: []string{"w"}, Short: "Write", Verb: "bench report", Help: "write the results shown as a page and as SVG"},
	{ID: "journal.open", In: journal, Keys: []string{"enter"}, Label: "Enter", Help: "journal: what was changed, each task and file of it"},
	{ID: "journal.tag", In: journal, Keys: []string{"space"}, Label: "Space", Mutates: true, Help: "journal: tag, to undo several"},
	{ID: "journal.untag", In: journal, Keys: []string{"U"}, Mutates: true, Help: "journal: untag all"},
	{ID: "journal.all", In: journal, Keys: []string{"A"}, Short: "Undo all", Verb: "undo --all", Mutates: true, needs: undoable,
		Help: "journal: undo everything"},
	{ID: "journal.read", In: journal, Keys: []string{"r"}, Help: "journal: read it again"},
	{ID: "bench.cancel", In: benchView, Keys: []string{"x"}, Short: "Cancel", needs: running, Help: "cancel the running benchmark"},
}

var appSpecs = []Spec{
	{ID: "app.help", In: everywhere, Keys: []string{"f1", "?", "h"}, Label: "F1 ? h", Short: "Help", Help: "this help; says why a value is missing"},
	{ID: "app.setup", In: everywhere, Keys: []string{"f2", "S"}, Label: "F2 S", Short: "Setup", Help: "columns and display"},
	{ID: "app.back", In: everywhere, Keys: []string{"esc"}, Label: "Esc", Help: "close, or clear the search and the filter"},
	{ID: "app.repaint", In: everywhere, Keys: []string{"ctrl+l"}, Label: "^L", Help: "repaint the screen"},
	{ID: "app.suspend", In: everywhere, Keys: []string{"ctrl+z"}, Label: "^Z", Help: "suspend; fg comes back"},
	{ID: "app.quit", In: everywhere, Keys: []string{"f10", "q", "ctrl+c"}, Label: "F10 q ^C", Short: "Quit", Help: "quit"},
}

// panelSpecs are the keys of the core panel while it has the keyboard: to choose
// CPUs, for what was grabbed or for the list.
var panelSpecs = []Spec{
	{ID: "panel.focus", In: []Context{Processes, Cores, IRQs, Panel}, Keys: []string{"C"}, Short: "CPUs",
		Help: "the keys to the core panel, to choose CPUs there; Esc gives them back"},
	{ID: "panel.enter", In: panel, Keys: []string{"enter"}, Label: "Enter", Short: "OK",
		Help: "drop what was grabbed on the CPUs under the cursor; else back to the list"},
	{ID: "panel.spread", In: panel, Keys: []string{"s"}, Short: "Spread", Verb: "spread", Mutates: true, needs: held,
		Help: "spread what was grabbed over the CPUs under the cursor, one per CPU"},
	{ID: "panel.wider", In: panel, Keys: []string{"+", ">"}, Label: "+ >", Short: "Wider", Help: "from the CPU to its core, cache, node, all"},
	{ID: "panel.narrower", In: panel, Keys: []string{"-", "<"}, Label: "- <", Short: "Narrower", Help: "and back"},
	{ID: "panel.tick", In: panel, Keys: []string{"space"}, Label: "Space", Short: "Tick",
		Help: "tick: the list shows only what is on ticked CPUs; what is grabbed is dropped on all of them"},
	{ID: "panel.allowed", In: panel, Keys: []string{"f"}, Short: "On/may", needs: notHeld,
		Help: "of ticked CPUs: tasks that are on them (a process by its first thread; H shows all), or all that may run there"},
	{ID: "panel.isolate", In: panel, Keys: []string{"I"}, Short: "Isolate", Verb: "isolate", Mutates: true, needs: notHeld,
		Help: "isolate the ticked CPUs, or those under the cursor: move tasks and IRQs off; lists what cannot be moved"},
	{ID: "panel.include", In: panel, Keys: []string{"i"}, Short: "Include", Verb: "include", Mutates: true, needs: notHeld,
		Help: "include them again: restore what was moved off, deliberate pins as they were"},
	{ID: "panel.untick", In: panel, Keys: []string{"U"}, Help: "untick all"},
	{ID: "panel.number", In: panel, Keys: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, Label: "0-9", Help: "jump to a CPU"},
}
