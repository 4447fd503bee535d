package benchcmd

import (
	"fmt"
	"io"

	"piton/internal/cli/app"
)

// progressLine is a line on a terminal that is rewritten; elsewhere there is none.
type progressLine struct{ shown int } // characters

func (l *progressLine) show(w io.Writer, text string) {
	if !app.IsTerminal(w) {
		return
	}
	if width, ok := app.TerminalWidth(w); ok && len(text) >= width {
		text = text[:max(width-1, 0)]
	}
	fmt.Fprintf(w, "\r%-*s", l.shown, text)
	l.shown = len(text)
}

func (l *progressLine) clear(w io.Writer) {
	if l.shown > 0 {
		fmt.Fprintf(w, "\r%*s\r", l.shown, "")
	}
	l.shown = 0
}
