package kernel

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
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

// StartForeground starts cmd in a process group of its own. Where the caller's group is in
// the foreground of the terminal, the new one is from then on, before cmd can use it. The
// process inherits SIGTTOU blocked, which sudo undoes and which nothing else needs.
func StartForeground(cmd *exec.Cmd, tty int) error {
	a := attributes(cmd)
	a.Setpgid = true
	if group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
		a.Foreground, a.Ctty = true, tty
	}
	return WithoutTTOU(func() error { return Start(cmd) })
}

// LendForeground makes group, of the caller's session, the terminal's foreground group if the
// caller's own is.
func LendForeground(tty int, group TID) {
	if now, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP); err == nil && now == unix.Getpgrp() {
		setForeground(tty, int(group))
	}
}

// RegainForeground makes the caller's group the terminal's foreground group again, unless
// somebody else has made another one so meanwhile, as a shell does.
func RegainForeground(tty int, from TID) {
	now, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	if err == nil && (now == int(from) || now > 0 && unix.Kill(-now, 0) == unix.ESRCH) { // a job of it, which has ended
		setForeground(tty, unix.Getpgrp())
	}
}

func setForeground(tty, group int) {
	_ = WithoutTTOU(func() error { return unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, group) }) // the terminal is gone, or the group
}

// WithoutTTOU calls f with SIGTTOU blocked: a process of the background may then change the
// terminal's foreground group (tcsetpgrp(3)), and write to it after stty tostop.
func WithoutTTOU(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var ttou, old unix.Sigset_t
	ttou.Val[0] = 1 << (unix.SIGTTOU - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &ttou, &old); err != nil {
		return err
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }()
	return f()
}
