package kernel

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Group is the process group of a command: the command with all that it starts,
// but for what makes a group or a session of its own (setpgid(2)).
type Group struct {
	cmd    *exec.Cmd
	mu     sync.Mutex // protects reaped, and the group's number while it is used
	reaped bool
}

// OwnGroup gives cmd's process a group of its own, which is killed when cmd's
// context ends. Call it before Start; the Group's Wait takes the place of cmd's.
// The terminal belongs to another group then: its ^C does not reach this one, and
// who reads from it gets SIGTTIN.
func OwnGroup(cmd *exec.Cmd) *Group {
	g := &Group{cmd: cmd}
	attributes(cmd).Setpgid = true
	cmd.Cancel = g.Kill
	return g
}

// Kill sends SIGKILL to the group, until Wait has found its first process ended:
// from then on the number may be another group's.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaped {
		return os.ErrProcessDone
	}
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // ESRCH: the process joined another group, and was the last
	return g.cmd.Process.Kill()
}

// Wait waits for the first process. Unless that ended with status 0, nothing of
// its group outlives it.
func (g *Group) Wait() error {
	if ok, err := AwaitExit(TID(g.cmd.Process.Pid)); err == nil && !ok {
		_ = g.Kill()
	}
	g.mu.Lock()
	g.reaped = true
	g.mu.Unlock()
	return g.cmd.Wait()
}
