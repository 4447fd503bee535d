package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/proctable"
	"piton/internal/tui/rows"
	"piton/internal/tui/widget"
)

// chooser is the core panel while CPUs are chosen in it: for the list, or for
// what was grabbed.
type chooser struct {
	on      bool       // it has the keyboard
	cpu     cpuset.CPU // under the cursor
	wide    int        // how many regions wider than that CPU the cursor is
	grabbed *grabbed   // what was grabbed; nil: CPUs are chosen for the list

	ticked cpuset.Set // that the list is filtered by
	mayRun bool       // it shows what may run on them, not only what is on them
	expr   string     // the filter's words for that
	pick   *corepanel.Pick

	pressed   *grabbed   // what is under the mouse's button, and may be dragged
	pressedAt int        // on which line of the screen
	drag      bool       // it is being dragged
	over      cpuset.Set // the CPUs that the drag is over
}

func (c *chooser) active() bool { return c.on || c.drag }

// context is where keys are looked up.
func (m *Model) context() action.Context {
	if m.chooser.on {
		return action.Panel
	}
	if m.view == action.Processes && m.inThreads() {
		return action.Threads
	}
	return m.view
}

func (m *Model) focusPanel() tea.Cmd {
	if m.chooser.on {
		return m.leavePanel()
	}
	if m.model == nil {
		return nil
	}
	if row, ok := m.table.Selected(); ok && m.chooser.ticked.Empty() && row.Task().LastCPU >= 0 {
		m.pointAt(cpuset.CPU(row.Task().LastCPU))
	}
	return m.enterPanel()
}

func (m *Model) enterPanel() tea.Cmd {
	m.chooser.on, m.digits = true, ""
	if !m.deps.Topology.Online.Has(m.chooser.cpu) {
		m.pointAt(m.deps.Topology.Online.First())
	}
	return nil
}

// leavePanel gives the keys back to the view, and forgets what was grabbed.
// Ticks stay: they are a filter.
func (m *Model) leavePanel() tea.Cmd {
	g := m.chooser.grabbed
	m.chooser.on, m.chooser.grabbed, m.chooser.drag, m.chooser.pressed, m.digits = false, nil, false, nil, ""
	if g != nil {
		return m.say(info, g.subject+": nothing was changed")
	}
	return nil
}

func (m *Model) pointAt(cpu cpuset.CPU) { m.chooser.cpu, m.chooser.wide = cpu, 0 }

// region is what is under the panel's cursor.
func (m *Model) region() corepanel.Region {
	all := corepanel.Regions(m.deps.Topology, m.chooser.cpu)
	if len(all) == 0 {
		return corepanel.Region{}
	}
	return all[min(m.chooser.wide, len(all)-1)]
}

func (m *Model) widen(by int) {
	most := len(corepanel.Regions(m.deps.Topology, m.chooser.cpu)) - 1
	m.chooser.wide = max(0, min(m.chooser.wide+by, most))
}

// stepCPU moves the panel's cursor to what is beside it, as wide as it is.
func (m *Model) stepCPU(dx, dy int) {
	from := m.region().CPUs
	for at := m.chooser.cpu; ; {
		next := m.panel.Step(at, dx, dy)
		if next == at {
			return
		}
		m.chooser.cpu, at = next, next
		if !m.region().CPUs.Equal(from) {
			return
		}
	}
}

func (m *Model) edgeCPU(last bool) {
	order := slices.Clone(m.deps.Topology.Order())
	if last {
		slices.Reverse(order)
	}
	if i := slices.IndexFunc(order, m.deps.Topology.Online.Has); i >= 0 {
		m.chooser.cpu = order[i]
	}
}

func (m *Model) typeCPU(digit string) tea.Cmd {
	m.digits += digit
	if n, err := strconv.Atoi(m.digits); err != nil || !m.deps.Topology.Online.Has(cpuset.CPU(n)) {
		m.digits = digit // a new number
	}
	if n, err := strconv.Atoi(m.digits); err == nil && m.deps.Topology.Online.Has(cpuset.CPU(n)) {
		m.pointAt(cpuset.CPU(n))
	}
	return m.forgetDigits()
}

// picked is what the panel marks; nil when nothing is being chosen.
func (m *Model) picked() *corepanel.Pick {
	c := &m.chooser
	want := corepanel.Pick{Ticked: c.ticked}
	switch {
	case c.drag:
		want.At = c.over
	case c.on:
		want.At = m.region().CPUs
	}
	if c.grabbed != nil {
		want.Ticked = c.grabbed.on
	}
	switch {
	case want.At.Empty() && want.Ticked.Empty():
		c.pick = nil
	case c.pick == nil || !c.pick.At.Equal(want.At) || !c.pick.Ticked.Equal(want.Ticked):
		c.pick = &want
	}
	return c.pick
}

// busyWords is how busy some CPUs are; "" when that is not known.
func busyWords(now *model.Model, cpus cpuset.Set) string {
	sum, known := float32(0), 0
	for i := range now.CPUs {
		if c := &now.CPUs[i]; cpus.Has(c.ID) && model.Known(c.Busy) {
			sum += c.Busy
			known++
		}
	}
	if known == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%% busy", 100*sum/float32(known))
}

// chooserLine stands in for the summary while CPUs are chosen: what for, which
// are under the cursor, and what the keys do.
func (m *Model) chooserLine(width int) string {
	th := m.th
	r := m.chosen(width)
	keys := [][]string{{"arrows", "CPU", "+", "wider", "Enter", "apply", "s", "one each", "Esc", "cancel"},
		{"arrows", "CPU", "+", "wider", "Enter", "apply", "Esc", "cancel"}, {"+", "wider", "Enter", "apply", "Esc", "cancel"},
		{"Enter", "apply", "Esc", "cancel"}}
	switch {
	case m.chooser.grabbed == nil && m.deps.ReadOnly:
		keys = [][]string{{"Space", "ticks", "f", listOf(!m.chooser.mayRun), "Esc", "back"}, {"Space", "ticks", "Esc", "back"}}
	case m.chooser.grabbed == nil:
		keys = [][]string{{"Space", "ticks", "f", listOf(!m.chooser.mayRun), "I", "isolates", "i", "includes", "Esc", "back"},
			{"Space", "ticks", "f", listOf(!m.chooser.mayRun), "Esc", "back"}, {"Space", "ticks", "Esc", "back"}}
	}
	for _, pairs := range keys {
		if k := rows.Keys(th, pairs...); !m.chooser.drag && r.Width()+3+k.Width() < width {
			r.Add(th.Text, "   ")
			r = append(r, k...)
			break
		}
	}
	return widget.Fit(r.Render(th, width), width, th.Ellipsis)
}

// chosen is what is being placed, and where it would go.
func (m *Model) chosen(width int) rows.Row {
	th, c, at := m.th, &m.chooser, m.region()
	var r rows.Row
	r.Add(th.Text, " ")
	if c.drag && c.over.Empty() {
		r.Add(th.Strong, "placing "+c.grabbed.subject)
		r.Add(th.Dim, ": over no CPU")
		return r
	}
	if c.grabbed != nil && width >= narrowLine {
		r.Add(th.Strong, "placing "+c.grabbed.subject)
		r.Add(th.Text, " "+th.Arrow+" ")
	}
	r.Add(th.Title, m.dropName(at))
	if c.grabbed != nil && width < narrowLine { // where to matters more
		r.Add(th.Strong, " for "+c.grabbed.subject)
	}
	if busy := busyWords(m.model, at.CPUs); busy != "" {
		r.Add(th.Dim, " "+busy)
	}
	if m.digits != "" {
		r.Add(th.Input, " "+m.digits)
	}
	return r
}

// narrowLine is the width below which a name and a place do not both fit.
const narrowLine = 40

// listOf is what the list shows of ticked CPUs.
func listOf(mayRun bool) string {
	if mayRun {
		return "all that may run on them"
	}
	return "only what is on them"
}

// dropName names the CPUs that a drop would choose: those that are ticked for it,
// or what is under the cursor.
func (m *Model) dropName(at corepanel.Region) string {
	if g := m.chooser.grabbed; g != nil && !g.on.Empty() {
		return "cpus " + g.on.String()
	}
	if cpus := at.CPUs.String(); !strings.HasSuffix(at.Name, " "+cpus) {
		return at.Name + " (" + cpus + ")"
	}
	return at.Name
}

// tick ticks the CPUs under the panel's cursor, or takes their ticks away: for
// what is grabbed, where to drop it; else for the list, what to show.
func (m *Model) tick() tea.Cmd {
	cpus := m.region().CPUs
	if g := m.chooser.grabbed; g != nil {
		g.on = toggle(g.on, cpus)
		return nil
	}
	m.chooser.ticked = toggle(m.chooser.ticked, cpus)
	return m.filterByCPUs()
}

func toggle(set, cpus cpuset.Set) cpuset.Set {
	if cpus.SubsetOf(set) {
		return set.AndNot(cpus)
	}
	return set.Or(cpus)
}

func (m *Model) untick() tea.Cmd {
	if g := m.chooser.grabbed; g != nil {
		g.on = cpuset.Set{}
		return nil
	}
	m.chooser.ticked = cpuset.Set{}
	return m.filterByCPUs()
}

// toggleMayRun changes between tasks that are on ticked CPUs and tasks that may
// run on them.
func (m *Model) toggleMayRun() tea.Cmd {
	m.chooser.mayRun = !m.chooser.mayRun
	if m.chooser.ticked.Empty() {
		return m.say(info, "ticked CPUs will show "+listOf(m.chooser.mayRun))
	}
	return m.filterByCPUs()
}

// filterByCPUs writes the ticks into the filter, where they are seen, edited and
// removed as any other words of it.
func (m *Model) filterByCPUs() tea.Cmd {
	c := &m.chooser
	text := strings.TrimSpace(strings.Replace(m.table.View().Filter.String(), c.expr, "", 1))
	c.expr = ""
	if !c.ticked.Empty() {
		c.expr = "on=" + c.ticked.String()
		if c.mayRun {
			c.expr = "allowed~" + c.ticked.String()
		}
	}
	m.irqs.SetCPUs(c.ticked, c.mayRun)
	f, err := field.ParseFilter(strings.TrimSpace(text + " " + c.expr))
	if err != nil {
		f = nil // nothing is left of it
	}
	return m.change(func(v *proctable.View) { v.Filter = f })
}

// keepTicks takes the ticks away when their words are no longer in the filter.
func (m *Model) keepTicks(f *field.Filter) {
	if c := &m.chooser; c.expr != "" && !strings.Contains(f.String(), c.expr) {
		c.ticked, c.expr = cpuset.Set{}, ""
		m.irqs.SetCPUs(cpuset.Set{}, false)
	}
}
