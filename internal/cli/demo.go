package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/crash"
	"piton/internal/demo"
	"piton/internal/tui/screen"
)

func newDemo(a *app.App) *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo [CPUS]",
		Short: "open the full-screen tuner on a made-up machine",
		Long: `Open the full-screen tuner on a made-up busy machine with 2 to 512 CPUs, 16 by default.

Every key works on that machine: pin, nice, policy, isolate, interrupts, benchmarks, journal and undo. Nothing of the
real machine is read or changed, and no rights are needed. It is gone when the screen closes.`,
		Example: "  piton demo\n  piton demo 512\n  piton demo 64 --seed 7",
		GroupID: app.GroupLook,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("%s takes one number of CPUs, not %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cpus := demo.UsualCPUs
			if len(args) == 1 {
				n, err := strconv.Atoi(args[0])
				if err != nil || demo.Check(n) != nil {
					return exit.Usagef("CPUS is %q: it must be a whole number from %d to %d", args[0], demo.LeastCPUs, demo.MostCPUs)
				}
				cpus = n
			}
			return runDemo(cmd.Context(), a, cpus, seed)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the machine does the same each time with the same seed")
	return cmd
}

// runDemo opens the screen on a made-up machine.
func runDemo(ctx context.Context, a *app.App, cpus int, seed uint64) (err error) {
	in, out, err := terminal(a)
	if err != nil {
		return err
	}
	options, _, err := screenOptions(a, &newRootOptions().monitor) // what is set up there is not kept
	if err != nil {
		return err
	}
	options.ReadOnly, options.PID = a.ReadOnly, 0
	m, err := demo.New(cpus, seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	s := demo.NewSampler(m, options.Interval)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer crash.Handle()
		defer close(ended)
		s.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	return show(ctx, a, m.Deps(options, s), screen.Options{Input: in, Output: out, Env: a.Env, Profile: options.Theme.Depth})
}
