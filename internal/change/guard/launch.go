// Package guard is the dead-man switch: a process that reverts a change unless
// somebody confirms it in time. It is piton itself, started under a hidden verb
// before the change is made, in a session of its own, DEADLINE, so that it runs
// before every real-time task, and locked in memory. It is told every line that the
// journal gets, so that it needs no disk and nobody's help when its time comes; and
// it is asked and answered through a page of memory, so that nobody waits for it.
//
// Start at Launcher for those who change something, at Main for the guard's own life.
package guard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

// Verb is the hidden command under which piton starts itself as a guard.
const Verb = "__guard"

// Launcher starts and finds the guards of one journal. It is change.Guards.
type Launcher struct {
	Program string   // path of piton; "" = the running program
	Env     []string // KEY=value, of the guard
	Journal string   // path of the journal that records the change
	User    string   // for the journal
	Dir     string   // where the pages are
	host    host     // nil = this machine
}

func (l Launcher) pages() ([]*page, error) {
	if l.host != nil {
		return l.host.pages(l.Dir)
	}
	return machine{}.pages(l.Dir)
}

// NewLauncher returns the Launcher for whoever runs piton.
func NewLauncher(getenv func(string) string, env []string, user string) Launcher {
	path := journal.Path(getenv, kernel.EUID())
	return Launcher{Env: env, User: user, Journal: path, Dir: Dir(kernel.EUID(), filepath.Dir(path))}
}

const (
	// armTime bounds how long a guard may take to be ready: on a starved machine it
	// starts as an ordinary process.
	armTime = time.Minute
	// answerTime bounds the wait for its answer to a line, and weakTime of one that is
	// not above everything else.
	answerTime = 500 * time.Millisecond
	weakTime   = 5 * time.Second
)

// order is what a guard is started with.
type order struct {
	Journal string `json:"journal"`
	State   string `json:"state"` // directory, for the user's lock
	User    string `json:"user"`
}

// ready is its answer.
type ready struct {
	Error   string   `json:"error,omitempty"`
	Caveats []string `json:"caveats,omitempty"`
}

// The answers to a line of the journal, a byte each.
const (
	answerOK   = '+'
	answerLate = '!' // it is being reverted
	answerBad  = '?' // it is no line of a journal
)

// armed is a guard that was started by this process.
type armed struct {
	page  *page
	after time.Duration
	ready
	pid  int
	cmd  *exec.Cmd // nil: the process is no child of this one
	conn net.Conn
	now  func() time.Time // of the deadlines of conn
}

// Arm is part of change.Guards: it starts a guard and waits until it is ready.
func (l Launcher) Arm(after time.Duration) (change.Guard, error) {
	p, file, err := newPage(l.Dir, l.Journal, after)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ours, theirs, err := kernel.SocketPair()
	if err != nil {
		p.remove()
		return nil, err
	}
	defer ours.Close()                                             // the connection below is a duplicate
	cmd := exec.Command(cmp.Or(l.Program, "/proc/self/exe"), Verb) // also when its file has been replaced
	cmd.Args[0] = processName
	cmd.Env, cmd.Dir = l.Env, "/"
	cmd.ExtraFiles = []*os.File{theirs, file} // its descriptors 3 and 4
	kernel.Detach(cmd)
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		p.remove()
		return nil, err
	}
	g := &armed{page: p, after: after, pid: cmd.Process.Pid, cmd: cmd, now: time.Now}
	if g.conn, err = net.FileConn(ours); err == nil {
		err = g.greet(order{l.Journal, filepath.Dir(l.Journal), l.User})
	}
	if err != nil {
		_ = cmd.Process.Kill()
		p.remove()
		g.leave()
		return nil, err
	}
	return g, nil
}

func (g *armed) greet(o order) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := g.conn.SetDeadline(g.now().Add(armTime)); err != nil {
		return err
	}
	if _, err := g.conn.Write(append(b, '\n')); err != nil {
		return err
	}
	if err := json.NewDecoder(g.conn).Decode(&g.ready); err != nil {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	if g.Error != "" {
		return errors.New(g.Error)
	}
	return nil
}

var errEnded = errors.New("the guard has ended")

// Tell is part of change.Guard.
func (g *armed) Tell(line []byte) error {
	wait := answerTime
	if len(g.Caveats) > 0 {
		wait = weakTime
	}
	if err := g.conn.SetDeadline(g.now().Add(wait)); err != nil {
		return err
	}
	if _, err := g.conn.Write(line); err != nil {
		return g.silent(err)
	}
	var answer [1]byte
	if _, err := g.conn.Read(answer[:]); err != nil {
		return g.silent(err)
	}
	switch answer[0] {
	case answerOK:
		return nil
	case answerLate:
		return change.ErrTooLate
	}
	return errors.New("the guard did not understand the journal's line")
}

// silent is the error of a guard that does not answer.
func (g *armed) silent(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the guard, process %d, does not answer: %w", g.pid, err)
	}
	return fmt.Errorf("%w: %w", errEnded, err)
}

// Keep is part of change.Guard.
func (g *armed) Keep() error {
	defer g.leave()
	if err := g.page.keep(); !errors.Is(err, ErrMaking) {
		return err
	}
	if g.page.become(Making, Kept) { // it was never told of the end
		return nil
	}
	return g.page.keep()
}

// Dismiss is part of change.Guard.
func (g *armed) Dismiss() error {
	defer g.leave()
	if g.page.become(Making, Undone) || g.page.become(Waiting, Undone) {
		return nil
	}
	return change.ErrTooLate
}

// leave leaves the guard to its own.
func (g *armed) leave() {
	if g.conn != nil {
		_ = g.conn.Close()
	}
	if g.cmd != nil {
		go func() { _ = g.cmd.Wait() }() // it outlives nobody's interest but the process table's
	}
}

// Status is part of change.Guard.
func (g *armed) Status() change.GuardStatus {
	return change.GuardStatus{PID: g.pid, Entry: g.page.word(wordEntry).Load(), After: g.after, Caveats: g.Caveats}
}

// Words is part of change.Guard.
func (g *armed) Words() []string {
	out := []string{fmt.Sprintf("Process %d reverts it even if this screen, its terminal or the SSH line is gone.", g.pid)}
	if len(g.Caveats) > 0 {
		out = append(out, "The guard is weaker than it could be: "+strings.Join(g.Caveats, "; ")+".")
	}
	return out
}
