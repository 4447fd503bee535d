package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/coresview"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
)

// page is a view. It keeps its own state; the messages of its commands are functions that
// go on with what was found out (see handle). One may also have Back, which reports whether
// it closed something, and Needs, which adds what a sample has to hold.
type page interface {
	lister
	// Open is called each time the view is shown.
	Open() tea.Cmd
	Render(width, height int, th *theme.Theme) string
	// Click answers the mouse, and reports whether it was on a row.
	Click(x, y int) (row bool)
}

// lister is what moves as one list: a view, the process table, the threads of the
// detail pane.
type lister interface {
	Move(by int)
	Page(by int)
	Home()
	End()
	Scroll(by int)
	Wheel(by int)
}

// page is the present view's.
func (m *Model) page() page { return m.pages[m.view] }

// lister is the list that has the keys.
func (m *Model) lister() lister {
	if m.procs.inThreads() {
		return m.procs.detail
	}
	return m.page()
}

// entered is called when a view is shown.
func (m *Model) entered() tea.Cmd {
	if m.view == action.Journal {
		return m.changes.journalChanged()
	}
	return m.page().Open()
}

// journalChanged has the journal read again, if it is what is shown.
func (cs *changes) journalChanged() tea.Cmd {
	if cs.view != action.Journal {
		return nil
	}
	return tea.Batch(cs.journal.Open(), cs.lookAtGuards())
}

func (m *Model) togglePause() tea.Cmd {
	m.paused = !m.paused
	if !m.paused {
		m.deps.Sampler.Refresh()
	}
	return nil
}

func (c *chooser) cyclePanel() tea.Cmd {
	c.mode = c.mode.Next()
	return c.say(info, "core panel "+c.mode.String())
}

// show opens a view.
func (m *Model) show(v action.Context) tea.Cmd {
	left := m.chooser.leave()
	if v != m.view {
		m.why.Leave()
	}
	if m.view == action.Journal && v != action.Journal {
		left = tea.Batch(left, m.journal.Leave())
	}
	m.view, m.chooser.digits = v, ""
	m.areas = nil // a click that comes before the view is drawn means nothing
	return tea.Batch(left, m.entered())
}

// turn goes to the next view, or back.
func (m *Model) turn(by int) tea.Cmd {
	n := len(action.Views)
	return m.show(action.Views[(slices.Index(action.Views, m.view)+by+n)%n])
}

// back closes what is open: the core panel's cursor, what a view has open; then it goes back
// to the processes.
func (m *Model) back() tea.Cmd {
	switch v, has := m.page().(interface{ Back() bool }); {
	case m.chooser.on:
		return m.chooser.leave()
	case has && v.Back():
		return nil
	case m.view == action.IRQs && !m.irqs.CPUs().Empty():
		return m.chooser.untick()
	case m.view != action.Processes:
		return m.show(action.Processes)
	}
	return m.procs.back()
}

// jump shows a task of another view among the processes: its process where
// threads have no rows. What hides it there is reset.
func (m *Model) jump(t coresview.Target) tea.Cmd {
	m.paused, m.model = false, m.newest // an older list may not have the task
	m.procs.Load(m.model)
	cmd := m.show(action.Processes)
	tid := t.TID
	if !m.procs.View().Threads && t.TGID != 0 {
		tid = t.TGID
	}
	if m.procs.Select(tid) {
		return cmd
	}
	task := m.cores.Task(tid)
	if task == nil {
		return tea.Batch(cmd, m.say(bad, fmt.Sprintf("task %d has ended", t.TID)))
	}
	m.procs.change(func(v *proctable.View) {
		v.Filter, v.User = nil, ""
		v.Kernel = v.Kernel || task.Flags&sample.FlagKernelThread != 0
	})
	if !m.procs.Select(tid) { // below a folded branch
		m.procs.change(func(v *proctable.View) { v.Tree = proctable.Flat })
		m.procs.Select(tid)
	}
	return cmd
}

// pinFromLedger pins the task under the ledger's cursor.
func (m *Model) pinFromLedger() tea.Cmd {
	used, cmd := m.cores.Pin()
	if !used {
		return m.say(info, "p pins a task of a CPU's ledger: l opens one")
	}
	return cmd
}

// pinner pins one thread from the cores view; nil where nothing may be changed.
func (m *Model) pinner() func(coresview.Target, cpuset.Set) tea.Cmd {
	if m.deps.ReadOnly {
		return nil
	}
	return func(t coresview.Target, among cpuset.Set) tea.Cmd {
		return m.changes.begin(tune("pin", nameOf(t.TID, m.cores.Task(t.TID)),
			[]change.Target{{TID: t.TID, StartTicks: t.StartTicks, Scope: change.ScopeThread}},
			action.Tuning{Strategy: place.LeastLoaded, Within: among}))
	}
}

// askFilter shows only matching interrupts while one types.
func (v *interrupts) askFilter() tea.Cmd {
	now := v.Filter()
	return v.dialogs.Push(dialog.NewPrompt("Filter", now, nil), func(o dialog.Outcome) tea.Cmd {
		text, _ := o.Value.(string)
		if o.Canceled {
			text = now
		}
		v.SetFilter(text)
		return nil
	})
}

// showHandler shows the task that handles the interrupt under the cursor among the
// processes.
func (m *Model) showHandler() tea.Cmd {
	row := m.irqs.Selected()
	if row == nil || len(row.Threads) == 0 {
		return m.say(info, "no thread handles this interrupt: its CPU does")
	}
	tid := row.Threads[0].TID
	return m.jump(coresview.Target{TID: tid, TGID: tid}) // a kernel thread is its own process
}
