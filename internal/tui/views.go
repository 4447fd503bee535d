package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/tui/coresview"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
)

// page is a view other than the processes. It keeps its own state; the messages of its
// commands are functions that go on with what was found out (see handle).
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

// page is the present view's; nil for the processes.
func (m *Model) page() page { return m.pages[m.view] }

// lister is the list that has the keys.
func (m *Model) lister() lister {
	switch p := m.page(); {
	case p != nil:
		return p
	case m.inThreads():
		return m.detail
	}
	return m.table
}

// entered is called when a view is shown.
func (m *Model) entered() tea.Cmd {
	switch p := m.page(); {
	case p == nil:
		return nil
	case m.view == action.Journal:
		return tea.Batch(p.Open(), m.lookAtGuards())
	default:
		return p.Open()
	}
}

func (m *Model) pageBody(width, height int) []string {
	p := m.page()
	if p == nil || height < 1 {
		return nil
	}
	lines := strings.Split(p.Render(width, height, m.th), "\n")
	return lines[:min(len(lines), height)]
}

// journalChanged has the journal read again, if it is what is shown.
func (m *Model) journalChanged() tea.Cmd {
	if m.view == action.Journal {
		return m.entered()
	}
	return nil
}

// change alters what the list shows.
func (m *Model) change(f func(*proctable.View)) tea.Cmd {
	v := m.table.View()
	f(&v)
	m.layouts.Present().Fit(&v)
	m.keepTicks(v.Filter)
	m.table.SetView(v)
	return nil
}

// toggleThreads needs a new sample before threads can be shown.
func (m *Model) toggleThreads() tea.Cmd {
	m.change(func(v *proctable.View) { v.Threads = !v.Threads })
	m.askFor()
	m.deps.Sampler.Refresh()
	return nil
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

// sortBy sorts in the column's usual direction.
func (m *Model) sortBy(id string) tea.Cmd {
	c, _ := field.Lookup(id)
	return m.change(func(v *proctable.View) { v.Sort, v.Desc = c, c.Desc })
}

// toggleColumn shows a column before the command, or hides it.
func (m *Model) toggleColumn(id string) tea.Cmd {
	ids := slices.Clone(m.layouts.Present().Shown(m.table.View().Threads))
	if i := slices.IndexFunc(ids, func(text string) bool { return text == id || strings.HasPrefix(text, id+":") }); i >= 0 {
		ids = slices.Delete(ids, i, i+1)
	} else if last := len(ids) - 1; last >= 0 && ids[last] == "command" {
		ids = slices.Insert(ids, last, id)
	} else {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return m.say(bad, "the last column cannot be hidden")
	}
	m.layouts.SetColumns(ids)
	return tea.Batch(m.change(func(*proctable.View) {}), m.keep())
}

// chooseLayout shows the list as a layout says; the one that is left keeps what was
// changed in it.
func (m *Model) chooseLayout(name string) tea.Cmd {
	l := m.layouts.Choose(name, m.table.View())
	if l == nil {
		return m.say(bad, "there is no layout "+name)
	}
	return m.change(func(v *proctable.View) { l.Apply(v) })
}

func (m *Model) tagChildren() tea.Cmd {
	n := m.table.TagTree()
	return m.say(info, fmt.Sprintf("tagged %d with its descendants", n))
}

func (m *Model) tagAll() tea.Cmd {
	return m.say(info, fmt.Sprintf("%d tagged; U untags all", m.table.TagAll()))
}

// show opens a view.
func (m *Model) show(v action.Context) tea.Cmd {
	left := m.chooser.leave()
	m.view, m.chooser.digits = v, ""
	m.areas = nil // a click that comes before the view is drawn means nothing
	return tea.Batch(left, m.entered())
}

// turn goes to the next view, or back.
func (m *Model) turn(by int) tea.Cmd {
	n := len(action.Views)
	return m.show(action.Views[(slices.Index(action.Views, m.view)+by+n)%n])
}

// back closes what is open: the core panel's cursor, the detail pane's, the pane, then the filter, the user, the
// tags' search; in another view it goes back to the processes.
func (m *Model) back() tea.Cmd {
	v := m.table.View()
	switch {
	case m.chooser.on:
		return m.chooser.leave()
	case m.page() != nil:
		return m.backFromPage()
	case m.inThreads():
		return m.leaveThreads()
	case m.detailed:
		return m.toggleDetail()
	case v.Filter != nil || v.User != "":
		return m.change(func(v *proctable.View) { v.Filter, v.User = nil, "" })
	}
	m.search = ""
	return nil
}

// backFromPage closes what is open in a view, or goes back to the processes.
func (m *Model) backFromPage() tea.Cmd {
	switch {
	case m.view == action.Cores && m.cores.Back(), m.view == action.Bench && m.bench.Back():
		return nil
	case m.view == action.IRQs && m.irqs.Filter() != "":
		m.irqs.SetFilter("")
		return nil
	case m.view == action.IRQs && !m.irqs.CPUs().Empty():
		return m.chooser.untick()
	}
	return m.show(action.Processes)
}

// jump shows a task of another view among the processes: its process where
// threads have no rows. What hides it there is reset.
func (m *Model) jump(t coresview.Target) tea.Cmd {
	m.paused, m.model = false, m.newest // an older list may not have the task
	m.table.Load(m.model)
	cmd := m.show(action.Processes)
	tid := t.TID
	if !m.table.View().Threads && t.TGID != 0 {
		tid = t.TGID
	}
	if m.table.Select(tid) {
		return cmd
	}
	task := m.cores.Task(tid)
	if task == nil {
		return tea.Batch(cmd, m.say(bad, fmt.Sprintf("task %d has ended", t.TID)))
	}
	m.change(func(v *proctable.View) {
		v.Filter, v.User = nil, ""
		v.Kernel = v.Kernel || task.Flags&sample.FlagKernelThread != 0
	})
	if !m.table.Select(tid) { // below a folded branch
		m.change(func(v *proctable.View) { v.Tree = proctable.Flat })
		m.table.Select(tid)
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
		return m.begin(tune("pin", nameOf(t.TID, m.cores.Task(t.TID)),
			[]change.Target{{TID: t.TID, StartTicks: t.StartTicks, Scope: change.ScopeThread}},
			action.Tuning{Strategy: place.LeastLoaded, Within: among}))
	}
}

// askIRQFilter shows only matching interrupts while one types.
func (m *Model) askIRQFilter() tea.Cmd {
	now := m.irqs.Filter()
	return m.dialogs.Push(dialog.NewPrompt("Filter", now, nil), func(o dialog.Outcome) tea.Cmd {
		text, _ := o.Value.(string)
		if o.Canceled {
			text = now
		}
		m.irqs.SetFilter(text)
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
