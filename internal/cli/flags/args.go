package flags

import (
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/exit"
	"piton/internal/group"
)

// NoArgs is for commands that take none.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// OneArg is for commands that take one word.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return exit.Usagef("%s takes one %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// NeedArgs is for commands that take at least n words.
func NeedArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n || n > 0 && args[0] == "" { // of a variable that is not set
			return exit.Usagef("%s needs %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// OneCPUs is for commands that take one list of CPUs.
func OneCPUs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return exit.Usagef("%s needs CPUS", cmd.CommandPath())
	case len(args) > 1:
		return exit.Usagef("%s takes one list of CPUs, not %q as well", cmd.CommandPath(), args[1])
	}
	return nil
}

// NeedsCommand makes a command that only holds others refuse to stand alone.
func NeedsCommand(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		path := strings.TrimPrefix(cmd.CommandPath(), "piton ")
		if len(args) > 0 {
			return exit.Usagef("there is no command %q; there are %s %s", path+" "+args[0], path, verbsOf(cmd))
		}
		return exit.Usagef("%s needs one of %s", cmd.CommandPath(), verbsOf(cmd))
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // Args has refused already
}

// verbsOf are the commands below one; read-only mode has fewer.
func verbsOf(cmd *cobra.Command) string {
	return strings.Join(group.Each(cmd.Commands(), (*cobra.Command).Name), ", ")
}

// NegativeValues is the annotation of commands that take negative numbers.
const NegativeValues = "negative-values"

// TargetHelp explains TARGET in the help of a command.
const TargetHelp = `TARGET is a PID or TID, a name, a glob, /regex/ on the name, cmd:/regex/ on the command line, user:NAME or cgroup:PATH.
It means all threads of each process; --thread means the one thread, --tree the descendants too.
thread:/regex/ means single threads, of any process, whose own name matches.
A target that matches nothing is an error, and nothing is changed (see piton help targets).`

// CPUsHelp explains CPUS in the help of a command.
const CPUsHelp = `CPUS is a list (4-7), a stride (0-14:2), node:1, llc:0, package:0, core:3, online, isolated (at boot) or nohz_full.
A comma adds and ^ takes out: node:1,^8 (see piton help cpus).`
