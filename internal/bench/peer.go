package bench

import (
	"fmt"
	"io"
	"os"
)

// peerWord stands in front of the workload's name on the command line of a
// further process of it, where a child has the name alone.
const peerWord = "peer"

// ownPeerCommand is the command of a further process of a workload for a workload
// that runs in a child: the child's own command, which led to ChildMain, with
// peerWord before the workload's name.
func ownPeerCommand(workload string) ([]string, error) { return peerCommand(os.Args, workload) }

func peerCommand(argv []string, workload string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to start a process of %s with: %w", workload, err)
	}
	for i, word := range argv {
		if i > 0 && word == workload {
			command := append([]string{self}, argv[1:i]...)
			return append(command, peerWord, workload), nil
		}
	}
	return nil, fmt.Errorf("%s can start its further processes from a benchmark's child only", workload)
}

// peerMain is the life of such a process: args are the workload's name and what
// its Run appended.
func peerMain(among []Workload, args []string, in *os.File, out io.Writer) int {
	w, err := lookup(among, args[0])
	if err != nil || w.Peer == nil {
		fmt.Fprintf(os.Stderr, "piton: unknown workload process %q\n", args[0])
		return 2
	}
	return w.Peer(args[1:], in, out)
}
