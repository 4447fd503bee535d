package tui

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/detail"
	"piton/internal/tui/theme"
	"piton/internal/tui/tuitest"
	"piton/internal/tune"
)

// fakeSampler gives what the test puts in and remembers what it was asked.
type fakeSampler struct {
	out       chan *sample.Sample
	needs     sample.Needs
	interval  time.Duration
	refreshed int
}

func (f *fakeSampler) Samples() <-chan *sample.Sample { return f.out }
func (f *fakeSampler) SetNeeds(n sample.Needs)        { f.needs = n }
func (f *fakeSampler) SetInterval(d time.Duration)    { f.interval = d }
func (f *fakeSampler) Refresh()                       { f.refreshed++ }
func (f *fakeSampler) watches(tid kernel.TID) bool {
	for _, t := range f.needs.Watch {
		if t == tid {
			return true
		}
	}
	return false
}

// fakeTuning plans a change for every target and says it is done.
type fakeTuning struct {
	targets  []tune.Target
	want     action.Tuning
	plans    int
	applied  []tune.Plan
	undone   []tune.UndoRequest
	signals  []tune.Target
	warnings []string
	trial    string
	status   tune.Status // of what is planned; Planned when ""
	reason   string
	err      error // of each change
	canUndo  bool
}

func (f *fakeTuning) Plan(_ context.Context, _ *model.Model, targets []tune.Target, t action.Tuning) (tune.Plan, []place.Choice, error) {
	f.plans++
	f.targets, f.want = targets, t
	p := tune.Plan{Warnings: f.warnings, Trial: f.trial}
	for _, tg := range targets {
		c := tune.Change{PID: tg.TID, TID: tg.TID, StartTicks: tg.StartTicks, Comm: "nqueens", Attribute: tune.Affinity,
			Before: "0-7", After: "5", Status: tune.Planned, Reason: f.reason, Err: f.err}
		if f.status != "" {
			c.Status = f.status
		}
		p.Changes = append(p.Changes, c)
	}
	set := cpuset.Of(5)
	p.Requests = []tune.Request{{Targets: targets, Settings: tune.Settings{Affinity: &set}}}
	if t.Strategy == "" {
		return p, nil, nil
	}
	return p, []place.Choice{{TID: targets[0].TID, CPUs: set, Reason: "cpu 5: 1% busy"}}, nil
}

func (f *fakeTuning) Apply(_ context.Context, p tune.Plan) (tune.Result, error) {
	f.applied = append(f.applied, p)
	r := tune.Result{Entry: 7}
	for _, c := range p.Changes {
		c.Status = tune.Done
		r.Changes = append(r.Changes, c)
	}
	return r, nil
}

func (f *fakeTuning) PlanUndo(_ context.Context, q tune.UndoRequest) (tune.Plan, error) {
	if !f.canUndo {
		return tune.Plan{}, tune.ErrNothingToUndo
	}
	f.undone = append(f.undone, q)
	return tune.Plan{Changes: []tune.Change{{PID: 3641, TID: 3641, Comm: "nqueens", Attribute: tune.Affinity,
		Before: "5", After: "0-7", Status: tune.Planned}}}, nil
}

func (f *fakeTuning) Signal(t tune.Target, _ syscall.Signal) error {
	f.signals = append(f.signals, t)
	return nil
}

func (f *fakeTuning) Cpuset(kernel.TID) (cpuset.Set, string, error) {
	return cpuset.Set{}, "", errors.New("no cgroup")
}

type fakeInspector struct{}

func (fakeInspector) Read(pid kernel.TID) detail.Reading {
	return detail.Reading{PID: pid, Total: 1, Threads: []detail.Thread{{TID: pid, Comm: "nqueens", State: 'R', CPU: 1}},
		Confinement: detail.Confinement{Allowed: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1, 2, 3), Owner: "/user.slice"}}
}

func (fakeInspector) Environ(kernel.TID) ([]string, error) {
	return []string{"HOME=/home/balu", "EVIL=\x1b[2J"}, nil
}

type fakeSettings struct {
	saved []Saved
	err   error
}

func (f *fakeSettings) Save(s Saved) error {
	f.saved = append(f.saved, s)
	return f.err
}

// rig is a screen on a machine, driven by hand.
type rig struct {
	t        *testing.T
	m        *Model
	machine  *tuitest.Machine
	sampler  *fakeSampler
	tuning   *fakeTuning
	settings *fakeSettings
	last     *model.Model
	quit     bool
	execs    []*exec.Cmd
	inbox    chan tea.Msg
}

type rigOption func(*Deps)

// newRig shows a machine after three seconds in a window.
func newRig(t *testing.T, topo *topology.Topology, w, h int, options ...rigOption) *rig {
	r := &rig{t: t, machine: tuitest.New(topo), sampler: &fakeSampler{out: make(chan *sample.Sample, 1)},
		tuning: &fakeTuning{}, settings: &fakeSettings{},
		inbox: make(chan tea.Msg, 1000)}
	d := Deps{
		Options: Options{Theme: theme.Options{Depth: theme.Colors256}, Interval: time.Second, Version: "test"},
		Sampler: r.sampler, Topology: topo, Inspect: fakeInspector{}, Tuning: r.tuning, Settings: r.settings,
		Bench: Bench{Store: fakeStore{}, Workloads: bench.Workloads, Host: "web-07"},
		Exec: func(c *exec.Cmd, done func(error) tea.Msg) tea.Cmd {
			r.execs = append(r.execs, c)
			return func() tea.Msg { return done(nil) }
		},
	}
	for _, o := range options {
		o(&d)
	}
	r.m = New(d)
	r.m.View() // at 0×0, as Bubble Tea does
	r.send(tea.WindowSizeMsg{Width: w, Height: h})
	r.run(r.m.checkUndo())
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

func (fakeStore) Read() (bench.History, error) { return bench.History{}, nil }

// tick lets a second pass.
func (r *rig) tick() {
	r.last = model.Next(r.last, r.machine.Tick(), r.machine.Topology)
	_, cmd := r.m.Update(sampled{r.last})
	_ = cmd // waits for the next sample, which the test delivers itself
	r.m.View()
	if r.m.detail != nil {
		r.run(r.m.noteDetail())
	}
}

// send gives a message and runs what comes of it, but for waits.
func (r *rig) send(msg tea.Msg) {
	_, cmd := r.m.Update(msg)
	r.m.View()
	r.run(cmd)
}

// run runs a command and feeds what it says back. What it says only after some
// time waits for wait.
func (r *rig) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() { r.inbox <- cmd() }()
	r.settle()
}

// settle feeds messages back until nothing happens without time passing.
func (r *rig) settle() {
	for {
		synctest.Wait()
		select {
		case msg := <-r.inbox:
			r.take(msg)
		default:
			return
		}
	}
}

func (r *rig) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil, tea.SuspendMsg:
	case tea.QuitMsg:
		r.quit = true
	case tea.BatchMsg:
		for _, c := range msg {
			r.run(c)
		}
	default:
		r.send(msg)
	}
}

// wait lets time pass.
func (r *rig) wait(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		r.settle()
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
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome,
		"end": tea.KeyEnd, "tab": tea.KeyTab, "backspace": tea.KeyBackspace,
		"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5, "f6": tea.KeyF6,
		"f7": tea.KeyF7, "f8": tea.KeyF8, "f9": tea.KeyF9, "f10": tea.KeyF10}
	k := tea.KeyPressMsg{}
	rest := name
	for prefix, mod := range map[string]tea.KeyMod{"ctrl+": tea.ModCtrl, "alt+": tea.ModAlt, "shift+": tea.ModShift} {
		if strings.HasPrefix(rest, prefix) {
			k.Mod |= mod
			rest = strings.TrimPrefix(rest, prefix)
		}
	}
	switch {
	case codes[rest] != 0:
		k.Code = codes[rest]
	case rest == "space":
		k.Code, k.Text = ' ', " "
	default:
		k.Code = []rune(rest)[0]
		if k.Mod == 0 {
			k.Text = rest
		}
	}
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
	row, ok := r.m.table.Selected()
	require.True(r.t, ok)
	return row.Task().TID
}

func (r *rig) column(id string) *field.Column {
	c, ok := field.Lookup(id)
	require.True(r.t, ok)
	return c
}
