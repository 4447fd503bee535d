// Package rulescmd has the commands of standing rules: rules check, explain, run and stop.
// The rules themselves are internal/rules, the daemon is internal/rules/daemon.
package rulescmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/rules"
	"piton/internal/taskfile"
	"piton/internal/users"
)

// Commands are the commands of this package.
func Commands() app.Commands { return app.Commands{"rules": newRules} }

func newRules(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "apply standing rules to processes as they start",
		Long: `Apply rules to processes as they start: CPUs, priority, policy and more, by name, command line, unit or user.
A rules file is TOML (see piton help rules-file). piton rules run applies it until it is stopped, each rule once to a process.
Each change is in the journal and can be undone.`,
		Example: "  piton rules check\n  piton rules run --dry-run\n  piton rules stop --undo",
		GroupID: app.GroupTune,
	}
	cmd.AddCommand(newCheck(a), newExplain(a), newRun(a), newStop(a))
	flags.NeedsCommand(cmd)
	return cmd
}

// fileHelp says which file a command reads.
const fileHelp = `Without FILE it reads rules.toml beside config.toml of the user (see piton help config), else /etc/piton/rules.toml.
"-" reads standard input.`

// ruleFiles are the files that are looked for, the nearest first.
func ruleFiles(a *app.App) []string {
	files := []string{"/etc/piton/rules.toml"}
	if own := a.ConfigFile("rules.toml"); own != "" {
		files = slices.Insert(files, 0, own)
	}
	return files
}

// findRules is the file that the arguments name, else the nearest that there is.
func findRules(a *app.App, args []string) (string, error) {
	if len(args) > 0 {
		return app.InputFile(args[0]), nil
	}
	files := ruleFiles(a)
	for _, path := range files {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	if len(files) == 1 {
		return "", fmt.Errorf("there is no rules file %s", files[0])
	}
	return "", fmt.Errorf("there is no rules file: neither %s", strings.Join(files, " nor "))
}

// readRules reads a file, and refuses one with mistakes; with acts also one that root
// must not follow.
func readRules(a *app.App, path string, acts bool) (*rules.Set, error) {
	data, err := a.Steering(path, taskfile.MaxSize, acts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no rules file %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	set, err := rules.Parse(data)
	if err != nil {
		return nil, exit.Usagef("%s: %w", path, err)
	}
	for _, r := range set.LookUp(users.New(a.HostRoot).ID) {
		a.Warn("%s (line %d): there is no user %q", r.Title(), r.Line, r.User)
	}
	return set, nil
}

// rulesFor reads a file for this machine: one that names CPUs which it does not have is
// refused.
func rulesFor(a *app.App, path string) (*rules.Set, error) {
	set, err := readRules(a, path, false)
	if err != nil {
		return nil, err
	}
	topo, err := a.Topology()
	if err != nil {
		return nil, err
	}
	for _, r := range set.Rules {
		if _, err := r.Tuning(topo); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, r.Line, err)
		}
	}
	return set, nil
}

// oneFile is for commands that take a file or none.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 || len(args) == 1 && args[0] == "" {
		return exit.Usagef("%s takes one file at most", cmd.CommandPath())
	}
	return nil
}
