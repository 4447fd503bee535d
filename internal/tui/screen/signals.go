package screen

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"piton/internal/crash"
)

var (
	// endSignals are the signals that end the program. A channel of their own, with a place for
	// each, takes them: nothing that comes before can make Notify drop one.
	endSignals = append([]os.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGALRM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU}, crash.Sent...)
	// typed are those that keys of a terminal send: ^C and ^\.
	typed = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
	// others do not end it.
	others = []os.Signal{syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT}
)

// continuedMsg says that the process runs again after it was stopped by a signal that could
// not be caught.
type continuedMsg struct{}

// resizedMsg says that the terminal may have another size.
type resizedMsg struct{}

// stopMsg says that the process was asked to stop.
type stopMsg struct{}

// signals turns signals into messages for the program.
type signals struct {
	// kept is never read and always there, so that no signal finds the program without a
	// handler for it, whatever the other channels are stopped for.
	kept, ending, typed, others chan os.Signal
	free                        func() // of kept

	send      func(tea.Msg) // waits for the event loop, which may wait for a command
	ended     chan struct{} // closed once a signal has ended the program
	end       sync.Once
	by        atomic.Int32 // that signal
	posts     chan tea.Msg
	continued chan struct{}
	idle      chan struct{} // taken by watch when it acts on nothing
	done      chan struct{}
	wg        sync.WaitGroup

	// away is set while the terminal is given back for a stop. Go, once it has been asked
	// to catch SIGTSTP, never gives it back to the kernel (signal.Reset leaves its handler
	// in place); so the stop is completed here with SIGSTOP. The kernel does not stop an orphaned
	// process group by SIGTSTP, but does by SIGSTOP, so that is asked here (see orphaned).
	away atomic.Bool
	// lent is set while a command has the terminal: ^C and ^\ are for the command.
	lent atomic.Bool
}

// catchSignals catches them from now on; watch acts on them. It is called before the
// terminal is changed, and release after it was given back.
func catchSignals() *signals {
	const room = 16
	s := &signals{kept: make(chan os.Signal, 1), ending: make(chan os.Signal, room), typed: make(chan os.Signal, room),
		others: make(chan os.Signal, room), ended: make(chan struct{}), posts: make(chan tea.Msg, room),
		continued: make(chan struct{}, 1), idle: make(chan struct{}), done: make(chan struct{})}
	s.free = crash.Hold(s.kept, slices.Concat(endSignals, typed, others)...)
	signal.Notify(s.ending, endSignals...)
	signal.Notify(s.typed, typed...)
	signal.Notify(s.others, others...)
	return s
}

// watch acts on signals until stop. send waits until a message is taken.
func (s *signals) watch(send func(tea.Msg)) {
	s.send = send
	s.wg.Go(func() { defer crash.Handle(); s.watchEnding() })
	s.wg.Go(func() { defer crash.Handle(); s.watchOthers() })
	s.wg.Go(func() {
		defer crash.Handle()
		for {
			select {
			case <-s.done:
				return
			case msg := <-s.posts:
				send(msg)
			}
		}
	})
}

func (s *signals) watchEnding() {
	for {
		select {
		case <-s.done:
			return
		case <-s.idle:
		case sig := <-s.ending:
			s.endBy(sig.(syscall.Signal))
		case sig := <-s.typed:
			if !s.lent.Load() {
				s.endBy(sig.(syscall.Signal))
			}
		}
	}
}

// endBy ends the program as the signal does; the first one counts.
func (s *signals) endBy(sig syscall.Signal) {
	s.end.Do(func() {
		s.by.Store(int32(sig))
		close(s.ended)
		s.post(tea.QuitMsg{})
	})
}

// post sends a message once the event loop takes it. One that finds no room is dropped: all
// but the end say that something has to be looked at, and as many wait already.
func (s *signals) post(msg tea.Msg) {
	select {
	case s.posts <- msg:
	default:
		if _, ends := msg.(tea.QuitMsg); ends {
			s.wg.Go(func() { defer crash.Handle(); s.send(msg) })
		}
	}
}

func (s *signals) watchOthers() {
	for {
		select {
		case <-s.done:
			return
		case sig := <-s.others:
			s.other(sig)
		}
	}
}

func (s *signals) other(sig os.Signal) {
	switch away := s.away.Load(); {
	case sig == syscall.SIGTSTP && away && !orphaned():
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) // a process may always stop itself
	case sig == syscall.SIGTSTP && !away:
		s.post(stopMsg{})
	case away && (sig == syscall.SIGCONT || sig == syscall.SIGTSTP): // it is not stopped any more, or was not
		select {
		case s.continued <- struct{}{}:
		default:
		}
	case sig == syscall.SIGCONT:
		s.post(continuedMsg{})
	case !away: // the size is looked at afterwards anyway
		s.post(resizedMsg{})
	}
}

// lend gives ^C and ^\ to a command, or takes them back: those that are under way then
// were typed for the command.
func (s *signals) lend(lent bool) {
	if lent {
		s.lent.Store(true)
		return
	}
	signal.Stop(s.typed) // once all that were caught are in the channel
	for len(s.typed) > 0 {
		select {
		case <-s.typed:
		default: // watch was faster
		}
	}
	select {
	case s.idle <- struct{}{}:
	case <-s.done:
	}
	s.lent.Store(false)
	signal.Notify(s.typed, typed...)
}

func (s *signals) stop() {
	close(s.done)
	s.wg.Wait()
}

// release gives the signals back, and returns the one that ended the program, or 0. After
// an end by one, SIGHUP and SIGTERM stay caught: a closed terminal is read before its SIGHUP
// comes, and a service manager sends both, while what is not kept is still being reverted.
func (s *signals) release() syscall.Signal {
	for _, ch := range []chan os.Signal{s.ending, s.typed, s.others} {
		signal.Stop(ch)
	}
	by := syscall.Signal(s.by.Load())
	for _, late := range []chan os.Signal{s.ending, s.typed} {
		if by == 0 && len(late) > 0 {
			by = (<-late).(syscall.Signal)
		}
	}
	if by != 0 { // before Stop: no moment is without a handler
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGTERM)
	}
	s.free()
	return by
}
