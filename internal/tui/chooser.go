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
	*shared
	changes *changes
	filter  func() tea.Cmd // shows in the list what is ticked
	panel   corepanel.Panel
	mode    corepanel.Mode
	digits  string // of a CPU's number, typed so far

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
	if m.procs.inThreads() {
		return action.Threads
	}
	return m.view
}

func (p *processView) focusPanel() tea.Cmd {
	if p.chooser.on {
		return p.chooser.leave()
	}
	if p.model == nil {
		return nil
	}
	if row, ok := p.Selected(); ok && p.chooser.ticked.Empty() && row.Task().LastCPU >= 0 {
		p.chooser.pointAt(cpuset.CPU(row.Task().LastCPU))
	}
	return p.chooser.enter()
}

func (c *chooser) enter() tea.Cmd {
	c.on, c.digits = true, ""
	if !c.deps.Topology.Online.Has(c.cpu) {
		c.pointAt(c.deps.Topology.Online.First())
	}
	return nil
}

// leave gives the keys back to the view, and forgets what was grabbed.
// Ticks stay: they are a filter.
func (c *chooser) leave() tea.Cmd {
	g := c.grabbed
	c.on, c.grabbed, c.drag, c.pressed, c.digits = false, nil, false, nil, ""
	if g != nil {
		return c.say(info, g.subject+": nothing was changed")
	}
	return nil
}

func (c *chooser) pointAt(cpu cpuset.CPU) { c.cpu, c.wide = cpu, 0 }

// region is what is under the panel's cursor.
func (c *chooser) region() corepanel.Region {
	all := corepanel.Regions(c.deps.Topology, c.cpu)
	if len(all) == 0 {
		return corepanel.Region{}
	}
	return all[min(c.wide, len(all)-1)]
}

func (c *chooser) widen(by int) {
	most := len(corepanel.Regions(c.deps.Topology, c.cpu)) - 1
	c.wide = max(0, min(c.wide+by, most))
}

// step moves the panel's cursor to what is beside it, as wide as it is.
func (c *chooser) step(dx, dy int) {
	from := c.region().CPUs
	for at := c.cpu; ; {
		next := c.panel.Step(at, dx, dy)
		if next == at {
			return
		}
		c.cpu, at = next, next
		if !c.region().CPUs.Equal(from) {
			return
		}
	}
}

func (c *chooser) edge(last bool) {
	order := slices.Clone(c.deps.Topology.Order())
	if last {
		slices.Reverse(order)
	}
	if i := slices.IndexFunc(order, c.deps.Topology.Online.Has); i >= 0 {
		c.cpu = order[i]
	}
}

func (c *chooser) typeCPU(digit string) tea.Cmd {
	for _, c.digits = range []string{c.digits + digit, digit} { // the second is a new number
		if n, err := strconv.Atoi(c.digits); err == nil && c.deps.Topology.Online.Has(cpuset.CPU(n)) {
			c.pointAt(cpuset.CPU(n))
			break
		}
	}
	return c.forgetDigits()
}

// picked is what the panel marks; nil when nothing is being chosen.
func (c *chooser) picked() *corepanel.Pick {
	want := corepanel.Pick{Ticked: c.ticked}
	switch {
	case c.drag:
		want.At = c.over
	case c.on:
		want.At = c.region().CPUs
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

// line stands in for the summary while CPUs are chosen: what for, which
// are under the cursor, and what the keys do.
func (c *chooser) line(width int) string {
	th := c.th
	r := c.chosen(width)
	keys := [][]string{{"arrows", "CPU", "+", "wider", "Enter", "apply", "s", "one each", "Esc", "cancel"},
		{"arrows", "CPU", "+", "wider", "Enter", "apply", "Esc", "cancel"}, {"+", "wider", "Enter", "apply", "Esc", "cancel"},
		{"Enter", "apply", "Esc", "cancel"}}
	switch {
	case c.grabbed == nil && c.deps.ReadOnly:
		keys = [][]string{{"Space", "ticks", "f", listOf(!c.mayRun), "Esc", "back"}, {"Space", "ticks", "Esc", "back"}}
	case c.grabbed == nil:
		keys = [][]string{{"Space", "ticks", "f", listOf(!c.mayRun), "I", "isolates", "i", "includes", "Esc", "back"},
			{"Space", "ticks", "f", listOf(!c.mayRun), "Esc", "back"}, {"Space", "ticks", "Esc", "back"}}
	}
	for _, pairs := range keys {
		if k := rows.Keys(th, pairs...); !c.drag && r.Width()+3+k.Width() < width {
			r.Add(th.Text, "   ")
			r = append(r, k...)
			break
		}
	}
	return widget.Fit(r.Render(th, width), width, th.Ellipsis)
}

// chosen is what is being placed, and where it would go.
func (c *chooser) chosen(width int) rows.Row {
	th, at := c.th, c.region()
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
	r.Add(th.Title, c.dropName(at))
	if c.grabbed != nil && width < narrowLine { // where to matters more
		r.Add(th.Strong, " for "+c.grabbed.subject)
	}
	if busy := busyWords(c.model, at.CPUs); busy != "" {
		r.Add(th.Dim, " "+busy)
	}
	if c.digits != "" {
		r.Add(th.Input, " "+c.digits)
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
func (c *chooser) dropName(at corepanel.Region) string {
	if g := c.grabbed; g != nil && !g.on.Empty() {
		return "cpus " + g.on.String()
	}
	if cpus := at.CPUs.String(); !strings.HasSuffix(at.Name, " "+cpus) {
		return at.Name + " (" + cpus + ")"
	}
	return at.Name
}

// tick ticks the CPUs under the panel's cursor, or takes their ticks away: for
// what is grabbed, where to drop it; else for the list, what to show.
func (c *chooser) tick() tea.Cmd {
	cpus := c.region().CPUs
	if g := c.grabbed; g != nil {
		g.on = toggle(g.on, cpus)
		return nil
	}
	c.ticked = toggle(c.ticked, cpus)
	return c.filter()
}

func toggle(set, cpus cpuset.Set) cpuset.Set {
	if cpus.SubsetOf(set) {
		return set.AndNot(cpus)
	}
	return set.Or(cpus)
}

func (c *chooser) untick() tea.Cmd {
	if g := c.grabbed; g != nil {
		g.on = cpuset.Set{}
		return nil
	}
	c.ticked = cpuset.Set{}
	return c.filter()
}

// toggleMayRun changes between tasks that are on ticked CPUs and tasks that may
// run on them.
func (c *chooser) toggleMayRun() tea.Cmd {
	c.mayRun = !c.mayRun
	if c.ticked.Empty() {
		return c.say(info, "ticked CPUs will show "+listOf(c.mayRun))
	}
	return c.filter()
}

// filterByCPUs writes the ticks into the filter, where they are seen, edited and
// removed as any other words of it.
func (m *Model) filterByCPUs() tea.Cmd {
	c := &m.chooser
	text := strings.TrimSpace(strings.Replace(m.procs.View().Filter.String(), c.expr, "", 1))
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
	return m.procs.change(func(v *proctable.View) { v.Filter = f })
}

// keepTicks takes the ticks away when their words are no longer in the filter.
func (m *Model) keepTicks(f *field.Filter) {
	if c := &m.chooser; c.expr != "" && !strings.Contains(f.String(), c.expr) {
		c.ticked, c.expr = cpuset.Set{}, ""
		m.irqs.SetCPUs(cpuset.Set{}, false)
	}
}
