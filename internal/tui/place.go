package tui

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/partition"
	"piton/internal/place"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/dialog"
)

// placing is what the place menu of tasks is about.
type placing struct {
	subject string
	targets []change.Target
	names   map[kernel.TID]string // of the targets, for reasons
}

// errNoCPU is what a strategy says that chooses nothing.
var errNoCPU = errors.New("there is no CPU for it")

// strategies are the placements as the menu has them, with what they mean.
var strategies = []struct {
	strategy place.Strategy
	help     string
}{
	{place.LeastLoaded, "One core each, the least loaded first."},
	{place.SiblingFree, "A core each with idle SMT siblings."},
	{place.Spread, "A CPU for each busy thread, as far apart as can be."},
	{place.Pack, "Together: same core, then same cache; for threads that share data."},
	{place.LLC, "All CPUs of the least loaded last-level cache."},
	{place.NodeWide, "All CPUs of the least loaded NUMA node."},
}

// askPlace offers the strategies, each with what it would choose now and why.
func (p *processView) askPlace() tea.Cmd {
	of := placing{names: map[kernel.TID]string{}}
	of.targets, of.subject = p.targets()
	for _, r := range p.Targets() {
		of.names[r.Task().TID] = nameOf(r.Task().TID, r.Task())
	}
	last := cpuset.CPU(p.Targets()[0].Task().LastCPU)
	tuning, now, c := p.deps.Tuning, p.newest, p.chooser
	return func() tea.Msg {
		var items []dialog.Item
		for _, s := range strategies {
			choices, err := tuning.Choose(now, of.targets, action.Tuning{Strategy: s.strategy})
			items = append(items, of.offer(s.strategy, s.help, choices, err))
		}
		return func() tea.Cmd {
			g := c.changes.grabTargets(of.targets, of.subject)
			for i := range items {
				strategy := strategies[i].strategy
				items[i].Value = func() tea.Cmd {
					return c.changes.begin(tune("place "+string(strategy), of.subject, of.targets, action.Tuning{Strategy: strategy}))
				}
			}
			items := append(items, c.hereItems(g, last, "What is around the CPU on which it runs now")...)
			return c.openPlaces(g, append(items, dialog.Item{Label: "isolate" + p.th.Ellipsis, Off: items[0].Off,
				Detail: "what least-loaded chose; move everything else off it", Value: func() tea.Cmd { return c.isolateAndPlace(of) }}))
		}
	}
}

// offer is a strategy with what it would choose.
func (p *placing) offer(s place.Strategy, help string, choices []place.Choice, err error) dialog.Item {
	it := dialog.Item{Label: string(s), More: help}
	if len(choices) == 0 {
		it.Off = firstLine(cmp.Or(err, errNoCPU))
		it.More += " " + it.Off
		return it
	}
	it.Detail = chosenCPUs(choices)
	it.More += " Now: " + p.because(choices[0])
	if n := len(choices) - 1; n > 0 {
		it.More += fmt.Sprintf(" And %d more.", n)
	}
	if left := len(p.targets) - len(choices); left > 0 {
		it.More += fmt.Sprintf(" For %d of them there is no CPU: %s.", left, firstLine(err))
	}
	return it
}

// because is the reason for a choice, with the name of the task where there are
// several, and what to beware of.
func (p *placing) because(c place.Choice) string {
	text := c.Reason
	if len(p.targets) > 1 {
		text = p.names[c.TID] + ": " + text
	}
	if c.Warning != "" {
		text += "; " + c.Warning
	}
	return text + "."
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// chosenCPUs is where the targets would go, in their order: "5", "5 7 1", "0-7".
func chosenCPUs(choices []place.Choice) string {
	var words []string
	for _, c := range choices {
		if n := len(words); n == 0 || words[n-1] != c.CPUs.String() {
			words = append(words, c.CPUs.String())
		}
	}
	const most = 8
	if len(words) > most {
		words = append(words[:most], "and so on")
	}
	return "cpu " + strings.Join(words, ", ")
}

// openPlaces offers places for what is grabbed; every answer is applied at once.
func (c *chooser) openPlaces(g *grabbed, items []dialog.Item) tea.Cmd {
	return c.menu("Place "+g.subject, append(items,
		dialog.Item{Label: "choose" + c.th.Ellipsis, Detail: "a CPU, core, cache or node, by load", Value: func() tea.Cmd { return c.askRegion(g) }},
		dialog.Item{Label: "point" + c.th.Ellipsis, Detail: "at CPUs in the core panel, as d does", Value: func() tea.Cmd { return c.grab(g) }}), 0)
}

// menu asks for an item, and does what its value says.
func (s *shared) menu(title string, items []dialog.Item, at int) tea.Cmd {
	return s.dialogs.Push(dialog.NewMenu(title, items, at), dialog.Answered(func(do func() tea.Cmd) tea.Cmd { return do() }))
}

func (g *grabbed) item(label string, cpus cpuset.Set, more string) dialog.Item {
	return dialog.Item{Label: label, Detail: "cpu " + cpus.String(), More: more,
		Value: func() tea.Cmd { return g.send(cpus, "chosen in the place menu") }}
}

// hereItems are the CPUs around one, from its core to the whole machine; more says what
// the one is.
func (c *chooser) hereItems(g *grabbed, cpu cpuset.CPU, more string) []dialog.Item {
	var items []dialog.Item
	all := corepanel.Regions(c.deps.Topology, cpu)
	for _, r := range all[min(1, len(all)):] {
		items = append(items, g.item("its "+r.Name, r.CPUs, fmt.Sprintf("%s: %s.", more, busyWords(c.newest, r.CPUs))))
	}
	if last := len(items) - 1; last >= 0 {
		items[last].Label = "anywhere"
	}
	return items
}

func (c *chooser) askRegion(g *grabbed) tea.Cmd {
	d := dialog.NewRegions("Place "+g.subject+" on", c.deps.Topology, c.load(), c.newest.LeastLoaded)
	return c.dialogs.Push(d, dialog.Answered(g.drop))
}

// grabbed is what was grabbed, to be dropped on CPUs. It was fixed at the keypress:
// however the list moves meanwhile, it stays what it is.
type grabbed struct {
	subject string
	on      cpuset.Set // ticked for the drop; empty: what is under the cursor
	send    func(cpus cpuset.Set, reason string) tea.Cmd
	spread  func(cpus cpuset.Set) tea.Cmd // one CPU each
}

func (g *grabbed) drop(cpus cpuset.Set) tea.Cmd { return g.send(cpus, "dropped on the core panel") }

func (p *processView) selectedRows() *grabbed {
	targets, subject := p.targets()
	if len(targets) == 0 {
		return nil
	}
	return p.chooser.changes.grabTargets(targets, subject)
}

// grabRow is one task, whatever is tagged.
func (cs *changes) grabRow(r field.Row) *grabbed {
	return cs.grabTargets([]change.Target{targetOf(r)}, nameOf(r.Task().TID, r.Task()))
}

func (cs *changes) grabTargets(targets []change.Target, subject string) *grabbed {
	return &grabbed{subject: subject, send: func(cpus cpuset.Set, reason string) tea.Cmd {
		return cs.begin(tune("place", subject, targets, action.Tuning{Set: []attr.Setting{attr.SetAffinity(cpus)}, Reason: reason}))
	}, spread: func(cpus cpuset.Set) tea.Cmd {
		return cs.begin(tune("spread", subject, targets, action.Tuning{Strategy: place.Spread, Within: cpus}))
	}}
}

// grab takes the rows that an action would act on, and gives the keys to the
// core panel; the cursor begins on the least-loaded CPU.
func (p *processView) grabRows() tea.Cmd { return p.chooser.grab(p.selectedRows()) }

func (c *chooser) grab(g *grabbed) tea.Cmd {
	if g == nil || c.model == nil {
		return nil
	}
	c.grabbed = g
	if best := c.newest.LeastLoaded; best >= 0 {
		c.pointAt(best)
	}
	return c.enter()
}

// enterCPUs drops what was grabbed; without that it goes back to the list.
func (c *chooser) enterCPUs() tea.Cmd {
	if g := c.grabbed; g != nil {
		return c.dropGrabbed(g, g.drop)
	}
	return c.leave()
}

// dropGrabbed gives the keys back, and does with what was grabbed what how says.
func (c *chooser) dropGrabbed(g *grabbed, how func(cpuset.Set) tea.Cmd) tea.Cmd {
	cpus := g.on
	if cpus.Empty() {
		cpus = c.region().CPUs
	}
	c.grabbed = nil
	return tea.Batch(c.leave(), how(cpus))
}

func (c *chooser) chosenCPUs() cpuset.Set {
	if !c.ticked.Empty() {
		return c.ticked
	}
	return c.region().CPUs
}

// isolate moves everything else off the chosen CPUs; include lets it use them again.
func (c *chooser) isolate() tea.Cmd { return c.divide("isolate", c.chosenCPUs(), nil) }
func (c *chooser) include() tea.Cmd { return c.divide("include", c.chosenCPUs(), nil) }

// divide isolates or includes CPUs, and goes on with then once it is done.
func (c *chooser) divide(what string, cpus cpuset.Set, then func() tea.Cmd) tea.Cmd {
	order := change.Order{Isolate: cpus.String()}
	if what == "include" {
		order = change.Order{Include: cpus.String()}
	}
	r := ordered(what, strings.ToLower(cpus.InWords()), order)
	r.whole, r.then = true, then
	return c.changes.begin(r)
}

func (a *result) divided(who string) string {
	if a.Include != "" {
		return fmt.Sprintf("include: %s may use %s again", who, a.Subject)
	}
	text := fmt.Sprintf("isolate: %s moved off %s", who, a.Subject)
	if n := len(a.Isolation.Immovable); n > 0 {
		text += fmt.Sprintf("; %d stay: the ledger of the CPU in the cores view lists them", n)
	}
	return text
}

// stayingLines says what keeps the CPUs, once for each reason.
func stayingLines(i partition.Isolation) []dialog.Line {
	var lines []dialog.Line
	for _, all := range group.By(i.Immovable, func(s *partition.Immovable) string { return s.Why }) {
		text := "stays: " + all[0].Name
		if n := len(all); n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		if text += ": " + all[0].Why; all[0].Do != "" {
			text += "; " + all[0].Do
		}
		lines = append(lines, dialog.Line{Tone: dialog.Quiet, Text: text})
	}
	return lines
}

// isolateAndPlace isolates the CPUs that place would choose for the targets, and
// then puts them there.
func (c *chooser) isolateAndPlace(p placing) tea.Cmd {
	tuning, now := c.deps.Tuning, c.newest
	return func() tea.Msg {
		choices, err := tuning.Choose(now, p.targets, action.Tuning{Strategy: place.LeastLoaded})
		if len(choices) == 0 {
			return c.saying(bad, "isolate: "+firstLine(cmp.Or(err, errNoCPU)))
		}
		var cpus cpuset.Set
		for _, one := range choices {
			cpus = cpus.Or(one.CPUs)
		}
		return func() tea.Cmd {
			return c.divide("isolate", cpus, func() tea.Cmd {
				return c.changes.grabTargets(p.targets, p.subject).send(cpus, "on CPUs isolated for it")
			})
		}
	}
}
