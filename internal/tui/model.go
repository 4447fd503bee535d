// Package tui is the full-screen tuner: one Bubble Tea model that turns samples
// and messages into frames. It keeps what is on the screen and nothing else:
// figures come from internal/model, columns from internal/field, verbs and their
// keys from internal/action, and every change goes through internal/action.
//
// Start at Model. Each view keeps its own state: processView and interrupts here, the
// others in the packages below; chooser is the core panel, changes what was asked of the
// machine. Update is the only place where their state changes.
package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/benchview"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/coresview"
	"piton/internal/tui/dialog"
	"piton/internal/tui/irqview"
	"piton/internal/tui/journalview"
	"piton/internal/tui/meters"
	"piton/internal/tui/owncost"
	"piton/internal/tui/race"
	"piton/internal/tui/screen"
	"piton/internal/tui/starved"
	"piton/internal/tui/theme"
	"piton/internal/tui/whyview"
)

// shared is what every part of the screen uses.
type shared struct {
	deps    Deps
	th      *theme.Theme
	view    action.Context
	model   *model.Model // what is shown
	newest  *model.Model // later than model while the screen is paused; CPUs are chosen by its load
	dialogs dialog.Stack
	notice  notice
}

// Model is the screen.
type Model struct {
	*shared
	verbs verbs

	width, height int
	paused        bool
	cost          owncost.Cost // what piton itself costs

	header   meters.Header
	meters   []string // ids, see Options
	interval time.Duration
	chooser  chooser
	changes  changes
	mouseOff bool
	needs    sample.Needs   // as last asked for
	starved  *starved.Watch // piton's own priority

	pages   map[action.Context]page
	procs   *processView
	cores   *coresview.View
	irqs    interrupts
	bench   *benchview.View
	race    *race.View
	why     *whyview.View
	journal *journalview.View

	areas []area
	frame string // the last one drawn
	dirty bool   // something changed since
}

type sampled struct{ model *model.Model }

// New returns the screen before its first sample.
func New(d Deps) *Model {
	m := &Model{shared: &shared{deps: d, th: theme.New(d.Theme), view: action.Processes},
		verbs: d.verbs(), dirty: true, meters: d.Meters, interval: d.Interval}
	m.chooser = chooser{shared: m.shared, changes: &m.changes, filter: m.filterByCPUs, mode: corepanel.ModeOf(d.Panel)}
	m.race = race.New()
	m.why = whyview.New(whyview.Options{Open: d.Waits, ReadOnly: d.ReadOnly})
	m.journal = journalview.New(journalview.Options{Journal: d.Journal, Checker: d.Tuning, Undo: m.changes.undoThese, ReadOnly: d.ReadOnly, Watch: d.Watch})
	m.changes = changes{shared: m.shared, race: m.race, why: m.why, journal: m.journal, gate: make(chan struct{}, 1)}
	m.procs = newProcessView(m.shared, &m.chooser, m.keepTicks, m.keep)
	m.bench = benchview.New(d.Bench, &m.dialogs)
	m.starved = starved.New(starved.Options{Priority: d.Priority, Dialogs: &m.dialogs, Say: func(text string, isError bool) tea.Cmd {
		return m.say(map[bool]tone{false: good, true: bad}[isError], text)
	}})
	m.cores = coresview.New(coresview.Options{Jump: m.jump, Pin: m.pinner(), IRQMovable: d.IRQs.Movable})
	m.irqs = interrupts{m.shared, irqview.New(irqview.Options{Read: d.IRQs.Read, Ways: d.IRQs.Ways, Process: m.procs.flowing, Actions: !d.ReadOnly}), &m.chooser}
	m.pages = map[action.Context]page{action.Processes: m.procs, action.Cores: m.cores, action.IRQs: m.irqs.View, action.Bench: m.bench,
		action.Journal: m.journal, action.Race: m.race, action.Why: m.why}
	return m
}

// Init waits for the first sample.
func (m *Model) Init() tea.Cmd {
	m.askFor()
	return tea.Batch(m.wait(nil), m.changes.checkUndo(), m.starved.Look(), m.changes.lookAtGuards())
}

// wait returns a command that takes the next sample and makes a model of it. It
// runs beside the screen, so that computing rates never delays a key.
func (m *Model) wait(prev *model.Model) tea.Cmd {
	samples, topo := m.deps.Sampler.Samples(), m.deps.Topology
	return func() tea.Msg {
		s, ok := <-samples
		if !ok {
			return m.saying(bad, "sampling has ended")
		}
		return sampled{model.NextCalm(prev, s, topo)}
	}
}

// Update takes one message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := m.procs.At()
	cmd := m.handle(msg)
	if _, isSample := msg.(sampled); !isSample && m.procs.At() != before {
		cmd = tea.Batch(cmd, m.procs.noteDetail())
	}
	m.askFor()
	if !m.chooser.active() {
		cmd = tea.Batch(cmd, m.procs.askPinHint())
	}
	return m, cmd
}

func (m *Model) handle(msg tea.Msg) tea.Cmd {
	was := m.dirty
	m.dirty = true
	switch msg := msg.(type) {
	case tea.MouseMotionMsg:
		m.dirty = m.dragTo(msg.X, msg.Y) || was
	case pinHint:
		m.dirty = m.procs.pinHint.take(msg) || was
	case meters.Msg:
		news := m.deps.Live.Take(msg)
		m.dirty = was || m.interval > time.Second || len(news) > 0 // else the next sample draws it
		if len(news) > 0 {
			return m.say(bad, strings.Join(news, "; ")+"; ? lists them")
		}
	case race.Step:
		m.dirty = was || m.view == action.Race
		return msg()
	case sampled:
		return m.take(msg.model)
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.onBackground(msg.IsDark())
	case screen.NotStopped:
		return m.say(info, "not stopped: there is no shell that could continue piton")
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseClickMsg, tea.MouseReleaseMsg, tea.MouseWheelMsg:
		return m.mouse(msg.(tea.MouseMsg))
	case func() tea.Cmd: // what a command of the screen or of a view goes on with
		return msg()
	default: // what only dialogs know
		return m.dialogs.Update(msg)
	}
	return nil
}

// onBackground fits the colours to the background that the terminal says it has.
func (m *Model) onBackground(dark bool) {
	o := m.th.Options
	if o.Background = theme.Light; dark {
		o.Background = theme.Dark
	}
	if o.Background != m.th.Background {
		m.th = theme.New(o)
	}
}

// take shows a new model, unless the screen is paused, and waits for the next.
func (m *Model) take(next *model.Model) tea.Cmd {
	cmd := tea.Batch(m.wait(next), m.deps.Live.Read(m.meters, next.Sample.Wall))
	if faults := next.Sample.Faults(); m.newest == nil && len(faults) > 0 {
		cmd = tea.Batch(cmd, m.say(bad, strings.Join(faults, "; ")))
	}
	m.newest = next
	m.cores.Note(next)
	m.cost.Note(next)
	cmd = tea.Batch(cmd, m.changes.tick())
	if m.view == action.IRQs {
		cmd = tea.Batch(cmd, m.irqs.Tick())
	}
	if !m.dialogs.Empty() { // the affinity editor shows it live
		cmd = tea.Batch(cmd, m.dialogs.Update(m.load()))
	}
	if m.paused {
		return cmd
	}
	m.model = next
	m.procs.Load(next)
	m.procs.detail.Follow(next.Sample)
	if m.view == action.IRQs {
		m.irqs.Follow(next.Sample, next.Topology)
	}
	return tea.Batch(cmd, m.procs.noteDetail())
}

// state is what decides which verbs can be used.
func (m *Model) state() action.State {
	selected := m.procs.Count()
	switch m.view {
	case action.IRQs:
		selected = m.irqs.Count()
	case action.Why:
		selected = m.why.Count()
	}
	return action.State{View: m.view, Selected: selected, Grabbed: m.chooser.grabbed != nil,
		ReadOnly: m.deps.ReadOnly, CanUndo: m.changes.undoable || len(m.changes.made) > 0, Benchmark: m.bench.Running(), Search: m.race.Running()}
}

// askFor tells the sampler what is shown now, when that has changed.
func (m *Model) askFor() {
	n := sample.Needs{Threads: m.procs.View().Threads}
	if v, has := m.page().(interface{ Needs(*sample.Needs) }); has {
		v.Needs(&n)
	}
	meters.Needs(m.meters, &n)
	if !n.Equal(m.needs) {
		m.needs = n
		m.deps.Sampler.SetNeeds(n)
	}
}
