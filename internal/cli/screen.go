package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"piton/internal/action"
	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/change/guard"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/paper"
	"piton/internal/partition"
	"piton/internal/place"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/tui"
	"piton/internal/tui/config"
	"piton/internal/tui/detail"
	"piton/internal/tui/meters"
	"piton/internal/tui/screen"
	"piton/internal/tui/theme"
)

// runScreen opens the full-screen tuner.
func runScreen(ctx context.Context, a *app, o *rootOptions) error {
	in, out, err := a.terminal()
	if err != nil {
		return err
	}
	options, settings, err := a.screenOptions(&o.monitor)
	if err != nil {
		return err
	}
	s, err := sample.New(sample.Options{Root: a.hostRoot, Interval: options.Interval, EBPF: a.ebpf(sample.EBPFLater)})
	if err != nil {
		return err
	}
	deps, err := a.screenDeps(options, settings, s)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	err = a.show(ctx, deps, screen.Options{Input: in, Output: out, Env: a.Env, Profile: options.Theme.Depth})
	cancel()
	return errors.Join(err, <-ended, s.Close())
}

// show runs the screen; a signal that ended it is the run's end.
func (a *app) show(ctx context.Context, deps tui.Deps, o screen.Options) error {
	err := tui.Run(ctx, deps, o)
	var by screen.Signalled
	if errors.As(err, &by) {
		a.signal = by.Signal
		return nil
	}
	return err
}

// terminal returns the run's terminal, or says what to do without one.
func (a *app) terminal() (in, out *os.File, err error) {
	const instead = "; piton --headless works without one"
	in, inOK := a.In.(*os.File)
	out, outOK := a.Out.(*os.File)
	switch name := a.getenv("TERM"); {
	case !inOK || !outOK || !isTerminal(in) || !isTerminal(out):
		return nil, nil, errors.New("the screen needs a terminal on stdin and stdout" + instead)
	case name == "" || name == "dumb":
		return nil, nil, errors.New("the screen needs a terminal that can place its cursor, and TERM is " + dash(name) + instead)
	}
	return in, out, nil
}

// screenOptions joins flags and saved settings; flags win.
func (a *app) screenOptions(m *monitorOptions) (tui.Options, tui.Settings, error) {
	o := tui.Options{
		Theme:    theme.Detect(theme.Wish{NoColor: a.noColor, ASCII: a.ascii}, a.Out, a.Env),
		Interval: m.interval.d, ReadOnly: !a.live() || a.readonly, Version: version(), PID: os.Getpid(),
		Columns: m.columns, Sort: m.sort, Filter: m.filter, Threads: m.threads,
	}
	if err := m.checkView(); err != nil {
		return o, nil, err
	}
	path := config.Path(a.getenv)
	if path == "" {
		return o, nil, nil
	}
	file, saved, notes, err := config.Open(path)
	for _, problem := range tui.CheckKeys(saved.Keys) {
		notes = append(notes, path+": "+problem)
	}
	for _, note := range notes {
		a.warn("%s", note)
	}
	if err != nil {
		a.warn("%v", err)
		return o, nil, nil
	}
	if len(o.Columns) == 0 {
		o.Columns = saved.Columns
	}
	if o.Sort == "" {
		o.Sort = saved.Sort
	}
	if !m.interval.given && saved.Interval >= m.interval.min && saved.Interval <= m.interval.max {
		o.Interval = saved.Interval
	}
	o.Panel, o.Meters, o.Keys = saved.Panel, saved.Meters, saved.Keys
	o.Theme.Name, o.Theme.Colors = saved.Theme.Name, saved.Theme.Colors
	return o, file, nil
}

func (a *app) screenDeps(o tui.Options, settings tui.Settings, s *sample.Sampler) (tui.Deps, error) {
	topo, err := a.topology()
	if err != nil {
		return tui.Deps{}, err
	}
	journal, journalErr := a.journal()
	t := a.tunerWith(journal)
	var tuning tui.Tuning = tui.Tuner{Tuner: t}
	if a.readonly {
		journalErr = errReadOnly
	}
	if journalErr != nil {
		tuning = unable{tuning, journalErr}
	}
	runner, err := a.benchRunner(false)
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
		Options: o, Sampler: s, Topology: topo, Settings: settings, Live: meters.NewReader(a.hostRoot),
		Inspect: detail.Inspector{FS: procfs.New(a.hostRoot), Cpusets: t}, Tuning: tuning,
		IRQs:  tui.IRQs{Read: irq.NewMonitor(a.hostRoot).Table, Movable: irq.New(a.hostRoot).Movable, NICs: irq.New(a.hostRoot).NICs},
		Bench: tui.Bench{Runner: runner, Workloads: bench.Workloads, Host: host, RealTime: caps.Has(kernel.CapSysNice)},
	}
	if sudo != "" && a.live() && !a.readonly {
		d.Elevate = a.elevate(sudo, self)
	}
	if a.live() {
		d.Guards = func() []change.GuardState {
			armed, _ := a.guards().List() // piton keep reports the error
			return armed
		}
		_, haveTuna := a.tunaRunner(runner)
		d.Bench.Papers, d.Bench.Machine = screenPapers{a: a}, paper.NewMachine(topo, haveTuna)
	}
	if caps.Has(kernel.CapSysNice) && !o.ReadOnly {
		d.Priority = guard.Self{}
	}
	if journal != nil {
		d.Journal = journal
	}
	if !o.ReadOnly && journalErr == nil {
		d.Partition = partition.Machine{Tuner: t}
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
func (u unable) Plan(context.Context, *model.Model, []change.Target, action.Tuning) (change.Plan, []place.Choice, error) {
	return change.Plan{}, nil, u.err
}

// PlanRequests fails.
func (u unable) PlanRequests(context.Context, []change.Request) (change.Plan, error) {
	return change.Plan{}, u.err
}

// PlanUndo fails.
func (u unable) PlanUndo(context.Context, change.UndoRequest) (change.Plan, error) {
	return change.Plan{}, u.err
}
