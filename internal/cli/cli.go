// Package cli is piton's command line: the command piton itself with its flags, its help and
// read-only mode, and the start of the screen. The other commands are in the packages below,
// one file a command: tunecmd, profilecmd, irqcmd, watchcmd, benchcmd. All of them are given
// an app.App, and end in the same functions of internal/action as the keys.
//
// Start at Main; commands.go lists the commands.
package cli

import (
	"context"
	"fmt"

	"piton/internal/change/guard"
	"piton/internal/cli/app"
	"piton/internal/cli/benchcmd"
	"piton/internal/cli/exit"
	"piton/internal/cli/tunecmd"
	"piton/internal/kernel"
)

// Main runs piton and returns its exit code.
func Main(io app.IO) int {
	if err := kernel.LowerCapabilities(); err != nil {
		fmt.Fprintf(io.Err, "piton: file capabilities cannot be lowered (build with CGO_ENABLED=0, or remove them): %v\n", err)
		return exit.NotPermitted
	}
	if io.Exec == nil {
		io.Exec = kernel.Exec
	}
	a := &app.App{IO: io}
	var err error
	if a.ReadOnly, err = wantsReadOnly(a); err == nil {
		if main, ok := mainOf(io.Args); ok {
			return main(a, io.Args)
		}
		kernel.DisableHugePages()
		err = execute(a)
	}
	if a.Signal != 0 {
		return 128 + int(a.Signal) // 130 after ^C
	}
	if text := exit.Message(err); text != "" {
		fmt.Fprintf(io.Err, "piton: %s\n", text)
	}
	return exit.Code(err)
}

// execute runs the command that the arguments name.
func execute(a *app.App) (err error) {
	root := newRoot(a)
	if err := checkTopic(root, a.Args); err != nil {
		return err
	}
	if completing(a) {
		root.SetArgs(completionArgs(root, a.Args))
	} else {
		root.SetArgs(argsFor(root, a.Args))
	}
	root.SetIn(a.In)
	root.SetOut(a)
	root.SetErr(a.Err)
	err = root.ExecuteContext(context.Background())
	switch {
	case err != nil:
		return err
	case a.WriteErr != nil && a.Changed:
		return exit.With(exit.Some, fmt.Errorf("it was changed, and piton journal shows it, but it could not be printed: %w", a.WriteErr))
	}
	return a.WriteErr
}

// mainOf is the main function of a process that piton starts for itself, before anything
// else is done, so that it starts fast. In read-only mode piton starts none that changes
// something, and so none is one.
func mainOf(args []string) (main func(*app.App, []string) int, ok bool) {
	if len(args) == 0 {
		return nil, false
	}
	switch verb := args[0]; {
	case verb == benchcmd.WorkloadVerb:
		return benchcmd.Workload, true
	case verb == guard.Verb:
		main = runGuard
	case verb == orderVerb && len(args) == 1:
		main = runOrder
	case verb == tunecmd.SweeperVerb || verb == tunecmd.SweeperChild:
		main = tunecmd.Sweep
	case verb == tunecmd.SpinVerb:
		main = tunecmd.Spin
	default:
		return nil, false
	}
	changes := main
	return func(a *app.App, args []string) int {
		if a.ReadOnly {
			a.Warn("%s", exit.Message(app.ErrReadOnly))
			return exit.NotPermitted
		}
		return changes(a, args)
	}, true
}

// runGuard is the main function of a guard process.
func runGuard(a *app.App, args []string) int {
	kernel.DisableHugePages()
	if err := guard.Main(args[1:]); err != nil {
		a.Warn("%s", exit.Message(err))
		return exit.Failed
	}
	return exit.Done
}
