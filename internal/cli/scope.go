package cli

import (
	"piton/internal/change"
	"slices"

	"github.com/spf13/pflag"
)

// several reports whether more than one of the ways is given.
func several(given ...bool) bool {
	first := slices.Index(given, true)
	return first >= 0 && slices.Contains(given[first+1:], true)
}

// scopeOptions say how far a target reaches.
type scopeOptions struct{ process, thread, tree bool }

func (o *scopeOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.process, "process", false, "all threads of the process (the default)")
	fs.BoolVar(&o.thread, "thread", false, "only the thread with that number, not its whole process")
	fs.BoolVar(&o.tree, "tree", false, "the process and all its descendants")
}

func (o *scopeOptions) check() error {
	if several(o.process, o.thread, o.tree) {
		return usagef("--process, --thread and --tree exclude each other")
	}
	return nil
}

func (o *scopeOptions) scope() change.Scope {
	switch {
	case o.thread:
		return change.ScopeThread
	case o.tree:
		return change.ScopeTree
	}
	return change.ScopeProcess
}

// given is the first flag that was given and is among some, "" if none is.
func given(flags *pflag.FlagSet, among func(name string) bool) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if name == "" && among(f.Name) {
			name = f.Name
		}
	})
	return name
}
