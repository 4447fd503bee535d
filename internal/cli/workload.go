package cli

import (
	"fmt"
	"os"

	"piton/internal/bench"
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
	return bench.ChildMain(args, gate, a.Out)
}
