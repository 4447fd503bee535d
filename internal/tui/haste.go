package tui

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
	// hasteTime is how long a screen stays raised before it looks whether that is
	// still needed.
	hasteTime = 30 * time.Second
)

// haste is what the screen does for itself on a starved machine.
type haste struct {
	state       hasteState
	looks       int
	ran, waited time.Duration // at the last look
	raised      time.Time     // since when
}

type hasteState uint8

const (
	ordinary hasteState = iota
	asking              // whether to raise it
	raised
	probing // dropped, to see whether it is still starved
	settled // nothing is asked any more
)

// lookInterval is how often it is looked, while it is.
const lookInterval = time.Second

// lookAtSelf looks whether piton itself gets a CPU: when it starts, before the first
// sample, which may be long in coming, and for as long as it is raised.
func (m *Model) lookAtSelf() tea.Cmd {
	p, h := m.deps.Priority, &m.haste
	switch {
	case p == nil, h.state == settled, h.state == asking:
		return nil
	case h.state == raised && time.Since(h.raised) >= hasteTime:
		return hasten(p.Drop, probing)
	case h.state == raised: // threads that came meanwhile are ordinary
		return hasten(p.Raise, raised)
	case h.state == ordinary && h.looks >= startLooks:
		h.state = settled
		return nil
	}
	h.looks++
	return func() tea.Msg {
		ran, waited, err := p.Delay()
		return resume(func(m *Model) tea.Cmd {
			if err != nil { // a kernel without schedstat: nothing is known
				m.haste.state = settled
				return nil
			}
			return m.takeDelayed(ran, waited)
		})
	}
}

// again looks once more, in a while.
func again() tea.Cmd {
	return tea.Tick(lookInterval, func(time.Time) tea.Msg { return resume((*Model).lookAtSelf) })
}

func hasten(change func() error, to hasteState) tea.Cmd {
	return func() tea.Msg {
		err := change()
		return resume(func(m *Model) tea.Cmd { return m.takeHastened(to, err) })
	}
}

// takeDelayed asks for a priority, or drops it.
func (m *Model) takeDelayed(ranAll, waitedAll time.Duration) tea.Cmd {
	h := &m.haste
	ran, waited := ranAll-h.ran, waitedAll-h.waited
	first := h.ran == 0
	h.ran, h.waited = ranAll, waitedAll
	starved := waited >= starvedWait && waited >= starvedTimes*ran
	switch {
	case h.state == probing && first: // the time it was raised does not count
		return again()
	case h.state == probing && starved:
		return hasten(m.deps.Priority.Raise, raised)
	case h.state == probing:
		h.state = settled
		return m.say(info, "the machine is not starved any more, and this screen is an ordinary task again")
	case h.state == ordinary && starved && m.dialogs.Empty(): // a dialog is not interrupted
		h.state = asking
		return m.askHaste(ran, waited)
	}
	return again()
}

func (m *Model) askHaste(ran, waited time.Duration) tea.Cmd {
	lines := []dialog.Line{
		{Tone: dialog.Warning, Text: fmt.Sprintf("The machine is starved: piton waited %v for a CPU to run %v.",
			waited.Round(10*time.Millisecond), ran.Round(time.Millisecond))},
		{Tone: dialog.Plain, Text: "Give this screen a real-time priority until that is over, so that it stays usable? What it starts stays ordinary."},
	}
	return m.dialogs.PushOffer(dialog.NewConfirm("Starved", lines, "raise", "stay"), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			m.haste.state = settled
			return nil
		}
		return hasten(m.deps.Priority.Raise, raised)
	})
}

func (m *Model) takeHastened(to hasteState, err error) tea.Cmd {
	h := &m.haste
	before := h.state
	h.state = to
	switch {
	case err != nil:
		h.state = settled
		return m.say(bad, "this screen stays an ordinary task: "+err.Error())
	case to == probing:
		h.ran, h.waited = 0, 0
	case before != raised:
		h.raised = time.Now()
	}
	if before == asking {
		return tea.Batch(again(), m.say(good, "this screen has a real-time priority until the machine is not starved any more, or it ends"))
	}
	return again()
}
