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
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
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

// ErrCrashed is returned by Run when the model panicked; the panic and its
// stack are on stderr by then.
var ErrCrashed = errors.New("the screen crashed")

// Run shows the model until it quits, ctx ends, or SIGTERM, SIGHUP, SIGQUIT or
// SIGINT arrives, and leaves the terminal as it found it. The final model is
// returned in every case. Quitting and SIGINT are no error.
func Run(ctx context.Context, model tea.Model, opt Options) (tea.Model, error) {
	width, height, err := term.GetSize(opt.Output.Fd())
	if err != nil {
		return model, fmt.Errorf("read the size of the terminal: %w", err)
	}
	t := newTerminal(opt, width, height)
	if err := t.enter(); err != nil {
		return model, err
	}
	defer t.leave()

	s := &signals{ch: make(chan os.Signal, 8), done: make(chan struct{})}
	p := tea.NewProgram(&root{model: model, term: t, signals: s},
		tea.WithContext(ctx), tea.WithInput(opt.Input), tea.WithOutput(opt.Output), tea.WithEnvironment(opt.Env),
		tea.WithoutRenderer(), tea.WithFPS(1), tea.WithoutSignalHandler(),
		tea.WithWindowSize(width, height), tea.WithColorProfile(t.profile),
		tea.WithFilter(func(m tea.Model, msg tea.Msg) tea.Msg { return m.(*root).filter(opt.Filter, msg) }))
	s.wg.Add(1)
	go s.watch(p, opt.Output)
	final, err := p.Run()
	s.stop()
	t.collect()
	t.leave()
	if r, ok := final.(*root); ok {
		model = r.model
	}
	switch {
	case s.ended == syscall.SIGINT:
		return model, nil
	case s.ended != 0:
		return model, Signalled{s.ended}
	case errors.Is(err, tea.ErrProgramPanic):
		return model, ErrCrashed
	case err != nil && ctx.Err() == nil:
		return model, fmt.Errorf("run the screen: %w", err)
	}
	return model, ctx.Err()
}

// root hands messages to the model and draws its view afterwards.
type root struct {
	model   tea.Model
	term    *terminal
	signals *signals

	input time.Time // the last key, click or the like
	owed  reason    // why a frame is owed, once there is room for it
	owes  bool      // one is
	wake  time.Time // when that is looked at next
	told  Line
}

// Init starts the model.
func (r *root) Init() tea.Cmd {
	cmd := r.model.Init()
	return tea.Batch(cmd, r.draw(anew, time.Now()))
}

// Update passes msg on and draws.
func (r *root) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer func() {
		if p := recover(); p != nil {
			r.term.leave() // so that the stack trace lands on a sane screen
			panic(p)
		}
	}()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width != r.term.width || msg.Height != r.term.height { // Bubble Tea begins by telling what it was told
			r.term.resize(msg.Width, msg.Height)
		}
	case continuedMsg:
		r.signals.away.Store(false)
		if err := r.term.enter(); err != nil {
			return r, tea.Quit // the terminal is gone
		}
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
			r.term.sync = true
		}
	case repaintMsg:
		r.term.repaint()
	case uv.PrimaryDeviceAttributesEvent:
		now := time.Now()
		r.term.line.answer(now)
		if r.term.mute {
			return r, tea.Suspend
		}
		if r.term.line.asksOn() {
			r.term.line.question(now)
			_, _ = r.term.out.WriteString(ask)
		}
		return r, r.drawOwed()
	case suspendMsg: // once the answer under way is there: the shell would get it
		if r.term.mute {
			return r, nil
		}
		r.term.mute = true
		return r, tea.Tick(r.term.patience(), func(time.Time) tea.Msg { return unansweredMsg{} })
	case unansweredMsg:
		if r.term.mute {
			return r, tea.Suspend
		}
		return r, nil
	case wakeMsg:
		return r, r.drawOwed()
	case execMsg:
		return r, tea.Exec(&outside{msg.cmd, r}, msg.done)
	}
	var cmd tea.Cmd
	r.model, cmd = r.model.Update(msg)
	now := time.Now()
	return r, tea.Batch(cmd, r.draw(r.reason(msg, now), now))
}

// answerTime is how soon after a key what comes is taken for a part of its answer.
const answerTime = 500 * time.Millisecond

// reason is why a message makes the screen be drawn.
func (r *root) reason(msg tea.Msg, now time.Time) reason {
	switch msg.(type) {
	case Figures:
		r.term.line.figuresCame(now)
		return figures
	case tea.KeyPressMsg:
		r.input = now
		return key
	case tea.MouseMsg, tea.PasteMsg, tea.WindowSizeMsg, repaintMsg:
		r.input = now
	}
	if now.Sub(r.input) > answerTime {
		return figures
	}
	return anew
}

// wakeMsg says that there may be room for what is owed.
type wakeMsg struct{}

// draw draws the view, or as much of it as the line has room for now. Nothing is
// queued behind a frame that has not arrived: what is owed is drawn later, as it is then.
func (r *root) draw(why reason, now time.Time) tea.Cmd {
	t := r.term
	room, again := t.line.room(why == figures, len(t.behind) > 0, now)
	if room == 0 && !t.fresh {
		if !r.owes || why != figures {
			r.owed, r.owes = why, true
		}
		return r.later(again, now)
	}
	t.most = max(room, 0)
	if why == figures && len(t.behind) > 0 && room > 0 {
		t.goOn() // a frame is finished before the next one
	} else {
		r.owes = false
		t.draw(r.model.View(), why)
	}
	if len(t.behind) > 0 {
		if !r.owes {
			r.owed, r.owes = figures, true
		}
		return tea.Batch(r.tell(), r.later(pieceTime, now))
	}
	return r.tell()
}

// drawOwed draws what is owed, if there is room now.
func (r *root) drawOwed() tea.Cmd {
	if !r.owes {
		return nil
	}
	return r.draw(r.owed, time.Now())
}

// later looks again after a while.
func (r *root) later(d time.Duration, now time.Time) tea.Cmd {
	at := now.Add(d)
	if r.wake.After(now) && !at.Before(r.wake) {
		return nil
	}
	r.wake = at
	return tea.Tick(d, func(time.Time) tea.Msg { return wakeMsg{} })
}

// tell tells the model how often figures are drawn.
func (r *root) tell() tea.Cmd {
	line := Line{r.term.line.every, r.term.line.answers}
	if line.Every == r.told.Every {
		return nil
	}
	r.told = line
	return func() tea.Msg { return line }
}

// View is empty: Bubble Tea runs without its renderer.
func (r *root) View() tea.View { return tea.View{} }

// filter gives the terminal back before Bubble Tea stops the process for a
// tea.SuspendMsg; continuedMsg takes it again.
func (r *root) filter(next func(tea.Model, tea.Msg) tea.Msg, msg tea.Msg) tea.Msg {
	if next != nil {
		if msg = next(r.model, msg); msg == nil {
			return nil
		}
	}
	if _, ok := msg.(tea.SuspendMsg); ok {
		r.term.leave()
		r.signals.away.Store(true)
	}
	return msg
}

type suspendMsg struct{}

// unansweredMsg says that no answer is waited for any more before the process stops.
type unansweredMsg struct{}

// Suspend is a command that stops the process as ^Z does, with the terminal as it was.
func Suspend() tea.Msg { return suspendMsg{} }

type repaintMsg struct{}

// Repaint is a command that draws the whole screen anew, for ^L after another
// program wrote over it.
func Repaint() tea.Msg { return repaintMsg{} }
