package tunecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The exit codes of a command that did not run, as shells have them.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// runOptions are the flags of piton run: what any change takes, and what only a
// process can set for itself.
type runOptions struct {
	tuning Settings
	memory memoryOptions
	cgroup bool
	gate   *os.File // of the cgroup's sweeper, kept from the garbage collector
}

func newRun(a *app.App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "start a command with its placement set",
		Long: `Set affinity, priority, policy, I/O priority and memory nodes, then execute COMMAND in place of piton:
it has piton's PID and terminal, and its exit status is piton's.
The exit status is 127 if there is no such command, 126 if it cannot be run.
With --cgroup COMMAND runs in a cgroup of its own with those CPUs and memory nodes.
Its children cannot leave them by their affinity. The group is removed when all have ended.`,
		Example: "  piton run --pin least-loaded -- ./server\n  piton run --pin 2-3 --policy fifo:10 -- ./control-loop -v\n" +
			"  piton run --pin node:1 --membind 1 -- ./stream\n  piton run --cgroup --pin 0-3 -- make -j8",
		GroupID: app.GroupTune,
		Args:    flags.NeedArgs(1, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := o.tuning.Tuning(a)
			if err != nil {
				return err
			}
			if o.cgroup && o.tuning.pin == "" {
				return exit.Usagef("--cgroup needs --pin, for the CPUs of the group")
			}
			if err := o.memory.parse(); err != nil {
				return err
			}
			return runCommand(cmd.Context(), a, want, &o, args)
		},
	}
	o.tuning.addSettingFlags(cmd.Flags())
	o.memory.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.cgroup, "cgroup", false, "in a cgroup of its own with those CPUs and nodes, removed afterwards")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// runCommand becomes the command; it returns only when that fails.
func runCommand(ctx context.Context, a *app.App, want action.Tuning, o *runOptions, argv []string) error {
	if !a.Live() {
		return errNoRun
	}
	path, err := lookPath(argv[0])
	if err != nil {
		return err
	}
	set := func(kernel.TID) error { return nil }
	if !want.Empty() {
		if set, err = setterOfSelf(ctx, a, want, o); err != nil {
			return err
		}
	}
	var failed error
	err = a.Exec(path, argv, a.Env, func(self kernel.TID) error {
		if failed = set(self); failed == nil {
			failed = o.memory.set()
		}
		return failed
	})
	if failed != nil {
		return failed
	}
	return exit.With(exitCannotRun, fmt.Errorf("%s cannot be run: %w", argv[0], errors.Unwrap(err)))
}

var errNoRun = exit.With(exit.NotPermitted, errors.New("piton run starts commands on this machine only, not with --host-root"))

// setterOfSelf returns what sets the settings on the thread that becomes the
// command. There is no journal: the command ends by itself.
func setterOfSelf(ctx context.Context, a *app.App, want action.Tuning, o *runOptions) (func(kernel.TID) error, error) {
	deps := action.Deps{Tuner: change.Local()}
	if want.Strategy != "" {
		var err error
		if deps.Model, err = a.Measure(ctx); err != nil {
			return nil, err
		}
	}
	return func(self kernel.TID) error {
		plan, err := deps.Plan(ctx, action.Request{Targets: []change.Target{{TID: self, Scope: change.ScopeThread}}, Tuning: want})
		if err != nil {
			return err
		}
		if o.cgroup {
			if o.gate, err = enterGroup(a, deps.Tuner, plannedCPUs(plan.Plan), o.memory.nodes); err != nil {
				return err
			}
		}
		// It is not piton that becomes real-time, but the command.
		result, err := deps.Apply(ctx, plan.Plan, change.Confirmation{Yes: true})
		return changes.End(result, err)
	}, nil
}

// plannedCPUs are those that the plan's tasks are to run on.
func plannedCPUs(plan change.Plan) cpuset.Set {
	var cpus cpuset.Set
	for _, c := range plan.Changes {
		if c.Attribute == attr.Affinity {
			cpus = cpus.Or(attr.CPUs(c.After))
		}
	}
	return cpus
}

// lookPath finds the command as a shell does.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, fs.ErrPermission), strings.Contains(name, "/") && !errors.Is(err, fs.ErrNotExist):
		return "", exit.With(exitCannotRun, fmt.Errorf("%s cannot be run: %w", name, syscall.EACCES))
	}
	return "", exit.With(exitNotFound, fmt.Errorf("there is no command %s", name))
}
