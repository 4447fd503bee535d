package cli

import (
	"fmt"
	"os"

	"piton/internal/bench"
	"piton/internal/kernel"
)

// workloadVerb is the hidden command under which piton starts itself as a
// benchmark's workload. It is looked at before anything else, so that a run
// starts fast.
const workloadVerb = "__workload"

// workload is the life of a benchmark's child.
func (a *app) workload(args []string) int {
	gate, ok := a.In.(*os.File)
	if !ok {
		fmt.Fprintln(a.Err, "piton: a workload is started by piton bench")
		return ExitUsage
	}
	if err := kernel.FollowParent(); err != nil {
		fmt.Fprintf(a.Err, "piton: %v\n", err)
		return ExitFailed
	}
	return bench.ChildMain(args, gate, a.Out)
}
