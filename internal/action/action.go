// Package action plans what keys and flags ask for, so that both do the same, and
// says what a verb of the screen is and when it can be used. The table of the verbs,
// each with its handler, is the screen's (package tui).
//
// Start at Request and Deps.Plan for what is changed, at Spec for verbs.
package action

import "slices"

// Context says on which view a key works.
type Context string

// The contexts. A key of Everywhere works in all of them.
const (
	Everywhere Context = ""
	Processes  Context = "processes" // the process table, with or without the detail pane
	Cores      Context = "cores"     // migrations from CPU to CPU, and each CPU's time by task
	IRQs       Context = "irqs"      // rate and CPUs of each interrupt
	Bench      Context = "bench"     // the results pane
	Race       Context = "race"      // the search for a placement
	Why        Context = "why"       // why processes wait for a CPU
	Journal    Context = "journal"   // the list of changes made
	Panel      Context = "panel"     // the core panel while it has the keyboard
	Threads    Context = "threads"   // the detail pane's thread list while it has the keyboard
)

// Views are the contexts that a user can switch to, in the order of their tabs.
var Views = []Context{Processes, Cores, IRQs, Bench, Journal}

// Spec is one verb.
type Spec struct {
	ID      string    // "tune.affinity"
	In      []Context // where its keys work
	Keys    []string  // names as charm.land/bubbles/v2/key matches them: "f7", "[", "space", "P"
	Label   string    // the keys as the help screen writes them, "F7 ]"
	Short   string    // two words at most, for the F-key bar
	Help    string    // one line
	Group   string    // heading on the help screen
	Verb    string    // command-line verb that does the same, "" if there is none
	Mutates bool      // changes the system; refused in read-only mode
	Needs   Need      // what it cannot be used without
}

// Need is a condition of a verb.
type Need uint8

// The conditions.
const (
	Nothing   Need = iota
	Selection      // a row is selected or tagged
	Undoable       // there is something to undo
	Running        // a benchmark is running
	Idle           // no benchmark is running
	Searching      // a search for a placement is under way
	Grabbed        // rows are grabbed
	NotGrabbed
)

// State is what Spec.Why decides from.
type State struct {
	View      Context
	Selected  int  // rows selected or tagged
	Grabbed   bool // rows are grabbed, to be dropped on CPUs
	ReadOnly  bool
	CanUndo   bool
	Benchmark bool // a benchmark is running
	Search    bool // a search for a placement is under way
}

// Works reports whether the verb's keys work in the context.
func (s *Spec) Works(in Context) bool {
	return slices.Contains(s.In, in) || slices.Contains(s.In, Everywhere)
}

// Why returns "" when the verb can be used now, otherwise the reason that the
// user is shown.
func (s *Spec) Why(state State) string {
	switch {
	case s.Mutates && state.ReadOnly:
		return "read-only: piton was started with --readonly, or reads another root"
	case s.Needs == Selection && state.Selected == 0 && state.View == IRQs:
		return "no interrupt with a number is selected"
	case s.Needs == Selection && state.Selected == 0 && state.View == Why:
		return "no cause is selected"
	case s.Needs == Selection && state.Selected == 0:
		return "no process is selected"
	case s.Needs == Undoable && !state.CanUndo:
		return "there is nothing to undo"
	case s.Needs == Running && !state.Benchmark:
		return "no benchmark is running"
	case s.Needs == Idle && state.Benchmark:
		return "a benchmark is running; x cancels it"
	case s.Needs == Searching && !state.Search:
		return "no search is under way: R on a process starts one"
	case s.Needs == Grabbed && !state.Grabbed:
		return "nothing is grabbed: d on the list grabs its rows"
	case s.Needs == NotGrabbed && state.Grabbed:
		return "drop what is grabbed first, or cancel with Esc"
	}
	return ""
}
