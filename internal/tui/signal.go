package tui

import (
	"cmp"
	"fmt"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/tui/dialog"
	"piton/internal/tui/widget"
)

// processes are those of the rows that an action would act on, each once: a
// signal is for a whole process, whichever of its threads are tagged.
func (m *Model) processes() (targets []change.Target, subject string) {
	var rows []field.Row
	seen := map[kernel.TID]bool{}
	for _, r := range m.table.Targets() {
		if pid := r.Task().TGID; !seen[pid] {
			seen[pid] = true
			rows = append(rows, processOf(r))
		}
	}
	targets, subject = targetsOf(rows)
	if n := len(rows); n > 1 {
		subject = cmp.Or(m.table.Named(), widget.Plural(n, "process"))
	}
	return targets, subject
}

// processOf is the row of a thread's process, the thread's own if there is none.
func processOf(r field.Row) field.Row {
	if i, ok := action.Find(r.M, change.Target{TID: r.Task().TGID}); ok {
		r.I = i
	}
	return r
}

// askSignal asks which signal to send to the targets' processes.
func (m *Model) askSignal() tea.Cmd {
	targets, subject := m.processes()
	return m.dialogs.Push(dialog.NewSignals(subject), dialog.Answered(func(n int) tea.Cmd {
		if len(targets) > 1 {
			return m.confirmSignal(syscall.Signal(n), targets, subject)
		}
		return m.send(syscall.Signal(n), targets)
	}))
}

func (m *Model) confirmSignal(sig syscall.Signal, targets []change.Target, subject string) tea.Cmd {
	lines := []dialog.Line{{Tone: dialog.Loud, Text: fmt.Sprintf("send signal %d (%s) to %s", int(sig), field.Clean(sig.String()), subject)}}
	return m.dialogs.Push(dialog.NewConfirm("Send?", lines, "send", "cancel").Careful(), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return nil
		}
		return m.send(sig, targets)
	})
}

// send signals the processes, beside the screen.
func (m *Model) send(sig syscall.Signal, targets []change.Target) tea.Cmd {
	tuning := m.deps.Tuning
	return func() tea.Msg {
		sent, first := 0, error(nil)
		for _, t := range targets {
			if err := tuning.Signal(t, sig); err == nil {
				sent++
			} else {
				first = cmp.Or(first, err)
			}
		}
		return resume(func(m *Model) tea.Cmd {
			m.deps.Sampler.Refresh()
			if first != nil {
				return m.say(bad, fmt.Sprintf("signal %d sent to %d of %s: %v", int(sig), sent, widget.Plural(len(targets), "process"), first))
			}
			return m.say(good, fmt.Sprintf("signal %d (%s) sent to %s", int(sig), field.Clean(sig.String()), widget.Plural(sent, "process")))
		})
	}
}
