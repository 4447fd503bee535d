package watchcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"piton/internal/bpf"
	"piton/internal/bpf/object"
	"piton/internal/bpf/waits"
	"piton/internal/change"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// doctor examines one feature after the other.
type doctor struct {
	app      *app.App
	findings []finding
	rights   rights

	sample  *sample.Sample
	runs    map[string]bpf.Program // by name, of the programs that ran for the sample
	window  time.Duration
	stats   bool // runs is known
	foreign []bpf.Program
	listErr error
}

// doctorWindow is how long figures are collected for their cost.
const doctorWindow = 400 * time.Millisecond

func (d *doctor) examine(ctx context.Context) error {
	d.foreign, d.listErr = bpf.Loaded()
	if err := d.collect(ctx); err != nil {
		return err
	}
	for _, examine := range []func() finding{
		d.tasks, d.migrations, d.taskMigrations, d.moves, d.runDelay, d.load, d.ledger,
		d.shown("wakes", "which thread wakes which (piton watch --wakes)", "sched_waking"),
		d.shown("waits", "causes of waiting (piton why)", "sched_switch, sched_migrate_task, irq and softirq"),
		d.shown("changes", "who changes what (piton watch --changes)", "system calls"),
		d.shown("flows", "CPUs that handle and read packets (piton irq follow)", "reads of sockets"),
		d.probed("sched-ext", "placement aggregate (sched_ext)", "a scheduler by sched_ext, in force while a benchmark asks for it", "nothing now",
			finding{state: stateFallback, source: "long slices of threads"}),
		d.probed("counters", "hardware counters", "PMU, by perf_event_open", "", finding{}),
		d.probed("tune-others", "affinity, nice, real time of others", "CAP_SYS_NICE", "", finding{source: "own tasks only"}),
		d.realTime, d.ordinary, d.groupWeight,
		d.probed("slice", "slices of ordinary tasks", "EEVDF, by sched_setattr", "", finding{}),
		d.probed("uclamp", "utilisation clamps", "sched_setattr", "", finding{}),
		d.probed("core-sched", "core scheduling (piton cookie)", "PR_SCHED_CORE", "", finding{}),
		d.probed("policy-ext", "policy EXT", schedulerSource(), "", finding{}),
		d.probed("numa", "memory of NUMA nodes (--mem)", memorySource(), "", finding{}),
		d.probed("read-others", "programs of others", "/proc/PID/exe", "", finding{source: "own processes only"}),
		d.journal, d.guard, d.namespace, d.programs,
	} {
		d.findings = append(d.findings, examine())
	}
	d.rights.complete()
	for i := range d.findings {
		f := &d.findings[i]
		if f.command == commandSetcap {
			f.command = d.rights.command()
		}
	}
	return nil
}

// probed examines a feature that is there or not; without it the figures have the source, cost
// and state of otherwise, which is missing where it says nothing.
func (d *doctor) probed(id, title, source, cost string, otherwise finding) func() finding {
	return d.probedAs(id, finding{id: id, title: title, source: source, cost: cost}, otherwise)
}

func (d *doctor) probedAs(feature string, f, otherwise finding) func() finding {
	return func() finding {
		f.state = stateBest
		if err := Probe(feature); err != nil {
			f.source, f.cost = otherwise.source, otherwise.cost
			d.worse(&f, cmp.Or(otherwise.state, stateMissing), err)
		}
		return f
	}
}

// shown examines a source of eBPF that is attached only while it is shown.
func (d *doctor) shown(id, title, hook string) func() finding {
	f := finding{id: id, title: title, source: "eBPF on " + hook + ", attached while a view shows it", cost: "nothing now"}
	return d.probedAs("ebpf-"+id, f, finding{})
}

// collect takes two samples with everything on; the second costs what every later one does.
func (d *doctor) collect(ctx context.Context) (err error) {
	s, err := sample.New(sample.Options{
		EBPF:  sample.EBPFNow,
		Needs: sample.Needs{Migrations: true, Delay: true, Ledger: true},
	})
	if err != nil {
		return fmt.Errorf("look at the tasks: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Read(); err != nil {
		return err
	}
	counting, err := bpf.CountRuns()
	if err == nil {
		defer counting.Close()
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(doctorWindow):
	}
	d.countRuns(err == nil, began)
	d.sample, err = s.Read()
	return err
}

// countRuns notes what our programs cost since the statistics were switched on.
func (d *doctor) countRuns(counted bool, began time.Time) {
	if !counted || d.listErr != nil {
		return
	}
	old := map[uint32]bool{}
	for _, p := range d.foreign {
		old[p.ID] = true
	}
	all, err := bpf.Loaded()
	if err != nil {
		return
	}
	d.stats, d.window, d.runs = true, time.Since(began), map[string]bpf.Program{}
	for _, p := range all {
		if !old[p.ID] {
			d.runs[p.Name] = p
		}
	}
}

// share is the part of one core that programs with the prefix took.
func (d *doctor) share(prefix string) (share float64, perRun time.Duration, runs uint64) {
	var took time.Duration
	for name, p := range d.runs {
		if strings.HasPrefix(name, prefix) {
			took += p.Took
			runs += p.Runs
		}
	}
	if runs == 0 || d.window <= 0 {
		return 0, 0, 0
	}
	return took.Seconds() / d.window.Seconds(), took / time.Duration(runs), runs
}

// inKernel says what programs cost now.
func (d *doctor) inKernel(f *finding, prefix, event string) {
	if !d.stats {
		return
	}
	share, perRun, runs := d.share(prefix)
	if runs == 0 {
		return
	}
	f.share = share
	f.cost = joinCost(f.cost, fmt.Sprintf("%s of a core now: %d ns for each of %.0f %s a second",
		chart.Percent(share), perRun.Nanoseconds(), float64(runs)/d.window.Seconds(), event))
}

func joinCost(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// collector returns what a collector of the sample did.
func (d *doctor) collector(name string) sample.Collector {
	for _, c := range d.sample.Collectors {
		if c.Name == name {
			return c
		}
	}
	return sample.Collector{Name: name, Err: errors.New("it did not run")}
}

// figure begins the finding of a collector's figures.
func (d *doctor) figure(id, title, collector, each string) finding {
	c := d.collector(collector)
	f := finding{id: id, title: title, state: stateBest, source: c.Rung, took: c.Took,
		cost: fmt.Sprintf("%s %s", milliseconds(c.Took), each)}
	if c.Err != nil {
		f.state, f.reason = stateMissing, c.Err.Error()
	}
	return f
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

// worse marks a finding as less than best, by the error of the better source.
func (d *doctor) worse(f *finding, state string, err error) {
	if err == nil {
		return
	}
	f.state, f.reason = state, err.Error()
	var refusal *object.Refusal
	var missing *feature.Missing
	switch { // their texts begin with the title
	case errors.As(err, &refusal):
		f.reason = "eBPF: " + refusal.Why
	case errors.As(err, &missing):
		f.reason = "needs " + missing.Needs
	default:
		f.state = stateUnknown
		return
	}
	f.command = d.rights.remedy(err)
}

// Probe asks for a feature by its name.
func Probe(id string) error {
	for _, list := range [][]*feature.Feature{bpf.Features, {waits.Feature}, feature.All()} {
		for _, f := range list {
			if f.ID == id {
				return f.Probe()
			}
		}
	}
	return fmt.Errorf("there is no feature %q", id)
}

// tryRealTime makes a thread of piton FIFO, which ends as such.
func tryRealTime() error {
	outcome := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		outcome <- kernel.System().SetPolicy(0, kernel.FIFO, 1, false)
	}()
	return <-outcome
}

// realTimeRefused explains a refusal of real time.
func (d *doctor) realTimeRefused(f *finding, err error) {
	f.state, f.reason = stateMissing, err.Error()
	if !errors.Is(err, syscall.EPERM) {
		f.state = stateUnknown
		return
	}
	if !d.rights.has(kernel.CapSysNice) {
		d.worse(f, stateMissing, &feature.Missing{Feature: f.title, Needs: "CAP_SYS_NICE", Err: err})
		return
	}
	why, command := change.New(change.Options{}).WhyNoRealTime(kernel.TID(os.Getpid()))
	if why != "" {
		f.reason = strings.Replace(why, "its ", "piton's ", 1)
	}
	f.command = command
}
