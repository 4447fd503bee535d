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
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/dialog"
)

// placing is what the place menu is about.
type placing struct {
	subject string
	targets []change.Target
	names   map[kernel.TID]string // of the targets, for reasons
	last    cpuset.CPU            // where the first of them ran last, -1 unknown
}

// errNoCPU is what a strategy says that chooses nothing.
var errNoCPU = errors.New("there is no CPU for it")

// other answers of the place menu than a strategy or CPUs.
type placeBy uint8

const (
	byRegion    placeBy = iota // a list of CPUs, caches and nodes
	byHand                     // the core panel
	byIsolating                // a CPU that is isolated first
)

// askPlace offers the strategies, each with what it would choose now and why.
func (m *Model) askPlace() tea.Cmd {
	p := placing{names: map[kernel.TID]string{}, last: -1}
	p.targets, p.subject = m.targets()
	for i, r := range m.table.Targets() {
		p.names[r.Task().TID] = nameOf(r)
		if i == 0 {
			p.last = cpuset.CPU(r.Task().LastCPU)
		}
	}
	tuning, now := m.deps.Tuning, m.newest
	return func() tea.Msg {
		items := dialog.Strategies()
		for i := range items {
			items[i] = p.offer(items[i], tuning, now)
		}
		return resume(func(m *Model) tea.Cmd { return m.openPlaces(p, items) })
	}
}

// offer fills in what a strategy would choose.
func (p *placing) offer(it dialog.Item, tuning Tuning, now *model.Model) dialog.Item {
	choices, err := tuning.Choose(now, p.targets, action.Tuning{Strategy: it.Value.(place.Strategy)})
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

// openPlaces asks; every answer is applied at once.
func (m *Model) openPlaces(p placing, items []dialog.Item) tea.Cmd {
	leastLoaded := items[0]
	items = append(items, m.hereItems(p.last, "What is around the CPU on which it runs now")...)
	items = append(items,
		dialog.Item{Label: "choose" + m.th.Ellipsis, Detail: "a CPU, core, cache or node, by load", Value: byRegion},
		dialog.Item{Label: "isolate" + m.th.Ellipsis, Off: leastLoaded.Off, Detail: "what least-loaded chose; move everything else off it", Value: byIsolating},
		dialog.Item{Label: "point" + m.th.Ellipsis, Detail: "at CPUs in the core panel, as d does", Value: byHand})
	return m.dialogs.Push(dialog.NewPlaces(p.subject, items), func(o dialog.Outcome) tea.Cmd {
		switch v := o.Value.(type) {
		case place.Strategy:
			return m.begin(tune("place "+string(v), p.subject, p.targets, action.Tuning{Strategy: v}))
		case cpuset.Set:
			return m.begin(tune("place", p.subject, p.targets,
				action.Tuning{Set: []attr.Setting{attr.SetAffinity(v)}, Reason: "chosen in the place menu"}))
		case placeBy:
			return m.placeBy(v, p)
		}
		return nil
	})
}

// placeBy asks on, or isolates.
func (m *Model) placeBy(by placeBy, p placing) tea.Cmd {
	h := m.heldTargets(p.targets, p.subject)
	switch by {
	case byHand:
		return m.hold(h)
	case byIsolating:
		return m.isolateAndPlace(p)
	}
	return m.askRegion(h)
}

// hereItems are the CPUs around one, from its core to the whole machine; more says what
// the one is.
func (m *Model) hereItems(cpu cpuset.CPU, more string) []dialog.Item {
	var items []dialog.Item
	all := corepanel.Regions(m.deps.Topology, cpu)
	for _, r := range all[min(1, len(all)):] {
		items = append(items, dialog.Item{Label: "its " + r.Name, Detail: "cpu " + r.CPUs.String(), Value: r.CPUs,
			More: fmt.Sprintf("%s: %s.", more, busyWords(m.newest, r.CPUs))})
	}
	if last := len(items) - 1; last >= 0 {
		items[last].Label = "anywhere"
	}
	return items
}

// askRegion asks for a CPU, cache or node to put what was grabbed on.
func (m *Model) askRegion(h *held) tea.Cmd {
	d := dialog.NewRegions("Place "+h.subject+" on", m.deps.Topology, m.load(), m.newest.LeastLoaded)
	return m.dialogs.Push(d, dialog.Answered(h.drop))
}
