package screen

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/crash"
	"piton/internal/kernel"
)

// execMsg asks for a command to be run in the terminal.
type execMsg struct {
	cmd  *exec.Cmd
	done func(error) tea.Msg
}

// Exec returns a command that gives the terminal to c until it has ended, and then
// delivers what done makes of its error. Streams that c has already stay as they are.
// ^C and ^\ meanwhile are for c alone; a signal that ends the program ends c first.
func Exec(c *exec.Cmd, done func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg { return execMsg{c, done} }
}

// run runs a command while the terminal is given back. The event loop waits, so nothing is
// drawn meanwhile.
func (r *root) run(e execMsg) tea.Cmd {
	r.giveAway()
	r.signals.lend(true)
	err := r.wait(e.cmd)
	again := r.takeTerminal()
	r.signals.lend(false)
	r.takeBack()
	return tea.Batch(again, handled(func() tea.Msg { return e.done(err) }))
}

// giveAway gives the terminal to somebody else.
func (r *root) giveAway() {
	r.term.keys.lend(true)
	r.term.collect()
	r.term.leave()
	r.signals.away.Store(true)
}

// takeBack reads the terminal again.
func (r *root) takeBack() {
	r.signals.away.Store(false)
	r.term.keys.lend(false)
}

// A command that is to end gets SIGTERM, and SIGKILL where that does not help: strace detaches
// from its tasks with both. What sudo has started as root may get neither, and is not waited
// for: once the shell has the terminal, it reads it no more.
const graceTime, killTime = 3 * time.Second, time.Second

// wait starts a command and waits for its end, or for that of the program.
func (r *root) wait(c *exec.Cmd) error {
	if c.Stdin == nil {
		c.Stdin = r.term.in
	}
	if c.Stdout == nil {
		c.Stdout = r.term.out
	}
	if c.Stderr == nil { // its questions must be seen
		c.Stderr = r.term.out
	}
	c.WaitDelay = graceTime // once it has ended, for what it has left behind
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { defer crash.Handle(); ended <- c.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-r.signals.ended:
	}
	_ = c.Process.Signal(syscall.SIGCONT) // one that is stopped ends all the same
	for _, step := range []struct {
		sig     syscall.Signal
		timeout time.Duration
	}{{syscall.SIGTERM, graceTime}, {syscall.SIGKILL, killTime}} {
		_ = c.Process.Signal(step.sig)
		select {
		case err := <-ended:
			return err
		case <-time.After(step.timeout):
		}
	}
	return errors.New("it did not end")
}

// pendingTime is how long a signal that ends the program may come after the SIGCONT that
// was sent with it.
const pendingTime = 5 * time.Second

// stop gives the terminal back and stops the process and its job, as ^Z does, until SIGCONT.
// Continued in the background, where it may not change the terminal, it stops again.
func (r *root) stop() tea.Cmd {
	r.giveAway()
	select {
	case <-r.signals.continued: // of an earlier time
	default:
	}
	_ = syscall.Kill(0, syscall.SIGTSTP) // see signals.away
	for {
		select {
		case <-r.signals.ended:
			return tea.Quit
		case <-r.signals.continued:
		}
		if kernel.InForeground(int(r.term.in.Fd())) {
			break
		}
		select {
		case <-r.signals.ended:
			return tea.Quit
		case <-time.After(pendingTime):
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
		}
	}
	again := r.takeTerminal()
	r.takeBack()
	return again
}
