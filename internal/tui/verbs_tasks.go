package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/tui/proctable"
)

// Where verbs work.
var (
	everywhere  = []action.Context{action.Everywhere}
	processes   = []action.Context{action.Processes}
	panel       = []action.Context{action.Panel}
	threads     = []action.Context{action.Threads}
	tasks       = []action.Context{action.Processes, action.Threads}
	coresView   = []action.Context{action.Cores}
	irqsView    = []action.Context{action.IRQs}
	benchView   = []action.Context{action.Bench}
	journalView = []action.Context{action.Journal}
)

// tuneVerbs change the tagged tasks, or the selected one.
func tuneVerbs() []verb {
	return []verb{
		v("tune.pin", processes, "p", "Pin", "pin to the least-loaded CPU; says which and why", plain((*Model).pin)).changes("pin"),
		v("tune.place", processes, "o", "Place", "place: each strategy with the CPUs it would choose and why; a CPU, cache or node",
			plain((*Model).askPlace)).changes("pin"),
		v("tune.grab", processes, "d", "Grab", "grab, to drop on a CPU, cache or node of the core panel; the mouse drags rows there",
			plain((*Model).grab)).changes("pin"),
		v("tune.affinity", processes, "a", "Affinity", "choose the CPUs it may run on", plain((*Model).askAffinity)).changes("pin"),
		v("tune.nice.lower", processes, "f7 ]", "Nice -", "nice one lower: more CPU time",
			func(m *Model, _ string) tea.Cmd { return m.stepNice(-1) }).changes("nice"),
		v("tune.nice.raise", processes, "f8 [", "Nice +", "nice one higher: less CPU time",
			func(m *Model, _ string) tea.Cmd { return m.stepNice(1) }).changes("nice"),
		v("tune.policy", processes, "Y", "Policy", "scheduling policy and real-time priority", plain((*Model).askPolicy)).changes("policy"),
		v("tune.ioprio", processes, "i", "I/O prio", "I/O priority", plain((*Model).askIOPrio)).changes("ionice"),
		v("tune.signal", processes, "f9 k", "Signal", "send a signal", plain((*Model).askSignal)).changes(""),
		v("tune.undo", []action.Context{action.Processes, action.Cores, action.Panel, action.IRQs}, "z", "Undo", "undo the last change",
			plain((*Model).undo)).changes("undo").with(action.Undoable),
	}
}

// panelVerbs are the keys of the core panel while it has the keyboard: to choose CPUs,
// for what was grabbed or for the list.
func panelVerbs() []verb {
	return []verb{
		v("panel.focus", []action.Context{action.Processes, action.Cores, action.IRQs, action.Panel}, "C", "CPUs",
			"choose CPUs in the core panel; Esc returns to the list", plain((*Model).focusPanel)),
		v("panel.enter", panel, "enter", "OK", "drop what was grabbed on the CPUs under the cursor; else return to the list",
			plain((*Model).enterCPUs)),
		v("panel.spread", panel, "s", "Spread", "spread what was grabbed over the CPUs under the cursor, one per CPU",
			func(m *Model, _ string) tea.Cmd { return m.letFall(m.chooser.held, m.chooser.held.spread) }).changes("spread").with(action.Held),
		v("panel.wider", panel, "+ >", "Wider", "from the CPU to its core, cache, node, all", does(func(m *Model) { m.widen(1) })),
		v("panel.narrower", panel, "- <", "Narrower", "from all to the node, cache, core, CPU", does(func(m *Model) { m.widen(-1) })),
		v("panel.tick", panel, "space", "Tick", "tick: the list shows only tasks on ticked CPUs; what is grabbed is dropped on all of them",
			plain((*Model).tick)),
		v("panel.allowed", panel, "f", "On/may", "of ticked CPUs: tasks that are on them (a process by its first thread; H shows all), or all that may run there",
			plain((*Model).toggleMayRun)).with(action.NotHeld),
		v("panel.isolate", panel, "I", "Isolate", "isolate the ticked CPUs, or those under the cursor: move tasks and IRQs off; lists what cannot be moved",
			plain((*Model).isolate)).changes("isolate").with(action.NotHeld),
		v("panel.include", panel, "i", "Include", "include them again: restore what was moved off, deliberate pins as they were",
			plain((*Model).include)).changes("include").with(action.NotHeld),
		v("panel.untick", panel, "U", "Untick", "untick all", plain((*Model).untick)),
		v("panel.number", panel, "0 1 2 3 4 5 6 7 8 9", "Jump", "jump to a CPU", (*Model).typeCPU),
	}
}

func showVerbs() []verb {
	return []verb{
		v("show.detail", processes, "enter", "Detail", "detail pane: threads, affinity, bounce chart, files, sockets; again: the keys to its thread list",
			plain((*Model).openDetail)).of(),
		v("show.files", tasks, "l", "Files", "list the open files, with sockets' addresses and incoming CPUs", plain((*Model).showFiles)).of(),
		v("show.trace", tasks, "s", "strace", "attach strace to the process, or to the thread under the cursor; ^C ends it",
			plain((*Model).trace)).changes(""),
		v("show.tree", processes, "f5 t", "Tree", "tree of processes; again: of control groups (units, containers) with sums; again: list",
			lists(func(v *proctable.View) { v.Tree = v.Tree.Next() })),
		v("show.fold", processes, "+ -", "Fold", "fold or unfold the subtree; a folded row shows its sums", does(func(m *Model) { m.table.ToggleFold() })),
		v("show.threads", processes, "H", "Threads", "threads on or off", plain((*Model).toggleThreads)),
		v("show.kernel", processes, "K", "Kernel", "kernel threads on or off", lists(func(v *proctable.View) { v.Kernel = !v.Kernel })),
		v("show.environment", processes, "e", "Environ", "environment of the process", plain((*Model).showEnvironment)).of(),
		v("show.follow", processes, "F", "Follow", "keep the selected process in view as the order changes",
			does(func(m *Model) { m.table.SetFollow(!m.table.Following()) })).of(),
		v("show.pause", processes, "Z", "Pause", "pause or continue", plain((*Model).togglePause)),
		v("show.panel", []action.Context{action.Processes, action.Panel}, "#", "Panel", "core panel full, folded or hidden", plain((*Model).cyclePanel)),
		v("show.cost", everywhere, "ctrl+o", "Own cost", "what piton itself costs", does(func(m *Model) { m.cost.Shown = !m.cost.Shown })),
	}
}

// threadVerbs are the keys of the detail pane's thread list while it has the keyboard.
func threadVerbs() []verb {
	return []verb{
		v("threads.sort", threads, "f6 < >", "Sort", "sort by another column; a click on its heading, too",
			func(m *Model, key string) tea.Cmd { m.detail.StepSort(key != "<"); return nil }),
		v("threads.invert", threads, "I", "Invert", "invert the order", does(func(m *Model) { m.detail.Invert() })),
		v("threads.leave", threads, "enter", "Back", "the keys back to the processes", plain((*Model).leaveThreads)),
	}
}

func findVerbs() []verb {
	return []verb{
		v("find.search", processes, "f3 /", "Search", "search by name or PID", (*Model).askSearch),
		v("find.filter", processes, `f4 \`, "Filter", "filter: words and comparisons, e.g. cpu>50 on=3 mig>10 user:root", plain((*Model).askFilter)),
		v("find.user", processes, "u", "User", "processes of one user", plain((*Model).askUser)),
		v("sort.menu", processes, "f6 < >", "Sort", "choose the column to sort by", plain((*Model).askSort)),
		v("sort.invert", processes, "I", "Invert", "invert the order", lists(func(v *proctable.View) { v.Desc = !v.Desc })),
	}
}

func moveVerbs() []verb {
	return []verb{
		v("move.up", everywhere, "up", "Up", "one row up", moves(func(m *Model) { m.stepCPU(0, -1) }, func(l lister) { l.Move(-1) })),
		v("move.k", []action.Context{action.Cores, action.IRQs, action.Bench, action.Journal}, "k", "Up", "one row up; among the processes, k sends a signal",
			moves(func(m *Model) { m.stepCPU(0, -1) }, func(l lister) { l.Move(-1) })),
		v("move.down", everywhere, "down j", "Down", "one row down", moves(func(m *Model) { m.stepCPU(0, 1) }, func(l lister) { l.Move(1) })),
		v("move.pageup", everywhere, "pgup", "Page up", "one page up", moves(nil, func(l lister) { l.Page(-1) })),
		v("move.pagedown", everywhere, "pgdown", "Page down", "one page down", moves(nil, func(l lister) { l.Page(1) })),
		v("move.home", everywhere, "home g", "First", "first row", moves(func(m *Model) { m.edgeCPU(false) }, lister.Home)),
		v("move.end", everywhere, "end G", "Last", "last row", moves(func(m *Model) { m.edgeCPU(true) }, lister.End)),
		v("move.left", everywhere, "left", "Left", "scroll left", moves(func(m *Model) { m.stepCPU(-1, 0) }, func(l lister) { l.Scroll(-1) })),
		v("move.right", everywhere, "right", "Right", "scroll right", moves(func(m *Model) { m.stepCPU(1, 0) }, func(l lister) { l.Scroll(1) })),
		v("tag.toggle", processes, "space", "Tag", "tag or untag", does(func(m *Model) { m.table.ToggleTag() })).of(),
		v("tag.children", processes, "c", "Tag tree", "tag with its children", plain((*Model).tagChildren)).of(),
		v("tag.all", processes, "A", "Tag all", "tag all that are shown: with a filter (comm~^nq), everything that matches", plain((*Model).tagAll)).of(),
		v("tag.none", processes, "U", "Untag", "untag all", does(func(m *Model) { m.table.Untag() })),
	}
}
