// Package cli is piton's command line: one file a command, each with its
// options, and one place each for exit codes (exit.go), JSON lines (lines.go)
// and tables (table.go). Commands end in the same functions of internal/action
// as the keys.
//
// Start at Main; root.go lists the commands.
package cli

import (
	"context"
	"fmt"

	"piton/internal/change/guard"
	"piton/internal/kernel"
)

// Main runs piton and returns its exit code.
func Main(io IO) int {
	if err := kernel.LowerCapabilities(); err != nil {
		fmt.Fprintf(io.Err, "piton: file capabilities cannot be lowered (build with CGO_ENABLED=0, or remove them): %v\n", err)
		return ExitNotPermitted
	}
	if io.Exec == nil {
		io.Exec = kernel.Exec
	}
	a := &app{IO: io}
	if len(io.Args) > 0 && io.Args[0] == workloadVerb {
		return a.workload(io.Args[1:])
	}
	if len(io.Args) > 0 && io.Args[0] == guard.Verb {
		return a.beGuard(io.Args[1:])
	}
	if len(io.Args) == 1 && io.Args[0] == orderVerb {
		return a.obey()
	}
	if len(io.Args) > 0 && (io.Args[0] == sweeperVerb || io.Args[0] == sweeperChild) {
		return a.sweep(io.Args[0], io.Args[1:])
	}
	err := a.execute()
	if a.signal != 0 {
		return 128 + int(a.signal) // 130 after ^C
	}
	if text := message(err); text != "" {
		fmt.Fprintf(io.Err, "piton: %s\n", text)
	}
	return exitCode(err)
}

// execute runs the command that the arguments name.
func (a *app) execute() (err error) {
	if a.readonly, err = a.wantsReadOnly(); err != nil {
		return err
	}
	root := newRoot(a)
	if err := checkTopic(root, a.Args); err != nil {
		return err
	}
	root.SetArgs(argsFor(root, a.Args))
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err = root.ExecuteContext(context.Background())
	switch {
	case err != nil:
		return err
	case a.writeErr != nil && a.changed:
		return withCode(ExitSome, fmt.Errorf("it was changed, and piton journal shows it, but it could not be printed: %w", a.writeErr))
	}
	return a.writeErr
}

// beGuard is the life of a guard process. It is looked at before anything else, so
// that it starts fast.
func (a *app) beGuard(args []string) int {
	if err := guard.Main(args); err != nil {
		a.warn("%s", message(err))
		return ExitFailed
	}
	return ExitDone
}
