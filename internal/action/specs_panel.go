package action

var panel = []Context{Panel}

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
