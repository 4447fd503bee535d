package screen

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"

	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// execMsg asks for a command to be run in the terminal.
type execMsg struct {
	cmd  *exec.Cmd
	done func(error) tea.Msg
}

// Exec returns a command that gives the terminal to c until it has ended, and then
// delivers what done makes of its error. Streams that c has already stay as they are.
// c leads the terminal's foreground group: ^C, ^\ and ^Z meanwhile are for c and what it
// starts. ^Z stops the program with it; a signal that ends the program ends them first.
func Exec(c *exec.Cmd, done func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg { return execMsg{c, done} }
}

// run runs a command while the terminal is given back. The event loop waits, so nothing is
// drawn meanwhile.
func (r *root) run(e execMsg) tea.Cmd {
	r.giveAway()
	r.signals.lend(true)
	tty := r.term.in.Fd()
	modes, modesErr := term.GetState(tty)
	err := r.wait(e.cmd)
	if modesErr == nil && kernel.InForeground(int(tty)) { // a command that was killed where it asked has left it without echo
		_ = term.Restore(tty, modes)
	}
	again := r.takeTerminal()
	r.signals.lend(false)
	r.takeBack()
	return tea.Batch(again, handled(func() tea.Msg { return e.done(err) }))
}

func (r *root) giveAway() {
	r.term.keys.lend(true)
	r.term.collect()
	r.term.leave()
	r.signals.away.Store(true)
}

func (r *root) takeBack() {
	r.signals.away.Store(false)
	r.term.keys.lend(false)
}

// A group that is to end gets SIGTERM, and SIGKILL where that does not help: strace detaches
// from its tasks with both. sudo takes SIGTERM from the user who began it, if the sender is of
// another group, and hands it on to its command, which may have a session of its own. What
// does not end is not waited for: once the shell has the terminal, it reads it no more.
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
	tty := int(r.term.in.Fd())
	if err := kernel.StartForeground(c, tty); err != nil {
		return err
	}
	group := kernel.TID(c.Process.Pid)
	defer kernel.RegainForeground(tty, group)
	ended, stopped := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		defer crash.Handle()
		defer close(ended)
		for again := true; again; {
			if again, _ = kernel.AwaitStop(group); again {
				select {
				case stopped <- struct{}{}:
				default:
				}
			}
		}
	}()
	for {
		select {
		case <-ended:
			return c.Wait()
		case <-r.signals.ended:
			return end(c, ended)
		case <-stopped:
			kernel.RegainForeground(tty, group)
			if !r.halt() {
				continue
			}
		case <-r.signals.continued: // the shell has given the terminal to the program
		}
		kernel.LendForeground(tty, group)
		_ = syscall.Kill(-int(group), syscall.SIGCONT)
	}
}

// end ends a command with its group. Its first process is waited for last: until then the
// group's number is nobody else's.
func end(c *exec.Cmd, ended <-chan struct{}) error {
	for _, step := range []struct {
		sig     syscall.Signal
		timeout time.Duration
	}{{syscall.SIGTERM, graceTime}, {syscall.SIGKILL, killTime}} {
		_ = syscall.Kill(-c.Process.Pid, step.sig)
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGCONT) // one that is stopped ends all the same
		timeout := time.After(step.timeout)
		select {
		case <-ended:
		case <-timeout:
			continue
		}
		for late := false; !late; {
			if !procfs.New("/").GroupLives(kernel.TID(c.Process.Pid)) {
				return c.Wait()
			}
			select {
			case <-timeout:
				late = true
			case <-time.After(groupTime):
			}
		}
	}
	return errors.New("it did not end")
}

// groupTime is how often it is looked whether the rest of a group has ended.
const groupTime = 50 * time.Millisecond

// pendingTime is how long a signal that ends the program may come after the SIGCONT that
// was sent with it.
const pendingTime = 5 * time.Second

// stop gives the terminal back and stops the process and its job, as ^Z does, until SIGCONT.
func (r *root) stop() tea.Cmd {
	r.giveAway()
	if !r.halt() {
		return tea.Quit
	}
	again := r.takeTerminal()
	r.takeBack()
	return again
}

// halt stops the process and its job until SIGCONT; false is that the program is to end.
// Continued in the background, where it may not change the terminal, it stops again.
func (r *root) halt() bool {
	select {
	case <-r.signals.continued: // of an earlier time
	default:
	}
	_ = syscall.Kill(0, syscall.SIGTSTP) // see signals.away
	for {
		select {
		case <-r.signals.ended:
			return false
		case <-r.signals.continued:
		}
		if kernel.InForeground(int(r.term.in.Fd())) {
			return true
		}
		select {
		case <-r.signals.ended:
			return false
		case <-time.After(pendingTime):
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
		}
	}
}
