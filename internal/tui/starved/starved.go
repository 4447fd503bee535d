// Package starved keeps the screen usable on a machine whose CPUs are taken: it notices
// that piton itself waits for one, offers to raise its priority, and drops that when the
// machine is itself again. Start at Watch.
package starved

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/dialog"
)

// Priority is piton's own place among the tasks; guard.Self is the real one.
type Priority interface {
	// Delay returns how long piton ran so far, and waited for a CPU.
	Delay() (ran, waited time.Duration, err error)
	Raise() error // to a real-time priority; what is started later is ordinary
	Drop() error
}

const (
	// A screen that waited for a CPU so many times as long as it ran, and so long,
	// between two looks is starved: it is not only one of many.
	starvedTimes = 10
	starvedWait  = time.Second
	// startLooks is how often a screen that has just been started looks.
	startLooks = 5
	// raisedTime is how long a screen stays raised before it looks whether that is
	// still needed.
	raisedTime = 30 * time.Second
)

// Watch is what the screen does for itself on a starved machine.
type Watch struct {
	o           Options
	state       state
	looks       int
	ran, waited time.Duration // at the last look
	raised      time.Time     // since when
}

// Options is what a Watch works with.
type Options struct {
	Priority Priority // nil: piton may not raise its own
	Dialogs  *dialog.Stack
	Say      func(text string, isError bool) tea.Cmd // shows a message
}

// New returns a watch; Look starts it.
func New(o Options) *Watch { return &Watch{o: o} }

type state uint8

const (
	ordinary state = iota
	asking         // whether to raise it
	raised
	probing // dropped, to see whether it is still starved
	settled // nothing is asked any more
)

const lookInterval = time.Second

// Look looks whether piton itself gets a CPU: when it starts, before the first sample,
// which may be long in coming, and for as long as it is raised. The messages of its commands
// are functions that go on with what was found out.
func (w *Watch) Look() tea.Cmd {
	p := w.o.Priority
	switch {
	case p == nil, w.state == settled, w.state == asking:
		return nil
	case w.state == raised && time.Since(w.raised) >= raisedTime:
		return w.change(p.Drop, probing)
	case w.state == raised: // threads that came meanwhile are ordinary
		return w.change(p.Raise, raised)
	case w.state == ordinary && w.looks >= startLooks:
		w.state = settled
		return nil
	}
	w.looks++
	return func() tea.Msg {
		ran, waited, err := p.Delay()
		return func() tea.Cmd {
			if err != nil { // a kernel without schedstat: nothing is known
				w.state = settled
				return nil
			}
			return w.delayed(ran, waited)
		}
	}
}

func (w *Watch) again() tea.Cmd {
	return tea.Tick(lookInterval, func(time.Time) tea.Msg { return w.Look })
}

func (w *Watch) change(do func() error, to state) tea.Cmd {
	return func() tea.Msg {
		err := do()
		return func() tea.Cmd { return w.changed(to, err) }
	}
}

// delayed asks for a priority, or drops it.
func (w *Watch) delayed(ranAll, waitedAll time.Duration) tea.Cmd {
	ran, waited := ranAll-w.ran, waitedAll-w.waited
	first := w.ran == 0
	w.ran, w.waited = ranAll, waitedAll
	starved := waited >= starvedWait && waited >= starvedTimes*ran
	switch {
	case w.state == probing && first: // the time it was raised does not count
		return w.again()
	case w.state == probing && starved:
		return w.change(w.o.Priority.Raise, raised)
	case w.state == probing:
		w.state = settled
		return w.o.Say("the machine is not starved any more, and this screen is an ordinary task again", false)
	case w.state == ordinary && starved && w.o.Dialogs.Empty(): // a dialog is not interrupted
		w.state = asking
		return w.ask(ran, waited)
	}
	return w.again()
}

func (w *Watch) ask(ran, waited time.Duration) tea.Cmd {
	lines := []dialog.Line{
		{Tone: dialog.Warning, Text: fmt.Sprintf("The machine is starved: piton waited %v for a CPU to run %v.",
			waited.Round(10*time.Millisecond), ran.Round(time.Millisecond))},
		{Tone: dialog.Plain, Text: "Give this screen a real-time priority until that is over, so that it stays usable? What it starts stays ordinary."},
	}
	return w.o.Dialogs.PushOffer(dialog.NewConfirm("Starved", lines, "raise", "stay"), func(o dialog.Outcome) tea.Cmd {
		switch {
		case o.Expired:
			w.state, w.looks = ordinary, 0
			return w.again()
		case o.Canceled:
			w.state = settled
			return nil
		}
		return w.change(w.o.Priority.Raise, raised)
	})
}

func (w *Watch) changed(to state, err error) tea.Cmd {
	before := w.state
	w.state = to
	switch {
	case err != nil:
		w.state = settled
		return w.o.Say("this screen stays an ordinary task: "+err.Error(), true)
	case to == probing:
		w.ran, w.waited = 0, 0
	case before != raised:
		w.raised = time.Now()
	}
	if before == asking {
		return tea.Batch(w.again(), w.o.Say("this screen has a real-time priority until the machine is not starved any more, or it ends", false))
	}
	return w.again()
}
