package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noArgs is for commands that take none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// takesOne is for commands that take one word.
func takesOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usagef("%s takes one %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// needArgs is for commands that take at least n words.
func needArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n || n > 0 && args[0] == "" { // of a variable that is not set
			return asUsage(fmt.Errorf("%s needs %s", cmd.CommandPath(), what))
		}
		return nil
	}
}

// oneCPUs is for commands that take one list of CPUs.
func oneCPUs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("%s needs CPUS", cmd.CommandPath())
	case len(args) > 1:
		return usagef("%s takes one list of CPUs, not %q as well", cmd.CommandPath(), args[1])
	}
	return nil
}

// needsVerb makes a command that only holds others refuse to stand alone.
func needsVerb(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		path := strings.TrimPrefix(cmd.CommandPath(), "piton ")
		if len(args) > 0 {
			return usagef("there is no command %q; there are %s %s", path+" "+args[0], path, verbsOf(cmd))
		}
		return usagef("%s needs one of %s", cmd.CommandPath(), verbsOf(cmd))
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // Args has refused already
}

// verbsOf are the commands below one; read-only mode has fewer.
func verbsOf(cmd *cobra.Command) string {
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return strings.Join(names, ", ")
}

// negativeValues is the annotation of commands that take negative numbers.
const negativeValues = "negative-values"

const targetHelp = `TARGET is a PID or TID, a name, a glob, /regex/ on the name, cmd:/regex/ on the command line, user:NAME or cgroup:PATH.
It means all threads of each process; --thread means the one thread, --tree the descendants too.
thread:/regex/ means single threads, of any process, whose own name matches.
A target that matches nothing is an error, and nothing is changed (see piton help targets).`

const cpusHelp = `CPUS is a list (4-7), a stride (0-14:2), node:1, llc:0, package:0, core:3, online, isolated (at boot) or nohz_full.
A comma adds and ^ takes out: node:1,^8 (see piton help cpus).`
