package guard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// door is the socket at which anybody with the rights to the state directory can
// speak to a guard. That it answers is the one sign of a guard: a socket that is
// left over from a guard that was killed, or from before the last boot, does not.
type door struct {
	visits chan visit

	path     string
	listener net.Listener
	late     chan struct{} // closed once it is too late to confirm
	last     Status        // what is said of the guard then; set before late is closed
	wait     sync.WaitGroup
}

// visit is a message with the way to answer it.
type visit struct {
	message
	answer chan<- answer
}

const (
	socketSuffix = ".sock"
	// visitTime bounds how long a visitor may take to say what it wants.
	visitTime = 5 * time.Second
)

// openDoor makes a socket in the directory.
func openDoor(dir string) (*door, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := rand.Text()
	listener, err := inDir(dir, func(dir string) (net.Listener, error) { return net.Listen("unix", filepath.Join(dir, name)) })
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // it goes by another name
	d := &door{visits: make(chan visit), path: filepath.Join(dir, name+socketSuffix), listener: listener, late: make(chan struct{})}
	// It gets its name when it listens: one that does not answer is cleared away.
	if err := os.Rename(filepath.Join(dir, name), d.path); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	d.wait.Go(d.serve)
	return d, nil
}

// inDir calls f with a short name of a directory: the address of a socket has
// room for 107 bytes (unix(7)).
func inDir[T any](dir string, f func(dir string) (T, error)) (T, error) {
	open, err := os.Open(dir)
	if err != nil {
		var none T
		return none, err
	}
	defer open.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d", open.Fd()))
}

func (d *door) serve() {
	for {
		conn, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // no descriptors left, as a rule
			continue
		}
		d.wait.Go(func() { d.receive(conn) })
	}
}

// receive hands one message on, and its answer back.
func (d *door) receive(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(visitTime))
	t := newTalk(conn)
	var m message
	if err := t.receive(&m); err != nil {
		return
	}
	back := make(chan answer, 1)
	var a answer
	select {
	case d.visits <- visit{m, back}:
		a = <-back
	case <-d.late:
		a = answer{TooLate: m.Do != doStatus, Status: &d.last}
	}
	_ = t.send(a)
}

// shut answers everybody from now on that it is too late.
func (d *door) shut(last Status) {
	d.last = last
	close(d.late)
}

// close ends the door when everybody has been answered.
func (d *door) close() {
	_ = os.Remove(d.path)
	_ = d.listener.Close()
	d.wait.Wait()
}
