package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/kernel"
	"piton/internal/tune"
)

// The exit codes of a command that did not run, as shells have them.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

func newRun(a *app) *cobra.Command {
	var o tuningOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "start a command already placed",
		Long: `Set affinity, priority, policy and I/O priority, then become COMMAND: its exit status, its signals and its
terminal are its own, and it has piton's PID. 127 if there is no such command, 126 if it cannot be run.`,
		Example: "  piton run --pin least-loaded -- ./server\n  piton run --pin 2-3 --policy fifo:10 -- ./control-loop -v",
		GroupID: groupTune,
		Args:    needArgs(1, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := o.change(a)
			if err != nil {
				return err
			}
			return runCommand(cmd.Context(), a, want, args)
		},
	}
	o.addSettingFlags(cmd.Flags())
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// runCommand becomes the command; it returns only when that fails.
func runCommand(ctx context.Context, a *app, want action.Tuning, argv []string) error {
	if !a.live() {
		return errNoRun
	}
	path, err := a.lookPath(argv[0])
	if err != nil {
		return err
	}
	place := func(kernel.TID) error { return nil }
	if !want.Empty() {
		if place, err = a.placeSelf(ctx, want); err != nil {
			return err
		}
	}
	var unplaced error
	err = kernel.Exec(path, argv, a.Env, func(self kernel.TID) error {
		unplaced = place(self)
		return unplaced
	})
	if unplaced != nil {
		return unplaced
	}
	return codeError{exitCannotRun, fmt.Errorf("%s cannot be run: %w", argv[0], errors.Unwrap(err))}
}

var errNoRun = codeError{ExitNotPermitted, errors.New("piton run starts commands on this machine only, not with --host-root")}

// placeSelf returns what sets the settings on the thread that becomes the
// command. There is no journal: the command ends by itself.
func (a *app) placeSelf(ctx context.Context, want action.Tuning) (func(kernel.TID) error, error) {
	deps := action.Deps{Tuner: tune.New(tune.Options{})}
	if want.Strategy != "" {
		var err error
		if deps.Model, err = a.measure(ctx); err != nil {
			return nil, err
		}
	}
	return func(self kernel.TID) error {
		plan, _, err := action.Plan(ctx, deps, []tune.Target{{TID: self, Scope: tune.ScopeThread}}, want)
		if err != nil {
			return err
		}
		plan.Yes = true // it is not piton that becomes real-time, but the command
		result, err := deps.Tuner.Apply(ctx, plan)
		if err != nil {
			return err
		}
		return resultError(result)
	}, nil
}

// lookPath finds the command as a shell does.
func (a *app) lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, fs.ErrPermission), strings.Contains(name, "/") && !errors.Is(err, fs.ErrNotExist):
		return "", codeError{exitCannotRun, fmt.Errorf("%s cannot be run: %w", name, syscall.EACCES)}
	}
	return "", codeError{exitNotFound, fmt.Errorf("there is no command %s", name)}
}
