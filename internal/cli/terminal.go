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

// columns is the width of a terminal; ok is false when the stream is none.
func columns(stream any) (width int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	width, _, err := term.GetSize(f.Fd())
	return width, err == nil && width > 0
}
