package simulate

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"piton/internal/change"
	"piton/internal/change/guard"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// machine is the world as guard.Simulated needs it.
type machine struct{ w *world }

// Stat is part of guard.Machine.
func (m machine) Stat(pid kernel.TID) (procfs.Stat, error) {
	by := m.w.actor
	by.step()
	for _, a := range m.w.actors {
		if a.pid == pid && !a.dead && (!by.inner || a.inner) {
			st := procfs.Stat{TID: pid, StartTicks: a.start + by.shift, State: 'S'}
			if a.stopped {
				st.State = 'T'
			}
			return st, nil
		}
	}
	return procfs.Stat{}, procfs.ErrGone
}

// Now is part of guard.Machine.
func (m machine) Now() time.Duration {
	m.w.actor.step()
	return m.w.now
}

// Sleep is part of guard.Machine.
func (m machine) Sleep(d time.Duration) { m.w.actor.wait(m.w.now+d, nil) }

func newSentry(w *world) *guard.Simulated { return &guard.Simulated{Machine: machine{w}} }

// Namespaces is part of guard.Machine.
func (m machine) Namespaces() [2]uint64 {
	where := m.w.actor.where().Namespaces
	return [2]uint64{where.PID, where.Time}
}

// guardian is a guard process.
type guardian struct {
	*guard.Sentry
	maker *actor // that armed it
	actor *actor
	up    bool
	kept  bool // somebody was told that the change stays
	late  bool // it was looked at when it should have reverted
}

// guards are change.Guards for one piton.
type guards struct {
	guard.Launcher
	a *actor
}

// armTime is that of guard.Launcher.
const armTime = time.Minute

// Arm is part of change.Guards.
func (g guards) Arm(after time.Duration) (change.Guard, error) {
	maker, w := g.a, g.a.world
	if !maker.step() {
		return nil, syscall.EINTR
	}
	if err := (view{maker}).fails("fork", syscall.EAGAIN, syscall.ENOMEM); err != nil {
		return nil, err
	}
	l := &link{w: w}
	its := &guardian{maker: maker}
	its.actor = w.spawn(maker.name+"'s guard", func(a *actor) {
		its.Run(a.pid, a.start+a.shift, func() { its.up = true }, a.tuner("piton guard", false),
			func(command string) *change.Tuner { return a.tuner(command, true) })
	})
	its.actor.guard, its.actor.piton = its, maker.piton
	var armed change.Guard
	its.Sentry, armed = w.sentry.Arm(maker.disk.name, after, its.actor.pid, &pitonEnd{link: l, a: maker}, guardEnd{l, its.actor})
	its.actor.ends = append(its.actor.ends, func() { l.guardGone = true })
	maker.ends = append(maker.ends, func() { l.pitonGone = true })
	w.guards = append(w.guards, its)
	maker.wait(w.now+armTime, func() bool { return its.up || its.actor.dead })
	if !its.up && !maker.dead {
		its.actor.die("killed")
		its.Remove()
		return nil, errors.New("the guard has ended")
	}
	maker.armed = append(maker.armed, its)
	return armed, nil
}

// link is the socket between a piton and its guard.
type link struct {
	w                    *world
	toGuard, toPiton     []byte
	guardGone, pitonGone bool
}

type pitonEnd struct {
	net.Conn
	*link
	a    *actor
	till time.Duration
}

func (e *pitonEnd) SetDeadline(t time.Time) error {
	e.till = time.Duration(t.UnixNano())
	return nil
}

func (e *pitonEnd) Write(b []byte) (int, error) {
	if !e.a.step() || e.guardGone {
		return 0, syscall.EPIPE
	}
	e.toGuard = append(e.toGuard, b...)
	return len(b), nil
}

func (e *pitonEnd) Read(b []byte) (int, error) {
	e.a.wait(e.till, func() bool { return len(e.toPiton) > 0 || e.guardGone })
	if n := copy(b, e.toPiton); n > 0 {
		e.toPiton = e.toPiton[n:]
		return n, nil
	}
	if e.guardGone {
		return 0, io.EOF
	}
	return 0, os.ErrDeadlineExceeded
}

func (e *pitonEnd) Close() error {
	if !e.a.dead {
		e.pitonGone = true
	}
	return nil
}

type guardEnd struct {
	*link
	a *actor
}

// Await is part of guard.Link.
func (e guardEnd) Await(most time.Duration) ([]byte, bool) {
	e.a.wait(e.w.now+most, func() bool { return len(e.toGuard) > 0 || e.pitonGone })
	data := e.toGuard
	e.toGuard = nil
	return data, len(data) > 0 || !e.pitonGone
}

// Answer is part of guard.Link.
func (e guardEnd) Answer(b byte) {
	if e.a.step() {
		e.toPiton = append(e.toPiton, b)
	}
}
