// Package guard is the dead-man switch: a process that takes a change back
// unless somebody confirms it in time. It is piton itself, started under a hidden
// verb before the change is made, in a session of its own, at a real-time priority
// above the tasks that it guards, locked in memory and off their CPUs where there
// are others. It is told every line that the journal gets (tune.Plan.Mirror), so
// that it needs no disk and nobody's help when its time comes.
//
// Start at Launcher.Apply for those who change something, at Main for the guard's
// own life, at List for those who confirm.
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"piton/internal/kernel"
	"piton/internal/tune"
)

// Verb is the hidden command under which piton starts itself as a guard.
const Verb = "__guard"

// Dir is where the guards that keep their journal at the given path can be
// spoken to.
func Dir(journal string) string { return filepath.Join(filepath.Dir(journal), "guards") }

// Launcher starts guards.
type Launcher struct {
	Program string   // path of piton; "" = the running program
	Env     []string // KEY=value, of the guard
	Journal string   // path of the journal that records the change
	User    string   // for the journal
}

// Guard is a guard that was started by this process.
type Guard struct {
	PID     int
	Entry   uint64        // the journal entry that it guards; 0 = none was begun
	After   time.Duration // from the end of the change until it is taken back
	Caveats []string      // what the guard could not have, in sentences

	cmd  *exec.Cmd
	conn net.Conn
	talk *talk
}

// armTime bounds how long a guard may take to be ready, and to answer: on a
// starved machine it starts as an ordinary process.
const armTime = time.Minute

// Apply carries a plan out under guard: the guard is armed first, and without one
// nothing is changed. The Guard is nil when there is nothing to guard, because
// nothing was changed. Otherwise it is armed when Apply returns, also with an
// error; Keep or Dismiss it, or Leave it to its own.
func (l Launcher) Apply(ctx context.Context, t *tune.Tuner, plan tune.Plan, after time.Duration) (tune.Result, *Guard, error) {
	g, err := l.arm(t, plan, after)
	if err != nil {
		return tune.Result{}, nil, fmt.Errorf("nothing was changed, because the guard that would take it back could not be started: %w", err)
	}
	plan.Mirror = g.mirror
	result, err := t.Apply(ctx, plan)
	g.Entry = result.Entry
	if result.Entry == 0 || !result.Changed() {
		return result, nil, errors.Join(err, g.Dismiss())
	}
	return result, g, err
}

// arm starts a guard for the plan and waits until it is ready.
func (l Launcher) arm(t *tune.Tuner, plan tune.Plan, after time.Duration) (*Guard, error) {
	program := cmp.Or(l.Program, "/proc/self/exe") // also when its file has been replaced
	ours, theirs, err := kernel.SocketPair()
	if err != nil {
		return nil, err
	}
	defer ours.Close() // the connection below is a duplicate
	cmd := exec.Command(program, Verb)
	cmd.Args[0] = processName
	cmd.Env, cmd.Dir = l.Env, "/"
	cmd.ExtraFiles = []*os.File{theirs} // its descriptor 3
	kernel.Detach(cmd)
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, err
	}
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	g := &Guard{PID: cmd.Process.Pid, After: after, cmd: cmd, conn: conn, talk: newTalk(conn)}
	rtprio, cpus := t.Shield(plan)
	var ready answer
	err = g.ask(message{Do: doArm, Order: &order{Journal: l.Journal, User: l.User, AfterNs: after, RTPrio: rtprio, Avoid: cpus.String()}}, &ready)
	if err != nil {
		_ = cmd.Process.Kill()
		g.Leave()
		return nil, err
	}
	g.Caveats = ready.Caveats
	return g, nil
}

// ask sends a message to the guard and waits for its answer.
func (g *Guard) ask(m message, a *answer) error {
	if err := g.conn.SetDeadline(time.Now().Add(armTime)); err != nil {
		return err
	}
	return g.talk.ask(m, a)
}

// mirror passes a line of the journal on.
func (g *Guard) mirror(line []byte) error {
	return g.ask(message{Do: doRecord, Record: line}, &answer{})
}

// Keep confirms the change: the guard ends without taking it back. The error Is
// ErrTooLate when it has begun to already.
func (g *Guard) Keep() error {
	err := g.Dismiss()
	if errors.Is(err, errGone) {
		return ErrTooLate
	}
	return err
}

// Dismiss ends the guard, because the change has been taken back by other means
// or is to stay.
func (g *Guard) Dismiss() error {
	err := g.ask(message{Do: doDismiss}, &answer{})
	g.Leave()
	return err
}

// Leave leaves the guard armed, to its own.
func (g *Guard) Leave() {
	_ = g.conn.Close()
	go func() { _ = g.cmd.Wait() }() // it outlives nobody's interest but the process table's
}

// ErrTooLate is the error of those who confirm when the guard has begun to take
// the change back.
var ErrTooLate = errors.New("too late: it is being taken back already")

// errGone is a guard that ended without an answer.
var errGone = errors.New("the guard has ended")

// plain makes an end of the connection readable.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || isBroken(err) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

// Words say, a sentence each, what the guard is and what it could not have.
func (g *Guard) Words() []string {
	out := []string{fmt.Sprintf("Process %d takes it back even if this screen, its terminal or the SSH line is gone.", g.PID)}
	if len(g.Caveats) > 0 {
		out = append(out, "It is less sure than it could be: "+strings.Join(g.Caveats, "; ")+".")
	}
	return out
}
