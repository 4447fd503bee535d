package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
)

// In read-only mode (--readonly, PITON_READONLY) what could change the machine is
// not there: no command, no flag, no key. It has to be known before the commands
// are made, and so before cobra reads the flags.

// readOnlyCommands are the commands that change nothing, by their paths without "piton".
// What is not named here does not exist in read-only mode.
var readOnlyCommands = []string{
	"journal", "watch", "why", "topo", "irq", "irq list", "irq queues", "irq follow", "sysctl", "what-is", "doctor", "demo", "schema", "version",
	"save", "verify", "profiles", "export", "export systemd", "export shell", "rules", "rules check", "rules explain", "bench", "record", "replay", "help", "completion",
}

const (
	readOnlyLong = `piton shows which tasks migrate between CPUs, and what that costs them. It is in read-only mode (--readonly,
PITON_READONLY): no command, flag or key that changes the system exists.

Without a command it opens the screen, with --headless it prints samples for scripts.`
	readOnlyExample = `  piton --readonly                                 the screen, to look only
  piton --readonly --headless -n 1 -o json         one sample, a JSON object a line`
)

// wantsReadOnly looks for the mode in the arguments of piton, up to those of a
// command to run, and in its environment. Given once is enough: nothing lifts it.
func wantsReadOnly(a *app.App) (bool, error) {
	wants := false
	if value := a.Getenv("PITON_READONLY"); value != "" {
		var err error
		if wants, err = strconv.ParseBool(value); err != nil {
			return false, exit.Usagef("PITON_READONLY is %q: it must be true or false", value)
		}
	}
	for _, word := range a.Args {
		if word == "--" || word == "run" {
			break
		}
		value, ok := strings.CutPrefix(word, "--readonly=")
		given, err := strconv.ParseBool(value)
		if word == "--readonly" || ok && (given || err != nil) { // the flag's own error follows
			wants = true
		}
	}
	return wants, nil
}

// checkReadOnly refuses a command that could change something, in a mode that was
// known only when its flags were read, as of "piton run --readonly".
func checkReadOnly(a *app.App, cmd *cobra.Command) error {
	if a.ReadOnly && cmd.HasParent() && !changesNothing(cmd) {
		return errNoCommand(cmd.Name())
	}
	return nil
}

// changesNothing reports whether a command below piton changes nothing. Hidden ones of
// cobra complete words.
func changesNothing(cmd *cobra.Command) bool {
	path := strings.TrimPrefix(cmd.CommandPath(), "piton ")
	parent, _, _ := strings.Cut(path, " ")
	return slices.Contains(readOnlyCommands, path) || isTopic(cmd) || parent == "bench" || parent == "completion" || strings.HasPrefix(path, "__")
}

// removeChanging removes the commands that could change something; a command line with one of
// them gets an error that says so.
func removeChanging(cmd *cobra.Command) {
	var removed []string
	for _, sub := range cmd.Commands() {
		if !changesNothing(sub) {
			removed = append(removed, sub.Name())
			cmd.RemoveCommand(sub)
			continue
		}
		removeChanging(sub)
	}
	known := cmd.Args
	cmd.Annotations = map[string]string{removedCommands: strings.Join(removed, " ")}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := asksForRemoved(cmd, args); err != nil || known == nil {
			return err
		}
		return known(cmd, args)
	}
}

// removedCommands is the annotation that names what read-only mode took away.
const removedCommands = "removed-commands"

// asksForRemoved is the error for words that begin with a command which read-only
// mode took away.
func asksForRemoved(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || !slices.Contains(strings.Fields(cmd.Annotations[removedCommands]), args[0]) {
		return nil
	}
	return errNoCommand(args[0])
}

func errNoCommand(name string) error {
	return exit.Usagef("there is no command %q in read-only mode: it changes the system (--readonly, PITON_READONLY)", name)
}
