package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/change"
	"piton/internal/change/guard"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cli/app"
	"piton/internal/cli/benchcmd"
	"piton/internal/cli/config"
	"piton/internal/cli/output"
	"piton/internal/cli/watchcmd"
	"piton/internal/crash"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/paper"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/tui"
	"piton/internal/tui/detail"
	"piton/internal/tui/irqview"
	"piton/internal/tui/journalview"
	"piton/internal/tui/meters"
	"piton/internal/tui/screen"
	"piton/internal/tui/theme"
	"piton/internal/tui/whyview"
	"piton/internal/watch"
	"piton/internal/why/session"
	"piton/workloads"
)

// runScreen opens the full-screen tuner.
func runScreen(ctx context.Context, a *app.App, o *rootOptions) error {
	in, out, err := terminal(a)
	if err != nil {
		return err
	}
	options, settings, err := screenOptions(a, &o.monitor)
	if err != nil {
		return err
	}
	s, err := sample.New(sample.Options{Root: a.HostRoot, Interval: options.Interval, EBPF: a.EBPF(sample.EBPFLater)})
	if err != nil {
		return err
	}
	deps, err := screenDeps(a, options, settings, s)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	defer a.StayLight()()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { defer crash.Handle(); ended <- s.Run(ctx) }()
	err = show(ctx, a, deps, screen.Options{Input: in, Output: out, Env: a.Env, Profile: options.Theme.Depth})
	cancel()
	return errors.Join(err, <-ended, s.Close())
}

// show runs the screen; a signal that ended it is the run's end.
func show(ctx context.Context, a *app.App, deps tui.Deps, o screen.Options) error {
	err := tui.Run(ctx, deps, o)
	if by, ok := errors.AsType[screen.Signalled](err); ok {
		a.Signal = by.Signal
		return nil
	}
	return err
}

// terminal returns the run's terminal, or says what to do without one.
func terminal(a *app.App) (in, out *os.File, err error) {
	const instead = "; piton --headless works without one"
	in, inOK := a.In.(*os.File)
	out, outOK := a.Out.(*os.File)
	switch name := a.Getenv("TERM"); {
	case !inOK || !outOK || !app.IsTerminal(in) || !app.IsTerminal(out):
		return nil, nil, errors.New("the screen needs a terminal on stdin and stdout" + instead)
	case name == "" || name == "dumb":
		return nil, nil, errors.New("the screen needs a terminal that can place its cursor, and TERM is " + output.Dash(name) + instead)
	}
	return in, out, nil
}

// screenOptions joins flags and saved settings; flags win.
func screenOptions(a *app.App, m *watchcmd.Monitor) (tui.Options, tui.Settings, error) {
	o := tui.Options{
		Saved: tui.Saved{Theme: theme.Detect(theme.Wish{NoColor: a.NoColor, ASCII: a.ASCII}, a.Out, a.Env),
			Interval: m.Interval.Duration, Columns: m.Columns, Sort: m.Sort},
		ReadOnly: !a.Live() || a.ReadOnly, Version: app.Version(), PID: os.Getpid(), Filter: m.Filter, Threads: m.Threads,
	}
	if err := m.Check(); err != nil {
		return o, nil, err
	}
	path := a.ConfigFile("config.toml")
	if path == "" {
		return o, nil, nil
	}
	file, saved, notes, err := config.Open(path)
	for _, problem := range tui.CheckKeys(saved.Keys, saved.Layouts) {
		notes = append(notes, path+": "+problem)
	}
	for _, note := range notes {
		a.Warn("%s", note)
	}
	if err != nil {
		a.Warn("%v", err)
		return o, nil, nil
	}
	if len(o.Columns) == 0 {
		o.Columns = saved.Columns
	}
	if o.Sort == "" {
		o.Sort = saved.Sort
	}
	if !m.Interval.Given && saved.Interval >= m.Interval.Min && saved.Interval <= m.Interval.Max {
		o.Interval = saved.Interval
	}
	o.Panel, o.Meters, o.Keys, o.Layouts = saved.Panel, saved.Meters, saved.Keys, saved.Layouts
	o.Theme.Name, o.Theme.Colors = saved.Theme.Name, saved.Theme.Colors
	return o, file, nil
}

func screenDeps(a *app.App, o tui.Options, settings tui.Settings, s *sample.Sampler) (tui.Deps, error) {
	topo, err := a.Topology()
	if err != nil {
		return tui.Deps{}, err
	}
	record, journalErr := a.Journal()
	if journal.Unwritable(journalErr) { // it can be read, and what it has be undone
		record, journalErr = a.JournalToRead()
	}
	t := a.TunerWith(record)
	var tuning tui.Tuning = tui.Tuner{Deps: action.Deps{Tuner: t}}
	if a.ReadOnly {
		journalErr = app.ErrReadOnly
	}
	if journalErr != nil {
		tuning = unable{tuning, journalErr}
	}
	runner, err := benchcmd.Runner(a, false)
	if err != nil {
		return tui.Deps{}, err
	}
	host, _ := os.Hostname()
	caps, _ := kernel.UsableCapabilities() // none when unknown
	self, _ := os.Executable()
	sudo := "" // not offered where it could add nothing
	if !caps.Has(kernel.CapSysNice) {
		sudo, _ = exec.LookPath("sudo")
	}
	d := tui.Deps{
		Options: o, Sampler: s, Topology: topo, Settings: settings, Live: meters.NewReader(a.HostRoot),
		Inspect: detail.Inspector{FS: procfs.New(a.HostRoot), Tuner: t}, Tuning: tuning,
		IRQs: tui.IRQs{Read: irq.NewMonitor(a.HostRoot).Table, Movable: irq.New(a.HostRoot).Movable, NICs: irq.New(a.HostRoot).NICs,
			Ways: func(t *irq.Table) irqview.WayOf { return irq.NewWays(irq.New(a.HostRoot), t).Of }},
		Bench: tui.Bench{Runner: runner, Workloads: workloads.All, Host: host, RealTime: caps.Has(kernel.CapSysNice)},
	}
	if sudo != "" && a.Live() && !a.ReadOnly {
		d.Elevate = elevate(a, sudo, self)
	}
	if a.Live() {
		d.Waits = func(t watch.Targets) (whyview.Session, error) { return session.Open(procfs.New(a.HostRoot), t) }
		d.Guards = func() []history.GuardState {
			armed, _ := a.Guards().List() // piton keep reports the error
			return armed
		}
		_, haveTuna := benchcmd.TunaRunner(a, runner)
		d.Bench.Papers, d.Bench.Machine = benchcmd.ScreenPapers{App: a}, paper.NewMachine(topo, haveTuna)
	}
	if caps.Has(kernel.CapSysNice) && !o.ReadOnly {
		d.Priority = guard.Self{}
	}
	if record != nil {
		d.Journal = record
	}
	if a.Live() {
		d.Watch = func() (journalview.Watcher, error) { return watch.OpenChanges(procfs.New(a.HostRoot), watch.Targets{}) }
	}
	if !a.Live() {
		d.Bench.Refused = "Benchmarks run on this machine only, not with --host-root."
	}
	if runner.Store != nil {
		d.Bench.Store = runner.Store
		d.Bench.Reports = filepath.Dir(runner.Store.Path())
	}
	return d, nil
}

// unable is Tuning that says why nothing can be changed.
type unable struct {
	tui.Tuning
	err error
}

// Plan fails.
func (u unable) Plan(context.Context, *model.Model, action.Request) (action.Proposal, error) {
	return action.Proposal{}, u.err
}

// Search fails.
func (u unable) Search(context.Context, *model.Model, []change.Target, func(auto.State)) (auto.State, error) {
	return auto.State{}, u.err
}

// PlanUndo fails.
func (u unable) PlanUndo(context.Context, change.UndoRequest) (change.Plan, error) {
	return change.Plan{}, u.err
}
