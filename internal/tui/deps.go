package tui

import (
	"context"
	"errors"
	"time"

	"piton/internal/change/history"
	"piton/internal/irq"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/tui/benchview"
	"piton/internal/tui/irqview"
	"piton/internal/tui/journalview"
	"piton/internal/tui/meters"
	"piton/internal/tui/proctable"
	"piton/internal/tui/screen"
	"piton/internal/tui/starved"
	"piton/internal/tui/theme"
	"piton/internal/tui/whyview"
	"piton/internal/watch"
)

// Sampler is what the screen needs of sample.Sampler.
type Sampler interface {
	// Samples delivers each sample once; an unread one is replaced by the next.
	// It is closed when sampling ends.
	Samples() <-chan *sample.Sample
	SetNeeds(sample.Needs)
	SetInterval(time.Duration)
	// Refresh takes a sample at once.
	Refresh()
}

// Options is what the command line and the configuration say about the screen.
type Options struct {
	Saved
	ReadOnly bool // another root is read: nothing may be changed
	Version  string
	PID      int    // piton's own, to show what it costs
	Filter   string // initial filter, already checked
	Threads  bool
}

// Deps is everything that the screen works with. Tests give fakes.
type Deps struct {
	Options
	Sampler  Sampler
	Topology *topology.Topology
	Inspect  Inspector
	Tuning   Tuning
	Elevate  Elevate // nil: there is no sudo, or it would add no right
	// Guards reads the guards of the journal that have not decided; nil where there are
	// none. It is called from commands, beside the screen.
	Guards   func() []history.GuardState
	Priority starved.Priority // nil: piton may not raise its own
	Settings Settings
	Bench    Bench
	IRQs     IRQs
	// Waits begins to observe what targets wait for, beside the screen; nil: not on this machine.
	Waits func(watch.Targets) (whyview.Session, error)
	// MadeUp: the tasks are those of a made-up machine, and no other program may be run on
	// their numbers.
	MadeUp  bool
	Journal journalview.Journal // nil: nothing is recorded
	// Watch begins to watch what others set; nil: it cannot be watched.
	Watch func() (journalview.Watcher, error)
	// Live reads what meters show and no sample has; nil: nothing.
	Live *meters.Reader
}

// Bench is what the results pane works with.
type Bench = benchview.Options

// IRQs is what the views ask of interrupts.
type IRQs struct {
	// Read reads them with their rates since it was last called.
	Read func() (irq.Table, error)
	// Movable says whether an interrupt's affinity can be set, if that is known.
	Movable func(irq int) (movable, known bool)
	// NICs reads the network interfaces' queues.
	NICs func() []irq.NIC
	// Ways says how packets get to CPUs; nil: it is not known.
	Ways func(*irq.Table) irqview.WayOf
}

// Settings keeps what the setup screen changes; nil keeps nothing.
type Settings interface {
	// Save writes the settings; the error says in words why they were not kept.
	Save(Saved) error
}

// Saved is what outlives a session. Theme and Keys are only read: the user writes them.
type Saved struct {
	Columns  []string // of the layout main; see proctable.Layout
	Sort     string
	Layouts  []proctable.Layout // the user's own, and what is changed of the others
	Interval time.Duration
	Panel    string              // "full", "folded" or "hidden"
	Meters   []string            // ids; empty = the usual ones
	Theme    theme.Options       // Name and Colors alone are kept
	Keys     map[string][]string // by the id of an action, as they are written; see CheckKeys
}

// Run shows the screen until the user quits or ctx ends. A benchmark or a search that
// still runs then is ended, a change under way is waited for, and what was not said to
// keep is reverted. The error is screen.Run's: nil when the user quit.
func Run(ctx context.Context, d Deps, o screen.Options) error {
	m := New(d)
	m.cost.Meter = &screen.Meter{}
	o.Meter = m.cost.Meter
	defer m.bench.Stop()
	o.Filter = MouseFilter()
	_, err := screen.Run(ctx, m, o)
	m.race.Stop()
	if leave := m.journal.Leave(); leave != nil {
		leave()
	}
	m.why.Stop()
	return errors.Join(err, m.changes.finish(), m.changes.revertUnkept())
}
