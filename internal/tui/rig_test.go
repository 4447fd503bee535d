package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	_ "piton/internal/lab/study"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"piton/internal/bench/store"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
	"piton/workloads"
)

// rig is a screen on a machine, driven by hand.
type rig struct {
	t        *testing.T
	m        *Model
	machine  *tuitest.Machine
	sampler  *fakeSampler
	tuning   *fakeTuning
	settings *fakeSettings
	irqs     *fakeIRQs
	last     *model.Model
	looked   bool // whether the machine is starved
	*tuitest.Loop
}

// area is the first part of the frame of that name.
func (m *Model) area(name string) area {
	for _, a := range m.areas {
		if a.name == name {
			return a
		}
	}
	return area{}
}

func (r *rig) area(name string) area { return r.m.area(name) }

type rigOption func(*Deps)

// newRig shows a machine after three seconds in a window.
func newRig(t *testing.T, topo *topology.Topology, w, h int, options ...rigOption) *rig {
	machine := tuitest.New(topo)
	r := &rig{t: t, machine: machine, sampler: &fakeSampler{out: make(chan *sample.Sample, 1)},
		tuning: &fakeTuning{machine: machine}, settings: &fakeSettings{}, irqs: &fakeIRQs{cpus: len(topo.CPUs)}}
	d := Deps{
		Options: Options{Saved: Saved{Theme: theme.Options{Depth: theme.Colors256}, Interval: time.Second}, Version: "test"},
		Sampler: r.sampler, Topology: topo, Inspect: fakeInspector{}, Tuning: r.tuning, Settings: r.settings,
		Bench: Bench{Store: fakeStore{}, Workloads: workloads.All[:8], Host: "web-07"}, // those of the golden frames
		IRQs:  IRQs{Read: r.irqs.Read, Movable: r.irqs.Movable, NICs: func() []irq.NIC { return nil }},
	}
	for _, o := range options {
		o(&d)
	}
	r.m = New(d)
	r.Loop = tuitest.NewLoop(func(msg tea.Msg) tea.Cmd {
		_, cmd := r.m.Update(msg)
		r.m.View()
		return cmd
	})
	r.m.View() // at 0×0, as Bubble Tea does
	r.send(tea.WindowSizeMsg{Width: w, Height: h})
	r.run(r.m.changes.checkUndo())
	for range 3 {
		r.tick()
	}
	return r
}

// onSmall runs a test on a screen of 120×40 that shows a machine of 8 CPUs.
func onSmall(t *testing.T, f func(r *rig), options ...rigOption) {
	on(t, 8, 120, 40, f, options...)
}

// on runs a test on a screen, in a time of its own.
func on(t *testing.T, cpus, w, h int, f func(r *rig), options ...rigOption) {
	t.Helper()
	topo := topologytest.Sized(cpus)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topo, w, h, options...)
		f(r)
		r.end()
	})
}

// end lets the commands that still wait, for time or for samples, end.
func (r *rig) end() {
	r.m.race.Stop()
	select {
	case _, open := <-r.sampler.out:
		if !open {
			break
		}
		close(r.sampler.out)
	default:
		close(r.sampler.out)
	}
	time.Sleep(time.Minute)
}

type fakeStore struct{}

func (fakeStore) Read() (store.History, error) { return store.History{}, nil }

// tick lets a second pass.
func (r *rig) tick() { r.deliver(r.machine.Tick()) }

// deliver gives the screen a sample.
func (r *rig) deliver(s *sample.Sample) {
	r.last = model.Next(r.last, s, r.machine.Topology)
	_, cmd := r.m.Update(sampled{r.last})
	_ = cmd // waits for the next sample, which the test delivers itself
	r.m.View()
	r.m.procs.pinHint.busy = false // its command is lost with the others
	r.run(r.m.procs.askPinHint())
	if r.m.procs.detailed {
		r.run(r.m.procs.noteDetail())
	}
}

// send gives a message and runs what comes of it, but for waits.
func (r *rig) send(msg tea.Msg) {
	r.Send(msg)
	r.Settle()
}

// run runs a command and feeds what it says back. What it says only after some
// time waits for wait.
func (r *rig) run(cmd tea.Cmd) {
	r.Run(cmd)
	r.Settle()
}

// wait lets time pass.
func (r *rig) wait(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		r.Settle()
	}
}

// press types keys: names as in the action table, or single letters.
func (r *rig) press(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		r.send(keyOf(r.t, k))
	}
}

func keyOf(t *testing.T, name string) tea.KeyPressMsg {
	t.Helper()
	k := tuitest.Key(name)
	require.Equal(t, name, k.String(), "the test spells a key as Bubble Tea does not")
	return k
}

// text is the frame without styles.
func (r *rig) text() string { return ansi.Strip(r.m.View().Content) }

// line is a line of the frame, counted from the end when negative.
func (r *rig) line(i int) string {
	lines := strings.Split(r.text(), "\n")
	if i < 0 {
		i += len(lines)
	}
	return lines[i]
}

// selected is the TID under the cursor.
func (r *rig) selected() kernel.TID {
	row, ok := r.m.procs.Selected()
	require.True(r.t, ok)
	return row.Task().TID
}
