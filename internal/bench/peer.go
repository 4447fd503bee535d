package bench

import (
	"fmt"
	"io"
	"os"

	"piton/workloads/workload"
)

// peerMain is the life of such a process: args are the workload's name and what
// its Run appended.
func peerMain(among []workload.Workload, args []string, in *os.File, out io.Writer) int {
	w, err := workload.Find(among, args[0])
	if err != nil || w.Peer == nil {
		fmt.Fprintf(os.Stderr, "piton: unknown workload process %q\n", args[0])
		return 2
	}
	return w.Peer(args[1:], in, out)
}
