package app

import (
	"os"

	"github.com/charmbracelet/x/term"
)

// IsTerminal reports whether a stream of the run is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// TerminalWidth is the width of a terminal; ok is false when the stream is none.
func TerminalWidth(stream any) (width int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	width, _, err := term.GetSize(f.Fd())
	return width, err == nil && width > 0
}
