// Package screen runs a Bubble Tea model full screen and draws after every
// message instead of on a frame timer.
//
// Bubble Tea's own renderer writes at a fixed frame rate. At 60 frames a second
// an idle program is woken 60 times a second, which costs more than all of
// piton's sampling; at 10 an answered key waits up to 100 ms. A monitor that
// changes once a second and must answer keys at once wants neither, so Bubble
// Tea is run without its renderer and the model's View is drawn here, with the
// cell renderer that Bubble Tea itself uses (charmbracelet/ultraviolet).
//
// Start at Run.
package screen

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"piton/internal/crash"
	"piton/internal/procfs"
)

// Options says where and how to draw.
type Options struct {
	Input, Output *os.File             // the terminal; both must be one
	Env           []string             // TERM and SSH_TTY are looked at
	Profile       colorprofile.Profile // the colours that the terminal shows
	// Filter sees every message before the model does, and may drop it.
	Filter func(tea.Model, tea.Msg) tea.Msg
	// Meter counts what is written; nil counts nothing.
	Meter *Meter
}

// Signalled is returned by Run when a signal ended the program.
type Signalled struct{ Signal syscall.Signal }

// Error names the signal.
func (s Signalled) Error() string { return "ended by signal: " + s.Signal.String() }

// Run shows the model until it quits, ctx ends, the terminal is closed, or a signal ends
// it, and leaves the terminal as it found it. The final model is returned in every case.
// Quitting is no error; the end of the terminal is that by SIGHUP.
func Run(ctx context.Context, model tea.Model, opt Options) (_ tea.Model, err error) {
	defer crash.Handle() // the last: the terminal and the signals are given back before
	s := catchSignals()
	defer func() {
		if by := s.release(); by != 0 {
			err = Signalled{by}
		}
	}()
	t, err := newTerminal(opt)
	if err != nil {
		return model, err
	}
	if err := t.enter(); err != nil {
		return model, err
	}
	defer t.leave()
	crash.Restore(t.rescue)
	defer crash.Restore(nil)

	r := &root{model: model, term: t, signals: s}
	p := tea.NewProgram(r, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(opt.Output), tea.WithEnvironment(opt.Env),
		tea.WithoutRenderer(), tea.WithFPS(1), tea.WithoutSignalHandler(), tea.WithoutCatchPanics(),
		tea.WithWindowSize(t.width, t.height), tea.WithColorProfile(t.profile),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg { return r.filter(opt.Filter, msg) }))
	if t.keys, err = newKeyboard(opt.Input, p.Send, func() { s.endBy(syscall.SIGHUP) }); err != nil {
		return model, fmt.Errorf("read the terminal: %w", err)
	}
	s.watch(p.Send)
	go func() { defer crash.Handle(); t.keys.run() }()
	_, err = p.Run()
	t.keys.close()
	s.stop()
	t.collect()
	if err != nil && ctx.Err() == nil {
		return r.model, fmt.Errorf("run the screen: %w", err)
	}
	return r.model, ctx.Err()
}

// root hands messages to the model and draws its view afterwards.
type root struct {
	model   tea.Model
	term    *terminal
	signals *signals
}

// Init starts the model.
func (r *root) Init() tea.Cmd {
	cmd := handled(r.model.Init())
	r.draw(false)
	return cmd
}

// Update passes msg on and draws.
func (r *root) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case resizedMsg:
		return r, r.resized()
	case tea.WindowSizeMsg:
		if msg.Width != r.term.width || msg.Height != r.term.height { // Bubble Tea begins by telling what it was told
			r.term.resize(msg.Width, msg.Height)
		}
	case continuedMsg:
		return r, r.takeTerminal()
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
			r.term.sync = true
		}
	case repaintMsg:
		r.term.repaint()
	case uv.PrimaryDeviceAttributesEvent:
		if r.term.answer(); r.term.yield {
			return r, r.stop()
		}
		return r, nil
	case stopMsg: // once the answer under way is there: the shell would get it
		switch wait := r.term.patience(); {
		case r.term.yield:
			return r, nil
		case orphaned():
			return r, func() tea.Msg { return NotStopped{} }
		case wait > 0:
			r.term.yield = true
			return r, tea.Tick(wait, func(time.Time) tea.Msg { return unansweredMsg{} })
		}
		return r, r.stop()
	case unansweredMsg:
		if r.term.yield {
			return r, r.stop()
		}
		return r, nil
	case execMsg:
		return r, r.run(msg)
	}
	var cmd tea.Cmd
	r.model, cmd = r.model.Update(msg)
	_, key := msg.(tea.KeyPressMsg)
	r.draw(key)
	return r, handled(cmd)
}

// draw draws the view; key says that it answers a key.
func (r *root) draw(key bool) { r.term.draw(r.model.View(), key) }

// handled is a command whose panic, in a goroutine of Bubble Tea, ends the program as others do.
func handled(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer crash.Handle()
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, one := range batch {
				batch[i] = handled(one)
			}
		}
		return msg
	}
}

// View is empty: Bubble Tea runs without its renderer.
func (r *root) View() tea.View { return tea.View{} }

// filter lets the user of the screen drop messages, and drops what the mouse cannot have done.
func (r *root) filter(next func(tea.Model, tea.Msg) tea.Msg, msg tea.Msg) tea.Msg {
	if at, ok := msg.(tea.MouseMsg); ok && (at.Mouse().X >= r.term.width || at.Mouse().Y >= r.term.height) {
		return nil
	}
	if next == nil {
		return msg
	}
	return next(r.model, msg)
}

// resized fits the screen to the size that the terminal has now.
func (r *root) resized() tea.Cmd {
	width, height, err := r.term.size()
	if err != nil {
		return nil // the terminal is gone, which comes by itself
	}
	return func() tea.Msg { return tea.WindowSizeMsg{Width: width, Height: height} }
}

// takeTerminal takes the terminal again after it was somebody else's, unless the program is
// to end.
func (r *root) takeTerminal() tea.Cmd {
	select {
	case <-r.signals.ended:
		return tea.Quit
	default:
	}
	if err := r.term.enter(); err != nil {
		r.signals.endBy(syscall.SIGHUP) // it is gone
		return nil
	}
	r.draw(false)
	return r.resized()
}

// unansweredMsg says that no answer is waited for any more before the process stops.
type unansweredMsg struct{}

// NotStopped tells the model that the process was asked to stop and did not, since nobody would
// continue it: it leads the session of its terminal, as in xterm -e piton.
type NotStopped struct{}

// orphaned reports whether nobody would continue the process if it were stopped.
func orphaned() bool { return procfs.New("/").Orphaned() }

// Suspend is a command that stops the process as ^Z does, with the terminal as it was.
func Suspend() tea.Msg { return stopMsg{} }

type repaintMsg struct{}

// Repaint is a command that draws the whole screen anew, for ^L after another
// program wrote over it.
func Repaint() tea.Msg { return repaintMsg{} }
