package screen

import (
	"errors"
	"io"
	"os/exec"
	"os/signal"

	tea "charm.land/bubbletea/v2"
)

// execMsg asks for a command to be run in the terminal.
type execMsg struct {
	cmd  *exec.Cmd
	done func(error) tea.Msg
}

// Exec returns a command that gives the terminal to c until it has ended, and then
// delivers what done makes of its error. Streams that c has already stay as they are.
// ^C and ^\ meanwhile are for c alone.
func Exec(c *exec.Cmd, done func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg { return execMsg{c, done} }
}

// outside is a command that runs while the terminal is given back. Bubble Tea
// runs it in its event loop, so nothing is drawn meanwhile.
type outside struct {
	*exec.Cmd
	root *root
}

// SetStdin gives it the terminal for the streams that it does not have.
func (o *outside) SetStdin(io.Reader) {
	if o.Stdin == nil {
		o.Stdin = o.root.term.in
	}
	if o.Stdout == nil {
		o.Stdout = o.root.term.out
	}
	if o.Stderr == nil { // its questions must be seen
		o.Stderr = o.root.term.out
	}
}

// SetStdout is done by SetStdin.
func (o *outside) SetStdout(io.Writer) {}

// SetStderr is done by SetStdin.
func (o *outside) SetStderr(io.Writer) {}

// Run runs it and waits for its end.
func (o *outside) Run() error {
	o.root.term.collect()
	o.root.term.leave()
	o.root.signals.away.Store(true)
	o.root.signals.lent.Store(true)
	err := o.Start()
	if err == nil {
		o.root.signals.ignoreTyped() // the command has started without; so does system(3)
		err = o.Wait()
		defer signal.Notify(o.root.signals.ch, typed...) // once no key makes a signal
	}
	o.root.signals.lent.Store(false)
	o.root.signals.away.Store(false)
	return errors.Join(err, o.root.term.enter())
}
