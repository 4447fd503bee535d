package flags

import (
	"slices"

	"github.com/spf13/pflag"

	"piton/internal/change"
	"piton/internal/cli/exit"
)

// MoreThanOne reports whether more than one of the ways is given.
func MoreThanOne(given ...bool) bool {
	first := slices.Index(given, true)
	return first >= 0 && slices.Contains(given[first+1:], true)
}

// Scope say how far a target reaches.
type Scope struct{ process, thread, tree bool }

// AddFlags adds the flags, of which one may be given.
func (o *Scope) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.process, "process", false, "all threads of the process (the default)")
	fs.BoolVar(&o.thread, "thread", false, "only the thread with that number, not its whole process")
	fs.BoolVar(&o.tree, "tree", false, "the process and all its descendants")
}

// Check refuses more than one.
func (o *Scope) Check() error {
	if MoreThanOne(o.process, o.thread, o.tree) {
		return exit.Usagef("--process, --thread and --tree exclude each other")
	}
	return nil
}

// Value is the scope that was given.
func (o *Scope) Value() change.Scope {
	switch {
	case o.thread:
		return change.ScopeThread
	case o.tree:
		return change.ScopeTree
	}
	return change.ScopeProcess
}
