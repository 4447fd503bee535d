package workload

import "os"

// PeerWord stands in front of the workload's name on the command line of a
// further process of it, where a child has the name alone.
const PeerWord = "peer"

// OwnCommand is the command of a further process of a workload for a workload
// that runs in a child: the child's own command, which led to ChildMain, with
// PeerWord before the workload's name; nil elsewhere.
func OwnCommand(workload string) []string { return ownCommand(os.Args, workload) }

func ownCommand(argv []string, workload string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	for i, word := range argv {
		if i > 0 && word == workload {
			command := append([]string{self}, argv[1:i]...)
			return append(command, PeerWord, workload)
		}
	}
	return nil
}
