// Package action is the one table of verbs: keys, help screen, command line and
// the README's key list are all made from it, so they cannot disagree.
//
// Start at Specs.
package action

// Context says on which screen a key works.
type Context string

// Spec is one verb.
type Spec struct {
	ID      string   // "affinity.set"
	Keys    []string // names as charm.land/bubbles/v2/key matches them: "f7", "[", "space", "P"
	Short   string   // two words at most, for the F-key bar
	Help    string   // one line
	Group   string   // heading on the help screen
	Verb    string   // command-line verb, "" if it has none
	Mutates bool     // changes the system; refused in read-only mode
	// Disabled returns "" when the verb can be used, otherwise the reason that
	// the user is shown.
	Disabled func(State) string
}

// State is what Disabled decides from.
type State struct {
	View      string // "processes", "cores", …
	Selected  int    // tasks selected or tagged
	ReadOnly  bool
	CanUndo   bool
	Benchmark bool // a benchmark is running
}
