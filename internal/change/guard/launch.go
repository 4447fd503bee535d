// Package guard is the dead-man switch: a process that reverts a change unless
// somebody confirms it in time. It is piton itself, started under a hidden verb
// before the change is made, in its own session, DEADLINE and locked in memory, so
// that it runs before every real-time task. The piton that makes the change passes on
// every line of the journal, so the guard needs no disk. Questions and answers are
// words of shared memory (page), so neither side waits for the other.
//
// Start at Launcher for the piton that makes the change, at Main for the guard itself.
package guard

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/userfile"
)

// Verb is the hidden command under which piton starts itself as a guard.
const Verb = "__guard"

// Launcher starts and finds the guards of one journal. It is change.Guards.
type Launcher struct {
	Env     []string // KEY=value, of this process
	Journal string   // path of the journal that records the change
	User    string   // for the journal
	Dir     string   // of the pages
	host    host     // nil = this machine
}

func (l Launcher) pages() ([]*page, error) { return cmp.Or[host](l.host, machine{}).pages(l.Dir) }

// NewLauncher returns the Launcher of the user who runs piton.
func NewLauncher(getenv func(string) string, env []string, user string) Launcher {
	path := journal.Path(getenv, kernel.EUID())
	run := userfile.RuntimeDir(kernel.EUID(), filepath.Dir(path))
	return Launcher{Env: env, User: user, Journal: path, Dir: filepath.Join(run, "guards")}
}

// Environment is what of an environment a process is given that does a task for piton when
// its user may have gone: what is meant for piton, and nothing that limits a Go program
// (GOMAXPROCS, GOMEMLIMIT, GODEBUG).
func Environment(env []string) []string {
	out := []string{} // nil would be all of this process's
	for _, kv := range env {
		if strings.HasPrefix(kv, "PITON_") {
			out = append(out, kv)
		}
	}
	return out
}

const (
	// armTime bounds how long a guard may take to be ready: on a starved machine it
	// starts as an ordinary process.
	armTime = time.Minute
	// answerTime bounds the wait for its answer to a line, and weakTime that of a guard
	// with caveats.
	answerTime = 500 * time.Millisecond
	weakTime   = 5 * time.Second
)

// The answers to a line of the journal, a byte each. Before the first line the guard
// says why it cannot start, nothing when it is ready, and then answerEnd.
const (
	answerOK   = '+'
	answerLate = '!' // the guard is reverting the change
	answerBad  = '?' // not a line of a journal
	answerEnd  = 0
)

// armed is a guard that was started by this process.
type armed struct {
	page  *page
	after time.Duration
	pid   int
	cmd   *exec.Cmd // nil: the process is no child of this one
	conn  net.Conn
	now   func() time.Time // of the deadlines of conn
}

// Arm is part of change.Guards: it starts a guard and waits until it is ready.
func (l Launcher) Arm(after time.Duration) (_ change.Guard, err error) {
	p, err := newPage(l.Dir, l.Journal, after)
	if err != nil {
		return nil, err
	}
	g := &armed{page: p, after: after, now: time.Now}
	defer func() {
		if err != nil {
			p.remove()
			g.leave()
		}
	}()
	ours, theirs, err := kernel.SocketPair()
	if err != nil {
		return nil, err
	}
	defer ours.Close()                                                     // conn is a duplicate
	cmd := exec.Command("/proc/self/exe", Verb, p.path, l.Journal, l.User) // also when its file has been replaced
	cmd.Args[0] = processName
	cmd.Env, cmd.Dir = Environment(l.Env), "/"
	cmd.ExtraFiles = []*os.File{theirs} // its descriptor connFD
	kernel.Detach(cmd)
	err = kernel.Start(cmd)
	_ = theirs.Close() // or its end would not be seen
	if err != nil {
		return nil, err
	}
	g.cmd, g.pid = cmd, cmd.Process.Pid
	if g.conn, err = net.FileConn(ours); err == nil {
		err = g.awaitReady()
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, err
	}
	return g, nil
}

func (g *armed) awaitReady() error {
	if err := g.conn.SetDeadline(g.now().Add(armTime)); err != nil {
		return err
	}
	answer, err := bufio.NewReader(g.conn).ReadString(answerEnd)
	if err != nil {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	if len(answer) > 1 {
		return errors.New(answer[:len(answer)-1])
	}
	return nil
}

var errEnded = errors.New("the guard has ended")

func (g *armed) Tell(line []byte) error {
	wait := answerTime
	if len(g.page.caveats()) > 0 {
		wait = weakTime
	}
	if err := g.conn.SetDeadline(g.now().Add(wait)); err != nil {
		return err
	}
	var answer [1]byte
	_, err := g.conn.Write(line)
	if err == nil {
		_, err = g.conn.Read(answer[:])
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the guard, process %d, does not answer: %w", g.pid, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errEnded, err)
	case answer[0] == answerLate:
		return change.ErrTooLate
	case answer[0] != answerOK:
		return errors.New("the guard could not read the journal's line")
	}
	return nil
}

// Keep is part of change.Guard. The guard need not have been told that the change is made.
func (g *armed) Keep() error {
	defer g.leave()
	return g.page.keep(Making, Waiting)
}

func (g *armed) Stands() error {
	there, _ := g.page.alive() // before its state, which an ended guard does not change
	switch state := g.page.state(); {
	case state == Undone:
		return change.ErrUndone
	case state != Making:
		return change.ErrTooLate
	case !there:
		return errEnded
	}
	return nil
}

func (g *armed) Dismiss() error {
	defer g.leave()
	if !g.page.decide(Undone, Making, Waiting) {
		return change.ErrTooLate
	}
	return nil
}

// leave ends the connection to the guard.
func (g *armed) leave() {
	if g.conn != nil {
		_ = g.conn.Close()
	}
	if g.cmd != nil {
		go func() { defer crash.Handle(); _ = g.cmd.Wait() }() // reaps the process when it ends
	}
}

func (g *armed) Status() change.GuardStatus {
	return change.GuardStatus{PID: g.pid, Entry: g.page.word(wordEntry).Load(), After: g.after, Caveats: g.page.caveats()}
}

func (g *armed) Words() []string {
	if slices.ContainsFunc(g.page.caveats(), func(c string) bool { return strings.HasPrefix(c, endedBySystemd) }) {
		return []string{fmt.Sprintf("Process %d reverts it even if this screen is gone, unless systemd ends it with the session.", g.pid)}
	}
	return []string{fmt.Sprintf("Process %d reverts it even if this screen, its terminal or the SSH line is gone.", g.pid)}
}
