package cli

import (
	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/tune"
)

func newSlice(a *app) *cobra.Command {
	return valueVerb(a, "slice TARGET… TIME", "a time", "set the slice of ordinary tasks",
		`Set how long OTHER and BATCH tasks run before another one's turn: 0.1ms to 100ms, 0 or default for the kernel's own.
A task with a short slice comes sooner and is interrupted more often; its share of the CPU stays the same (EEVDF, Linux
6.12). The kernel does not tell its default from the same length set by hand, so that reads as default.`,
		"  piton slice 3641 3ms\n  piton slice thread:/^audio/ 0.5ms\n  piton slice 3641 default",
		func(value string) (action.Tuning, error) {
			d, err := tune.ParseSlice(value)
			return action.Tuning{Slice: &d}, err
		})
}

func newClamp(a *app) *cobra.Command {
	return valueVerb(a, "uclamp TARGET… MIN,MAX", "clamps", "set the utilisation clamps",
		`Set between what the kernel takes a task's load to be when it chooses a frequency and a CPU: two numbers from 0 to 1024,
or per cent, or default. It needs a kernel with CONFIG_UCLAMP_TASK, as piton doctor tells.`,
		"  piton uclamp 3641 512,1024\n  piton uclamp user:build 0%,30%\n  piton uclamp 3641 default",
		func(value string) (action.Tuning, error) {
			c, err := tune.ParseClamp(value)
			return action.Tuning{Clamp: &c}, err
		})
}
