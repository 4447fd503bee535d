package tui

import (
	"cmp"
	"context"
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
	"piton/internal/model"
	"piton/internal/partition"
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

// held is what was grabbed, to be dropped on CPUs. It was fixed at the keypress:
// however the list moves meanwhile, it stays what it is.
type held struct {
	subject string
	on      cpuset.Set // ticked for the drop; empty: what is under the cursor
	drop    func(cpus cpuset.Set) tea.Cmd
	spread  func(cpus cpuset.Set) tea.Cmd // one CPU each
}

// grabbed is the tagged tasks, or the selected one.
func (m *Model) grabbed() *held {
	targets, subject := m.targets()
	if len(targets) == 0 {
		return nil
	}
	return m.heldTargets(targets, subject)
}

// heldRow is one task, whatever is tagged.
func (m *Model) heldRow(r field.Row) *held {
	return m.heldTargets([]change.Target{targetOf(r)}, nameOf(r))
}

func (m *Model) heldTargets(targets []change.Target, subject string) *held {
	return &held{subject: subject, drop: func(cpus cpuset.Set) tea.Cmd {
		return m.begin(tune("place", subject, targets,
			action.Tuning{Set: []attr.Setting{attr.SetAffinity(cpus)}, Reason: "dropped on the core panel"}))
	}, spread: func(cpus cpuset.Set) tea.Cmd {
		return m.begin(tune("spread", subject, targets, action.Tuning{Strategy: place.Spread, Within: cpus}))
	}}
}

// grab takes the rows that an action would act on, and gives the keys to the
// core panel; the cursor begins on the least-loaded CPU.
func (m *Model) grab() tea.Cmd { return m.hold(m.grabbed()) }

func (m *Model) hold(h *held) tea.Cmd {
	if h == nil || m.model == nil {
		return nil
	}
	m.chooser.held = h
	if best := m.newest.LeastLoaded; best >= 0 {
		m.pointAt(best)
	}
	return m.enterPanel()
}

// enterCPUs drops what was grabbed; without that it goes back to the list.
func (m *Model) enterCPUs() tea.Cmd {
	if h := m.chooser.held; h != nil {
		return m.letFall(h, h.drop)
	}
	return m.leavePanel()
}

// letFall gives the keys back, and does with what was grabbed what how says.
func (m *Model) letFall(h *held, how func(cpuset.Set) tea.Cmd) tea.Cmd {
	cpus := h.on
	if cpus.Empty() {
		cpus = m.region().CPUs
	}
	m.chooser.held = nil
	return tea.Batch(m.leavePanel(), how(cpus))
}

// Partition isolates CPUs; partition.Machine is the real one. It is called from
// commands, beside the screen.
type Partition interface {
	Isolate(ctx context.Context, cpus cpuset.Set) (change.Plan, partition.Isolation, error)
	Include(ctx context.Context, cpus cpuset.Set, force bool) (change.Plan, error)
	Settle(out *partition.Isolation, result *change.Outcome) error
}

// chosenCPUs are the ticked CPUs, or those under the panel's cursor.
func (m *Model) chosenCPUs() cpuset.Set {
	if !m.chooser.ticked.Empty() {
		return m.chooser.ticked
	}
	return m.region().CPUs
}

// isolate moves everything else off the chosen CPUs.
func (m *Model) isolate() tea.Cmd { return m.isolateFor(m.chosenCPUs(), nil) }

// isolateFor isolates CPUs, and goes on with then once it is done.
func (m *Model) isolateFor(cpus cpuset.Set, then func() tea.Cmd) tea.Cmd {
	if m.deps.Partition == nil {
		return m.say(bad, "isolate: not available in this session")
	}
	return m.begin(&isolateWish{about: about{what: "isolate", subject: cpuWords(cpus), whole: true, then: then}, cpus: cpus, partition: m.deps.Partition})
}

// isolateWish moves everything off CPUs; includeWish lets what was moved off them use
// them again.
type (
	isolateWish struct {
		about
		cpus      cpuset.Set
		partition Partition
		apart     partition.Isolation // once planned
	}
	includeWish struct {
		about
		cpus      cpuset.Set
		partition Partition
	}
)

func (w *isolateWish) plan(ctx context.Context, _ Tuning, _ *model.Model) (p proposal) {
	p.plan, w.apart, p.err = w.partition.Isolate(ctx, w.cpus)
	p.more = stayingLines(w.apart)
	return p
}

func (w *isolateWish) order() change.Order { return change.Order{Isolate: w.cpus.String()} }

func (w *isolateWish) sentence(o change.Outcome) string {
	text := fmt.Sprintf("isolate: %s moved off %s", dialog.Who(only(o.Changes, attr.Done)), cpuWords(w.cpus))
	if n := len(w.apart.Staying); n > 0 {
		text += fmt.Sprintf("; %d stay: the ledger of the CPU in the cores view lists them", n)
	}
	return text
}

// include lets what was moved off the chosen CPUs use them again.
func (m *Model) include() tea.Cmd {
	if m.deps.Partition == nil {
		return m.say(bad, "include: not available in this session")
	}
	cpus := m.chosenCPUs()
	return m.begin(includeWish{about{what: "include", subject: cpuWords(cpus), whole: true}, cpus, m.deps.Partition})
}

func (w includeWish) plan(ctx context.Context, _ Tuning, _ *model.Model) (p proposal) {
	p.plan, p.err = w.partition.Include(ctx, w.cpus, false)
	return p
}

func (w includeWish) order() change.Order { return change.Order{Include: w.cpus.String()} }

func (w includeWish) sentence(o change.Outcome) string {
	return fmt.Sprintf("include: %s may use %s again", dialog.Who(only(o.Changes, attr.Done)), cpuWords(w.cpus))
}

func cpuWords(cpus cpuset.Set) string {
	if cpus.Len() == 1 {
		return "cpu " + cpus.String()
	}
	return "cpus " + cpus.String()
}

// stayingLines says what keeps the CPUs, once for each reason.
func stayingLines(i partition.Isolation) []dialog.Line {
	var lines []dialog.Line
	for _, all := range group.By(i.Staying, func(s *partition.Staying) string { return s.Why }) {
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
func (m *Model) isolateAndPlace(p placing) tea.Cmd {
	tuning, now := m.deps.Tuning, m.newest
	return func() tea.Msg {
		choices, err := tuning.Choose(now, p.targets, action.Tuning{Strategy: place.LeastLoaded})
		if len(choices) == 0 {
			return saying(bad, "isolate: "+firstLine(cmp.Or(err, errNoCPU)))
		}
		var cpus cpuset.Set
		for _, c := range choices {
			cpus = cpus.Or(c.CPUs)
		}
		return resume(func(m *Model) tea.Cmd {
			return m.isolateFor(cpus, func() tea.Cmd {
				return m.begin(tune("place", p.subject, p.targets,
					action.Tuning{Set: []attr.Setting{attr.SetAffinity(cpus)}, Reason: "on CPUs isolated for it"}))
			})
		})
	}
}
