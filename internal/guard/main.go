package guard

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/tune"
)

// connFD is the descriptor on which a guard hears of those who started it.
const connFD = 3

// Main is the life of a guard process. It returns when the change has been
// confirmed or taken back, or will not be made.
func Main() error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	if err := kernel.CloseInherited(connFD); err != nil { // somebody may wait for the end of a pipe
		return err
	}
	file := kernel.Inherited(connFD)
	if file == nil {
		return fmt.Errorf("a guard is started by piton itself, for --revert-after")
	}
	conn, err := net.FileConn(file)
	_ = file.Close()
	if err != nil {
		return err
	}
	defer conn.Close()
	parent := newTalk(conn)
	var first message
	if err := parent.receive(&first); err != nil || first.Order == nil {
		return fmt.Errorf("no order came: %w", err)
	}
	s, err := newSentry(*first.Order, parent, end)
	if err != nil {
		return parent.send(answer{Error: err.Error()})
	}
	defer s.door.close()
	if err := parent.send(answer{Caveats: s.caveats}); err != nil {
		return err // whoever wanted it is gone, and has changed nothing
	}
	if why := s.watch(); why != "" {
		s.revert(why)
	} else {
		s.door.shut(Status{})
	}
	return nil
}

// sentry is the state of a guard. Its loop, watch, owns it.
type sentry struct {
	order   order
	journal *tune.Journal
	caveats []string
	door    *door
	end     <-chan os.Signal
	born    uint64 // start of this process: what inherits a changed value started later

	parent *talk
	told   chan message // by the parent; closed when that ends
	lines  []byte       // of the journal, as told
	entry  tune.Entry   // what they come to
	timer  *time.Timer  // runs once an entry has been begun
	due    time.Time
	late   bool   // the change is being taken back
	left   bool   // but for what has drifted
	alarm  *alarm // nil where it is not needed
}

func newSentry(o order, parent *talk, end <-chan os.Signal) (*sentry, error) {
	avoid, err := cpuset.Parse(o.Avoid)
	if err != nil {
		return nil, err
	}
	s := &sentry{order: o, parent: parent, end: end, told: make(chan message), timer: time.NewTimer(time.Hour)}
	s.timer.Stop()
	self, err := procfs.New("/").Stat(kernel.TID(os.Getpid()))
	if err != nil {
		return nil, err
	}
	s.born = self.StartTicks
	if s.journal, err = tune.OpenJournal(o.Journal); err != nil {
		return nil, err
	}
	if s.door, err = openDoor(Dir(o.Journal)); err != nil {
		return nil, err
	}
	s.caveats = append(settleIn("/"), Prepare(priority(o.RTPrio), avoid)...)
	s.rehearse()
	if needsAlarm(o.RTPrio, avoid) {
		if s.alarm, err = startAlarm(func(e tune.Entry) bool {
			_, result, _ := s.back(context.Background(), tune.New(tune.Options{}), e)
			return drifted(result)
		}); err != nil {
			s.caveats = append(s.caveats, fmt.Sprintf("it cannot run before real-time tasks of priority %d, should they take every CPU: %v", highestPriority, err))
		}
	}
	go s.listen()
	return s, nil
}

// listen hands on what the parent says, until that ends.
func (s *sentry) listen() {
	defer close(s.told)
	for {
		var m message
		if err := s.parent.receive(&m); err != nil {
			return
		}
		s.told <- m
	}
}

// watch waits for a confirmation, the deadline, or the death of the parent in the
// middle of the change. It returns why the change is to be taken back, "" if it is
// to stay or was never begun.
func (s *sentry) watch() (why string) {
	for {
		select {
		case m, ok := <-s.told:
			switch {
			case ok && s.hear(m), !ok && s.entry.ID == 0:
				return ""
			case !ok && !s.entry.Finished:
				return "piton ended in the middle of making it"
			case !ok:
				s.told = nil
			}
		case v := <-s.door.visits:
			if s.visit(v) {
				return ""
			}
		case <-s.timer.C:
			return fmt.Sprintf("it was not confirmed within %v", s.order.AfterNs)
		case <-s.end:
			if s.entry.ID != 0 {
				return "the guard was told to end (SIGTERM)"
			}
			return ""
		}
	}
}

// hear takes a message of the parent, and reports whether it was the last.
func (s *sentry) hear(m message) (last bool) {
	var a answer
	switch m.Do {
	case doRecord:
		if err := s.record(m.Record); err != nil {
			a.Error = err.Error()
		}
		a.TooLate = s.late // so that the rest of it is not made
	case doDismiss:
		last = !s.late && s.alarm.stop()
		a.TooLate = !last
	default:
		a.Error = fmt.Sprintf("a guard cannot %q", m.Do)
	}
	_ = s.parent.send(a) // its end is seen where it is listened to
	return last
}

// record notes a line of the journal. The time runs from the beginning of the
// change, and again from its end: the user is to have all of it.
func (s *sentry) record(line []byte) error {
	lines := append(append(s.lines[:len(s.lines):len(s.lines)], line...), '\n')
	entry, err := tune.MirroredEntry(lines)
	if err != nil {
		return err
	}
	if s.entry.ID == 0 || entry.Finished {
		s.timer.Reset(s.order.AfterNs)
		s.due = time.Now().Add(s.order.AfterNs)
	}
	s.lines, s.entry = lines, entry
	s.alarm.set(entry, s.due)
	return nil
}

// visit answers somebody, and reports whether it was the last.
func (s *sentry) visit(v visit) (last bool) {
	var a answer
	switch v.Do {
	case doStatus:
		status := s.status()
		a.Status = &status
	case doDismiss:
		if !s.entry.Finished {
			a.Error = "the change is still being made"
			break
		}
		last = s.alarm.stop()
		a.TooLate = !last
	default:
		a.Error = fmt.Sprintf("a guard cannot %q", v.Do)
	}
	v.answer <- a
	return last
}

func (s *sentry) status() Status {
	state := Making
	if s.entry.Finished {
		state = Waiting
	}
	return Status{PID: os.Getpid(), Entry: s.entry.ID, State: state, Command: s.entry.Command,
		Left: max(0, time.Until(s.due)), Caveats: s.caveats}
}
