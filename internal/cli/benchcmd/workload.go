package benchcmd

import (
	"fmt"
	"os"

	"piton/internal/bench/runner"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/kernel"
)

// WorkloadVerb is the hidden command under which piton starts itself as a
// benchmark's workload. It is looked at before anything else, so that a run
// starts fast.
const WorkloadVerb = "__workload"

// Workload is the main function of a benchmark's child; the first argument is the verb.
func Workload(a *app.App, args []string) int {
	gate, ok := a.In.(*os.File)
	if !ok {
		fmt.Fprintln(a.Err, "piton: a workload is started by piton bench")
		return exit.Usage
	}
	if err := kernel.FollowParent(); err != nil {
		fmt.Fprintf(a.Err, "piton: %v\n", err)
		return exit.Failed
	}
	return runner.ChildMain(args[1:], gate, a.Out)
}
