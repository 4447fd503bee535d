package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/tui/keymap"
	"piton/internal/tui/proctable"
	"piton/internal/tui/screen"
)

// spec says what a verb is; verb is one of the table: what it is, and what it does on
// the screen. key is the one that was pressed.
type (
	spec    = action.Spec
	handler func(m *Model, key string) tea.Cmd
	verb    struct {
		spec
		run handler
	}
	verbs []*verb
)

// table is every verb. Commands, which look none up, do not wait until it is made.
func table() verbs {
	tableOnce.Do(func() {
		for _, g := range groups() {
			for _, v := range g.verbs {
				v.Group, v.Label = g.title, keymap.Label(v.Keys)
				every = append(every, &v)
			}
		}
	})
	return every
}

// What table makes: no sync.OnceValue, since handlers refer to functions that look verbs up in it.
var (
	tableOnce sync.Once
	every     verbs
)

// Specs are the verbs of the screen, without those that change something in read-only mode.
func Specs(readOnly bool) []action.Spec {
	var specs []action.Spec
	for _, v := range table() {
		if !readOnly || !v.Mutates {
			specs = append(specs, v.spec)
		}
	}
	return specs
}

// verbs is the table of a screen: without what it may not do, with the user's keys.
func (o *Options) verbs() verbs {
	own := verbs{}
	for _, v := range table().withLayouts(o.Layouts) {
		if o.ReadOnly && v.Mutates {
			continue
		}
		if keys, ok := o.Keys[v.ID]; ok {
			v = &verb{v.spec, v.run}
			v.Keys, v.Label = keys, keymap.Label(keys)
		}
		own = append(own, v)
	}
	return own
}

// withLayouts is the table with a verb for each layout of the user's.
func (t verbs) withLayouts(layouts []proctable.Layout) verbs {
	own := slices.Clone(t)
	for _, l := range layouts {
		if v := layoutVerb(l.Name); own.byID(v.ID) == nil {
			own = append(own, &v)
		}
	}
	return own
}

// CheckKeys says in a line each what of a user's keys cannot be used, and removes it:
// a verb or key that does not exist, a key that two verbs of one view would have. layouts
// are the user's, which have verbs.
func CheckKeys(keys map[string][]string, layouts []proctable.Layout) (problems []string) {
	all := table().withLayouts(layouts)
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if all.byID(id) == nil {
			say("keys: there is no action %q; piton help keys lists them", id)
			delete(keys, id)
			continue
		}
		keys[id] = slices.DeleteFunc(slices.Clone(keys[id]), func(key string) bool {
			if !keymap.Valid(key) {
				say("keys: %s: there is no key %q", id, key)
			}
			return !keymap.Valid(key)
		})
	}
	own := (&Options{Saved: Saved{Keys: keys, Layouts: layouts}}).verbs()
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		v := own.byID(id)
		for _, key := range v.Keys {
			for _, in := range v.In {
				if other := own.forKey(key, in); other != v {
					say("keys: %s: %q is the key of %s already", id, key, other.ID)
				}
			}
		}
	}
	return problems
}

func (t verbs) byID(id string) *verb {
	if i := slices.IndexFunc(t, func(v *verb) bool { return v.ID == id }); i >= 0 {
		return t[i]
	}
	return nil
}

// forKey is the verb that a key means in a context; one of the context's own comes before
// one of all contexts.
func (t verbs) forKey(key string, in action.Context) *verb {
	var everywhere *verb
	for _, v := range t {
		switch {
		case !slices.Contains(v.Keys, key):
		case slices.Contains(v.In, in):
			return v
		case v.Works(in) && everywhere == nil:
			everywhere = v
		}
	}
	return everywhere
}

// v is a verb; keys are separated by blanks.
func v(id string, in []action.Context, keys, short, help string, run handler) verb {
	return verb{spec{ID: id, In: in, Keys: strings.Fields(keys), Short: short, Help: help}, run}
}

// of is the verb for selected rows only.
func (v verb) of() verb { return v.with(action.Selection) }

// with is the verb with a condition.
func (v verb) with(n action.Need) verb {
	v.Needs = n
	return v
}

// like names the command that does the same.
func (v verb) like(command string) verb {
	v.Verb = command
	return v
}

// changesAny is a verb that changes the system; changes is one that changes selected rows.
func (v verb) changesAny(command string) verb {
	v.Mutates = true
	return v.like(command)
}

func (v verb) changes(command string) verb { return v.changesAny(command).of() }

func plain(f func(*Model) tea.Cmd) handler {
	return func(m *Model, _ string) tea.Cmd { return f(m) }
}

func inList(f func(*processView) tea.Cmd) handler {
	return func(m *Model, _ string) tea.Cmd { return f(m.procs) }
}

func inIRQs(f func(*interrupts) tea.Cmd) handler {
	return func(m *Model, _ string) tea.Cmd { return f(&m.irqs) }
}

func inPanel(f func(*chooser) tea.Cmd) handler {
	return func(m *Model, _ string) tea.Cmd { return f(&m.chooser) }
}

func does(f func(*Model)) handler {
	return func(m *Model, _ string) tea.Cmd { f(m); return nil }
}

// lists alters what the list of processes shows.
func lists(f func(*proctable.View)) handler {
	return func(m *Model, _ string) tea.Cmd { return m.procs.change(f) }
}

// moves does one thing while CPUs are chosen in the core panel, and another in the list
// that has the keys.
func moves(panel func(*Model), list func(lister)) handler {
	return func(m *Model, _ string) tea.Cmd {
		if m.chooser.on && panel != nil {
			panel(m)
			return nil
		}
		list(m.lister())
		return m.procs.followThreads()
	}
}

func nices(by int) handler {
	return func(m *Model, _ string) tea.Cmd {
		targets, subject := m.procs.targets()
		return m.changes.stepNice(steps{targets, subject, by})
	}
}

// layoutVerbs go to layouts, and change what there are.
func layoutVerbs() []verb {
	menu := v("layout.menu", processes, "", "Layouts", "layouts: choose, save under a name, rename, delete", inList((*processView).askLayout))
	return append([]verb{menu}, group.Each(proctable.BuiltIn(), func(l proctable.Layout) verb { return layoutVerb(l.Name) })...)
}

func layoutVerb(name string) verb {
	v := v("layout."+name, processes, "", "Layout "+name, "layout "+name+" of the process table", func(m *Model, _ string) tea.Cmd {
		return m.procs.chooseLayout(name)
	})
	v.Group = "Columns"
	return v
}

// columnVerbs are to show or hide each column: for the palette, and for keys of the
// user's own. sortVerbs sort by each.
func columnVerbs() []verb {
	return group.Each(field.Columns, func(c field.TaskColumn) verb {
		return v("column."+c.ID, processes, "", c.Title, "show or hide the column "+c.Title+": "+c.Help,
			func(m *Model, _ string) tea.Cmd { return m.procs.toggleColumn(c.ID) })
	})
}

func sortVerbs() []verb {
	return group.Each(field.Columns, func(c field.TaskColumn) verb {
		return v("sort."+c.ID, processes, sortKeys[c.ID], "By "+c.Title[strings.LastIndexByte(c.Title, ' ')+1:], "sort by "+c.Title,
			func(m *Model, _ string) tea.Cmd { return m.procs.sortBy(c.ID) })
	})
}

// sortKeys are htop's, and one for migrations.
var sortKeys = map[string]string{"cpu_percent": "P", "mem_percent": "M", "time_s": "T", "pid": "N", "migrations_per_s": "B"}

// Where verbs work.
var (
	everywhere  = []action.Context{action.Everywhere}
	processes   = []action.Context{action.Processes}
	panel       = []action.Context{action.Panel}
	threads     = []action.Context{action.Threads}
	tasks       = []action.Context{action.Processes, action.Threads}
	coresView   = []action.Context{action.Cores}
	irqsView    = []action.Context{action.IRQs}
	raceView    = []action.Context{action.Race}
	whyPane     = []action.Context{action.Why}
	benchView   = []action.Context{action.Bench}
	journalView = []action.Context{action.Journal}
)

func shows(view action.Context) handler {
	return func(m *Model, _ string) tea.Cmd { return m.show(view) }
}

// verbGroup is verbs under a heading.
type verbGroup struct {
	title string
	verbs []verb
}

// groups are the verbs under their headings, in the order of the help. Keys follow htop where htop has the
// function; every F-key has a twin for terminals that keep F-keys to themselves.
func groups() []verbGroup {
	return []verbGroup{
		// These change the tagged tasks, or the selected one.
		{"Tune", []verb{
			v("tune.pin", processes, "p", "Pin", "pin to the least-loaded CPU; says which and why", inList((*processView).pin)).changes("pin"),
			v("tune.place", processes, "o", "Place", "place: each strategy with the CPUs it would choose and why; a CPU, cache or node",
				inList((*processView).askPlace)).changes("pin"),
			v("tune.grab", processes, "d", "Grab", "grab, to drop on a CPU, cache or node of the core panel; the mouse drags rows there",
				inList((*processView).grabRows)).changes("pin"),
			v("tune.affinity", processes, "a", "Affinity", "choose the CPUs it may run on", inList((*processView).askAffinity)).changes("pin"),
			v("tune.auto", processes, "R", "Race", "try placements in turn, keep the best if it is better than the kernel's choice; Enter keeps one now",
				plain((*Model).startRace)).changes("auto"),
			v("tune.nice.lower", processes, "f7 ]", "Nice -", "nice one lower: more CPU time", nices(-1)).changes("nice"),
			v("tune.nice.raise", processes, "f8 [", "Nice +", "nice one higher: less CPU time", nices(1)).changes("nice"),
			v("tune.policy", processes, "Y", "Policy", "scheduling policy and real-time priority", inList((*processView).askPolicy)).changes("policy"),
			v("tune.ioprio", processes, "i", "I/O prio", "I/O priority", inList((*processView).askIOPrio)).changes("ionice"),
			v("tune.signal", processes, "f9 k", "Signal", "send a signal", inList((*processView).askSignal)).changes(""),
			v("tune.undo", []action.Context{action.Processes, action.Cores, action.Panel, action.IRQs, action.Race, action.Why}, "z", "Undo", "undo the last change",
				plain(func(m *Model) tea.Cmd { return m.changes.undo() })).changes("undo").with(action.Undoable),
		}},
		// Interrupts are sent elsewhere with the keys that do so with tasks.
		{"IRQs", []verb{
			v("irqs.affinity", irqsView, "a", "Affinity", "choose the CPUs of the IRQ", inIRQs((*interrupts).askAffinity)).changes("irq move"),
			v("irqs.place", irqsView, "o", "Place", "place: spread, the device's node, a CPU, cache or node", inIRQs((*interrupts).askPlace)).changes("irq move"),
			v("irqs.grab", irqsView, "d", "Grab", "grab, to drop on the core panel; the mouse drags there",
				func(m *Model, _ string) tea.Cmd { return m.chooser.grab(m.irqs.grabLines(m.irqs.Targets())) }).changes("irq move"),
			v("irqs.spread", irqsView, "s", "Spread", "spread the tagged ones, or all that are shown, one per CPU", inIRQs((*interrupts).spreadShown)).changesAny("irq spread"),
			v("irqs.reset", irqsView, "r", "Reset", "to the CPUs of new interrupts (default_smp_affinity)", inIRQs((*interrupts).reset)).changes("irq reset"),
			v("irqs.queue", irqsView, "e", "Queue", "RPS, XPS and RFS of the network queue", inIRQs((*interrupts).askQueue)).changes("irq queues"),
			v("irqs.open", irqsView, "enter", "Handler", "the task that handles the interrupt, among the processes",
				plain((*Model).showHandler)),
			v("irqs.filter", irqsView, `f4 \ /`, "Filter", "filter by words: number, handler, device, driver, queue, control", inIRQs((*interrupts).askFilter)),
			v("irqs.sort", irqsView, "f6 < >", "Sort", "by the next column, or the one before", func(m *Model, key string) tea.Cmd { m.irqs.StepSort(key != "<"); return nil }),
			v("irqs.invert", irqsView, "I", "Invert", "invert the order", does(func(m *Model) { m.irqs.Invert() })),
			v("irqs.flows", irqsView, "f", "Flows", "what the process selected among the processes receives: on which CPUs its packets are handled and read, by which queue; again: hide it",
				plain(func(m *Model) tea.Cmd { return m.irqs.ToggleFlows() })).like("irq follow"),
			v("irqs.named", irqsView, "n", "Named", "lines without a number and softirqs, too", does(func(m *Model) { m.irqs.ToggleNamed() })),
			v("irqs.tag", irqsView, "space", "Tag", "tag or untag", does(func(m *Model) { m.irqs.ToggleTag() })).of(),
			v("irqs.all", irqsView, "A", "Tag all", "tag all that are shown", does(func(m *Model) { m.irqs.TagAll() })).of(),
			v("irqs.untag", irqsView, "U", "Untag", "untag all", does(func(m *Model) { m.irqs.Untag() })),
		}},
		// While the core panel has the keyboard: to choose CPUs, for what was grabbed or for the list.
		{"Core panel", []verb{
			v("panel.focus", []action.Context{action.Processes, action.Cores, action.IRQs, action.Panel}, "C", "CPUs",
				"choose CPUs in the core panel; Esc returns to the list", inList((*processView).focusPanel)),
			v("panel.enter", panel, "enter", "OK", "drop what was grabbed on the CPUs under the cursor; else return to the list",
				inPanel((*chooser).enterCPUs)),
			v("panel.spread", panel, "s", "Spread", "spread what was grabbed over the CPUs under the cursor, one per CPU",
				func(m *Model, _ string) tea.Cmd {
					return m.chooser.dropGrabbed(m.chooser.grabbed, m.chooser.grabbed.spread)
				}).changes("spread").with(action.Grabbed),
			v("panel.wider", panel, "+ >", "Wider", "from the CPU to its core, cache, node, all", does(func(m *Model) { m.chooser.widen(1) })),
			v("panel.narrower", panel, "- <", "Narrower", "from all to the node, cache, core, CPU", does(func(m *Model) { m.chooser.widen(-1) })),
			v("panel.tick", panel, "space", "Tick", "tick: the list shows only tasks on ticked CPUs; what is grabbed is dropped on all of them",
				inPanel((*chooser).tick)),
			v("panel.allowed", panel, "f", "On/may", "of ticked CPUs: tasks that are on them (a process by its first thread; H shows all), or all that may run there",
				inPanel((*chooser).toggleMayRun)).with(action.NotGrabbed),
			v("panel.isolate", panel, "I", "Isolate", "isolate the ticked CPUs, or those under the cursor: move tasks and IRQs off; lists what cannot be moved",
				inPanel((*chooser).isolate)).changes("isolate").with(action.NotGrabbed),
			v("panel.include", panel, "i", "Include", "include them again: restore what was moved off, deliberate pins as they were",
				inPanel((*chooser).include)).changes("include").with(action.NotGrabbed),
			v("panel.untick", panel, "U", "Untick", "untick all", inPanel((*chooser).untick)),
			v("panel.number", panel, "0 1 2 3 4 5 6 7 8 9", "Jump", "jump to a CPU", func(m *Model, key string) tea.Cmd { return m.chooser.typeCPU(key) }),
		}},
		{"Show", []verb{
			v("show.detail", processes, "enter", "Detail", "detail pane: threads, affinity, bounce chart, files, sockets; again: focus its thread list",
				inList((*processView).openDetail)).of(),
			v("show.why", tasks, "w", "Why", "why it waits for a CPU: causes by share, the verdict, and what helps", plain((*Model).showWhy)).like("why").of(),
			v("show.files", tasks, "l", "Files", "list the open files, with sockets' addresses and incoming CPUs", inList((*processView).showFiles)).of(),
			v("show.trace", tasks, "s", "strace", "attach strace to the process, or to the thread under the cursor; ^C ends it",
				inList((*processView).trace)).changes(""),
			v("show.tree", processes, "f5 t", "Tree", "tree of processes; again: of control groups (units, containers) with sums; again: list",
				lists(func(v *proctable.View) { v.Tree = v.Tree.Next() })),
			v("layout.next", processes, "L", "Layout", "next layout: its columns, order, arrangement and filter",
				func(m *Model, _ string) tea.Cmd { return m.procs.chooseLayout(m.procs.layouts.Next()) }),
			v("show.waits", processes, "W", "Waits", "layout waits, by DELAY: who waits for a CPU, CPU limits, pressure", inList((*processView).showWaits)),
			v("show.fold", processes, "+ -", "Fold", "fold or unfold the subtree; a folded row shows its sums", does(func(m *Model) { m.procs.ToggleFold() })),
			v("show.threads", processes, "H", "Threads", "threads on or off", inList((*processView).toggleThreads)),
			v("show.kernel", processes, "K", "Kernel", "kernel threads on or off", lists(func(v *proctable.View) { v.Kernel = !v.Kernel })),
			v("show.environment", processes, "e", "Environ", "environment of the process", inList((*processView).showEnvironment)).of(),
			v("show.follow", processes, "F", "Follow", "keep the selected process in view as the order changes",
				does(func(m *Model) { m.procs.SetFollow(!m.procs.Following()) })).of(),
			v("show.pause", processes, "Z", "Pause", "pause or continue", plain((*Model).togglePause)),
			v("show.panel", []action.Context{action.Processes, action.Panel}, "#", "Panel", "core panel full, folded or hidden", inPanel((*chooser).cyclePanel)),
			v("show.cost", everywhere, "ctrl+o", "Own cost", "what piton itself costs", does(func(m *Model) { m.cost.Shown = !m.cost.Shown })),
		}},
		// While the detail pane's thread list has the keyboard.
		{"Detail pane", []verb{
			v("threads.sort", threads, "f6 < >", "Sort", "sort by another column; a click on its heading, too",
				func(m *Model, key string) tea.Cmd { m.procs.detail.StepSort(key != "<"); return nil }),
			v("threads.invert", threads, "I", "Invert", "invert the order", does(func(m *Model) { m.procs.detail.Invert() })),
			v("threads.leave", threads, "enter", "Back", "focus the process list again", inList((*processView).leaveThreads)),
		}},
		{"Find and sort", append([]verb{
			v("find.search", processes, "f3 /", "Search", "search by name or PID", func(m *Model, key string) tea.Cmd { return m.procs.askSearch(key) }),
			v("find.filter", processes, `f4 \`, "Filter", "filter: words and comparisons, e.g. cpu>50 on=3 mig>10 user:root", inList((*processView).askFilter)),
			v("find.user", processes, "u", "User", "processes of one user", inList((*processView).askUser)),
			v("sort.menu", processes, "f6 < >", "Sort", "choose the column to sort by", inList((*processView).askSort)),
			v("sort.invert", processes, "I", "Invert", "invert the order", lists(func(v *proctable.View) { v.Desc = !v.Desc })),
		}, sortVerbs()...)},
		{"Move and tag", []verb{
			v("move.up", everywhere, "up", "Up", "one row up", moves(func(m *Model) { m.chooser.step(0, -1) }, func(l lister) { l.Move(-1) })),
			v("move.k", []action.Context{action.Cores, action.IRQs, action.Bench, action.Journal, action.Race, action.Why}, "k", "Up", "one row up; among the processes, k sends a signal",
				moves(func(m *Model) { m.chooser.step(0, -1) }, func(l lister) { l.Move(-1) })),
			v("move.down", everywhere, "down j", "Down", "one row down", moves(func(m *Model) { m.chooser.step(0, 1) }, func(l lister) { l.Move(1) })),
			v("move.pageup", everywhere, "pgup", "Page up", "one page up", moves(nil, func(l lister) { l.Page(-1) })),
			v("move.pagedown", everywhere, "pgdown", "Page down", "one page down", moves(nil, func(l lister) { l.Page(1) })),
			v("move.home", everywhere, "home g", "First", "first row", moves(func(m *Model) { m.chooser.edge(false) }, lister.Home)),
			v("move.end", everywhere, "end G", "Last", "last row", moves(func(m *Model) { m.chooser.edge(true) }, lister.End)),
			v("move.left", everywhere, "left", "Left", "scroll left", moves(func(m *Model) { m.chooser.step(-1, 0) }, func(l lister) { l.Scroll(-1) })),
			v("move.right", everywhere, "right", "Right", "scroll right", moves(func(m *Model) { m.chooser.step(1, 0) }, func(l lister) { l.Scroll(1) })),
			v("tag.toggle", processes, "space", "Tag", "tag or untag", does(func(m *Model) { m.procs.ToggleTag() })).of(),
			v("tag.children", processes, "c", "Tag tree", "tag with its children", inList((*processView).tagChildren)).of(),
			v("tag.all", processes, "A", "Tag all", "tag all that are shown: with a filter (comm~^nq), everything that matches", inList((*processView).tagAll)).of(),
			v("tag.none", processes, "U", "Untag", "untag all", does(func(m *Model) { m.procs.Untag() })),
		}},
		{"Cores", []verb{
			v("cores.open", coresView, "enter", "Open", "the tasks behind a cell, the ledger of a CPU, a task among the processes", plain(func(m *Model) tea.Cmd { return m.cores.Enter() })),
			v("cores.ledger", coresView, "l", "Ledger", "the ledger of the CPU: its time by task", does(func(m *Model) { m.cores.OpenLedger() })),
			v("cores.window", coresView, "w", "Window", "the last second, 10 seconds or minute", does(func(m *Model) { m.cores.NextWindow() })),
			v("cores.next", coresView, "n", "Next cell", "the next busiest cell of the map", does(func(m *Model) { m.cores.NextBusiest() })),
			v("cores.fold", coresView, "f", "Fold", "the map by CPU, by cache or by node", does(func(m *Model) { m.cores.Fold() })),
			v("cores.list", coresView, "c", "List", "list of the CPUs", does(func(m *Model) { m.cores.ToggleList() })),
			v("cores.pin", coresView, "p", "Pin", "in the ledger, pin the task to the least-loaded other CPU",
				plain((*Model).pinFromLedger)).changesAny("pin"),
		}},
		{"Race", []verb{
			v("race.keep", raceView, "enter", "Keep", "keep the candidate under the cursor now, without proof", plain((*Model).keepNow)).changesAny("").with(action.Searching),
			v("race.end", raceView, "esc", "Restore", "end the search, everything is as before; then back to the processes", plain((*Model).endSearch)),
		}},
		{"Why", []verb{
			v("why.apply", whyPane, "enter", "Apply", "run the command of the selected cause, and compare the waits before and after", plain((*Model).applyRemedy)).changes(""),
		}},
		{"Benchmarks", []verb{
			v("bench.new", benchView, "n", "New run", "start a workload: form for size, threads, placements, runs",
				plain(func(m *Model) tea.Cmd { return m.bench.StartStudy() })).like("bench").with(action.Idle),
			v("bench.open", benchView, "enter", "Open", "the study under the cursor; Esc returns to this session's",
				plain(func(m *Model) tea.Cmd { return m.bench.ShowSelected() })),
			v("bench.paper", benchView, "p", "Studies", "reproduce a published study, beside its figures",
				plain(func(m *Model) tea.Cmd { return m.bench.Reproduce() })).like("bench paper").with(action.Idle),
			v("bench.extend", benchView, "e", "More runs", "add runs to the study shown until its intervals are within 1 % of the median",
				plain(func(m *Model) tea.Cmd { return m.bench.ExtendStudy() })).with(action.Idle),
			v("bench.compare", benchView, "c", "Compare", "compare two past studies: mark one, then press c on the other",
				plain(func(m *Model) tea.Cmd { return m.bench.CompareStudies() })),
			v("bench.picture", benchView, "v", "Picture", "the picture of the results shown, with all notes and conditions", plain(func(m *Model) tea.Cmd { return m.bench.ShowPicture() })),
			v("bench.write", benchView, "w", "Write", "write the results shown as a page and as SVG",
				plain(func(m *Model) tea.Cmd { return m.bench.WriteReport() })).like("bench report"),
			v("bench.cancel", benchView, "x", "Cancel", "cancel the running benchmark",
				plain(func(m *Model) tea.Cmd { return m.bench.CancelStudy() })).with(action.Running),
		}},
		{"Journal", []verb{
			v("journal.open", journalView, "enter", "Open", "the parts of the change: each task and file", does(func(m *Model) { m.journal.ToggleParts() })),
			v("journal.undo", journalView, "z", "Undo", "undo the tagged changes, or the selected one", plain(func(m *Model) tea.Cmd { return m.journal.Undo() })).changesAny("undo").with(action.Undoable),
			v("journal.all", journalView, "A", "Undo all", "undo everything", plain(func(m *Model) tea.Cmd { return m.journal.UndoAll() })).changesAny("undo --all").with(action.Undoable),
			v("journal.tag", journalView, "space", "Tag", "tag, to undo several", does(func(m *Model) { m.journal.ToggleTag() })).changesAny(""),
			v("journal.untag", journalView, "U", "Untag", "untag all", does(func(m *Model) { m.journal.Untag() })).changesAny(""),
			v("journal.read", journalView, "r", "Reload", "read it again", plain(func(m *Model) tea.Cmd { return m.journal.Open() })),
		}},
		// The digits stand for what the tabs show.
		{"Views", []verb{
			v("view.processes", everywhere, "1", "Processes", "processes", shows(action.Processes)),
			v("view.cores", everywhere, "2", "Cores", "migrations from CPU to CPU, and each CPU's time by task", shows(action.Cores)),
			v("view.irqs", everywhere, "3", "IRQs", "rate, CPUs, device and driver of each interrupt", shows(action.IRQs)).like("irq list"),
			v("view.bench", everywhere, "b 4", "Bench", "benchmarks and their results", shows(action.Bench)).like("bench"),
			v("view.journal", everywhere, "5", "Journal", "journal of the changes made", shows(action.Journal)).like("journal"),
			v("view.next", everywhere, "tab", "Next view", "next view", func(m *Model, _ string) tea.Cmd { return m.turn(1) }),
			v("view.previous", everywhere, "shift+tab", "Previous", "previous view", func(m *Model, _ string) tea.Cmd { return m.turn(-1) }),
		}},
		{"Columns", append(layoutVerbs(), columnVerbs()...)},
		{"piton", []verb{
			v("app.help", everywhere, "f1 ? h", "Help", "this help; says why a value is missing", plain((*Model).showHelp)),
			v("app.palette", everywhere, ": ctrl+p", "Find", "find any action, column, view or setting by its name", func(m *Model, _ string) tea.Cmd { return m.openPalette("") }),
			v("app.setup", everywhere, "f2 S", "Setup", "meters, columns and display", plain((*Model).askSetup)),
			v("app.back", everywhere, "esc", "Back", "close, or clear the search and the filter", plain((*Model).back)),
			v("app.copy", everywhere, "y", "Copy", "copy the command line of the last change, in Bench that of the study shown", plain((*Model).copyCommand)),
			v("app.mouse", everywhere, "m", "Mouse", "mouse on or off: off, the terminal selects text", plain((*Model).toggleMouse)),
			v("app.repaint", everywhere, "ctrl+l", "Repaint", "repaint the screen", func(*Model, string) tea.Cmd { return screen.Repaint }),
			v("app.suspend", everywhere, "ctrl+z", "Suspend", "suspend; fg resumes", plain((*Model).suspend)),
			v("app.quit", everywhere, "f10 q ctrl+c", "Quit", "quit", plain(func(m *Model) tea.Cmd { return m.changes.quit() })),
		}},
	}
}
