package app

import (
	"bufio"
	"context"
	"os"
	"strings"

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

// ReadLine reads an answer; "" when there is none, or when ctx ends.
func ReadLine(ctx context.Context, in *bufio.Reader) string {
	read := make(chan string, 1)
	go func() {
		text, _ := in.ReadString('\n') // no end of line is an answer, too
		read <- strings.TrimSpace(text)
	}()
	select {
	case text := <-read:
		return text
	case <-ctx.Done():
		return ""
	}
}
