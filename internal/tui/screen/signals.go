package screen

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
)

// continuedMsg says that the process runs again after it was stopped, by ^Z or
// by a signal that could not be caught.
type continuedMsg struct{}

// signals turns signals into messages for the program.
type signals struct {
	ch    chan os.Signal
	done  chan struct{}
	wg    sync.WaitGroup
	ended syscall.Signal // the one that ended the program; read after stop
	// away is set while the terminal is given back for a stop. Bubble Tea stops
	// the process with SIGTSTP, which Go, once it has been asked to catch it,
	// never gives back to the kernel (signal.Reset leaves its handler in place);
	// so the stop is completed here with SIGSTOP.
	away atomic.Bool
	// lent is set while a command has the terminal: ^C and ^\ are for the command.
	lent atomic.Bool
}

// typed are the signals that keys of a terminal send: ^C and ^\.
var typed = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}

// ignoreTyped ignores ^C and ^\ from now on, and forgets those that came since the
// command was started: on a starved machine it can ask its question, and be answered,
// before piton runs again.
func (s *signals) ignoreTyped() {
	signal.Ignore(typed...) // nothing is added to the channel afterwards
	for range len(s.ch) {
		select {
		case sig := <-s.ch:
			if !slices.Contains(typed, sig) {
				select {
				case s.ch <- sig:
				default: // full again, as signal.Notify drops
				}
			}
		default: // watch was faster
		}
	}
}

// watch forwards signals to p until stop.
func (s *signals) watch(p *tea.Program, out *os.File) {
	defer s.wg.Done()
	signal.Notify(s.ch, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT,
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	for {
		select {
		case <-s.done:
			return
		case sig := <-s.ch:
			switch sig {
			case syscall.SIGWINCH:
				if w, h, err := term.GetSize(out.Fd()); err == nil {
					p.Send(tea.WindowSizeMsg{Width: w, Height: h})
				}
			case syscall.SIGTSTP:
				if s.away.Load() {
					_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) // a process may always stop itself
				} else {
					p.Send(tea.SuspendMsg{})
				}
			case syscall.SIGCONT:
				p.Send(continuedMsg{})
			default:
				if s.lent.Load() && slices.Contains(typed, sig) {
					continue
				}
				s.ended = sig.(syscall.Signal)
				p.Send(tea.QuitMsg{})
			}
		}
	}
}

// stop ends watch and waits for it.
func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.done)
	s.wg.Wait()
}
