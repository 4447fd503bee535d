package cli

import (
	"os"

	"github.com/charmbracelet/x/term"
)

// isTerminal reports whether a stream of the run is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
