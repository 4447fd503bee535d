package watchcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/sample"
)

// Monitor are the flags of samples, with and without a screen.
type Monitor struct {
	count    flags.Count // ticks to print, 0 = until interrupted
	Interval flags.Interval
	Output   output.Format
	Columns  []string
	Sort     string
	Filter   string
	cpu      string
	Threads  bool
	PIDs     flags.PIDs
	recorded bool // the samples are of a record, not of this machine
}

// NewMonitor has the limits and defaults of the flags.
func NewMonitor() Monitor {
	return Monitor{
		count:    flags.Count{Min: 1, Max: 1 << 30},
		Interval: flags.Interval{Duration: time.Second, Min: 100 * time.Millisecond, Max: time.Minute},
	}
}

// AddFlags adds the flags.
func (o *Monitor) AddFlags(fs *pflag.FlagSet) {
	o.addCount(fs, "go on until ^C")
	fs.VarP(&o.Interval, "delay", "d", "time between samples, 100ms to 1m")
	o.addShown(fs)
	fs.BoolVar(&o.Threads, "threads", false, "show every thread")
	fs.Var(&o.PIDs, "pid", "only these processes or threads")
	flags.Headless.Add(fs, "count", "output", "pid")
	flags.Samples.Add(fs, "count", "columns", "sort", "filter", "cpu", "threads")
}

// AddReplayFlags adds those that a record can follow.
func (o *Monitor) AddReplayFlags(fs *pflag.FlagSet) {
	o.recorded = true
	o.addCount(fs, "to the end of the record")
	o.addShown(fs)
	fs.Var(&o.PIDs, "pid", "only these processes")
}

func (o *Monitor) addCount(fs *pflag.FlagSet, without string) {
	fs.VarP(&o.count, "count", "n", "end after so many samples (default: "+without+")")
}

func (o *Monitor) addShown(fs *pflag.FlagSet) {
	o.Output.AddFlag(fs, output.AsTable, output.AsJSON, output.AsCSV)
	fs.StringSliceVar(&o.Columns, "columns", nil, "`COLUMN,...` to show (see piton help columns)")
	fs.StringVar(&o.Sort, "sort", "", "`COLUMN` to sort by, -COLUMN for the other way round")
	fs.StringVar(&o.Filter, "filter", "", "show only what matches `EXPR`: words, and comparisons such as cpu>50 on=3 mig>10 user:root")
	fs.StringVar(&o.cpu, "cpu", "", "only what may run on one of these `CPUS`: 0-3, node:1, package:0, nohz_full")
	flags.Optional.Add(fs, "filter")
}

// view is what Monitor comes to.
type view struct {
	columns []*field.TaskColumn
	order   *field.TaskColumn // nil = by tid
	desc    bool
	filter  *field.Filter
	pids    flags.PIDs
	// atOnce is whether a single sample is asked for, and nothing of it that needs a
	// second one: scripts that only ask where tasks are need not wait.
	atOnce bool
}

// view checks the options. defaults are the columns and the order used when
// none are named.
func (o *Monitor) view(columns []string, order string) (view, error) {
	v := view{pids: o.PIDs}
	if len(o.Columns) > 0 {
		columns = o.Columns
	}
	var err error
	if v.columns, err = field.Select(columns); err != nil {
		return v, exit.Usagef("--columns: %w", err)
	}
	if o.Filter != "" {
		if v.filter, err = field.ParseFilter(o.Filter); err != nil {
			return v, exit.Usagef("--filter: %w", err)
		}
	}
	// The lines about CPUs of JSON always need a second sample.
	v.atOnce = o.count.N == 1 && o.Output.Value != output.AsJSON && !field.NeedTwo(v.columns, v.filter)
	switch {
	case o.Sort != "":
		order = o.Sort
	case v.atOnce:
		order = ""
	}
	if order != "" {
		if v.order, v.desc, err = field.ParseOrder(order); err != nil {
			return v, exit.Usagef("--sort: %w", err)
		}
		v.atOnce = v.atOnce && !field.NeedTwo([]*field.TaskColumn{v.order}, nil)
	}
	return v, nil
}

// Check checks the options, for the screen.
func (o *Monitor) Check() error {
	_, err := o.view(field.Process, "")
	return err
}

// needs is what a sample must hold to print the view.
func (v *view) needs(threads bool) sample.Needs {
	columns := v.columns
	if v.order != nil {
		columns = append(slices.Clip(columns), v.order)
	}
	n := field.Needs(columns, v.filter)
	n.Threads = threads
	n.Watch = v.pids
	n.EveryWait = n.EveryWait || n.Waits && len(v.pids) == 0 // every task is printed
	if len(v.pids) > 0 {
		return n
	}
	// Every task is printed, so every task's details are needed if any are.
	n.All = n.All || n.Affinity || n.Switches || n.Migrations || n.IOPrio || n.ThreadDelay || n.ThreadAttr ||
		n.Memory || n.IO || n.OOM || n.Wait
	n.Identity = n.Identity || n.CPUGroups || slices.ContainsFunc(columns, func(c *field.TaskColumn) bool { return c.ID == "command" || c.ID == "unit" })
	return n
}

// named reports whether --pid has the task's number, or its process's.
func (v *view) named(t *sample.Task) bool {
	return slices.Contains(v.pids, t.TID) || slices.Contains(v.pids, t.TGID)
}

// rows chooses and orders the tasks of a model.
func (v *view) rows(dst []int32, m *model.Model) []int32 {
	for _, i := range v.filter.Select(nil, m) {
		t := m.Sample.Tasks[i]
		if len(v.pids) == 0 || v.named(t) {
			dst = append(dst, i)
		}
	}
	if v.order != nil {
		field.Sort(dst, m, *v.order, v.desc)
	}
	return dst
}

// fewSamples is the number of samples up to which reading /proc is faster than loading eBPF
// programs, unless there are many tasks.
const fewSamples = 2

// ebpf is when the programs are loaded: for a few samples only where they are faster or the
// only source of a figure; else before the first one, so that all have the same source.
func (o *Monitor) ebpf(v *view, n sample.Needs) sample.EBPF {
	switch few := o.count.N > 0 && o.count.N <= fewSamples && !n.PingPongs; {
	case few && len(v.pids) > 0:
		return sample.EBPFNever
	case few:
		return sample.EBPFMany
	}
	return sample.EBPFNow
}

// printer writes one tick; the writer keeps its error.
type printer = func(w *bufio.Writer, n int, m *model.Model, rows []int32)

func (o *Monitor) printer(a *app.App) (printer, view, error) {
	columns := field.Process
	if o.Threads {
		columns = field.Thread
	}
	switch o.Output.Value {
	case output.AsJSON:
		v, err := o.view(field.JSON, "")
		return jsonLines(v.columns), v, err
	case output.AsCSV:
		v, err := o.view(field.JSON, "")
		return csvLines(v.columns), v, err
	}
	v, err := o.view(columns, "cpu_percent")
	return (&tablePrinter{columns: v.columns, ascii: a.ASCII}).tick, v, err
}

// missing says which numbers of --pid no task of the first sample has, nil for none.
func (o *Monitor) missing(a *app.App, tasks []*sample.Task) error {
	var gone, threads flags.PIDs
	for _, pid := range o.PIDs {
		switch {
		case slices.Contains(gone, pid), slices.Contains(threads, pid),
			slices.ContainsFunc(tasks, func(t *sample.Task) bool { return t.TID == pid || t.TGID == pid }):
		case !o.recorded && !o.Threads && a.MissingTasks([]change.Target{{TID: pid}}) == nil:
			threads = append(threads, pid)
		default:
			gone = append(gone, pid)
		}
	}
	var errs []error
	if len(gone) > 0 {
		errs = append(errs, o.noTask(a, gone))
	}
	if len(threads) > 0 {
		errs = append(errs, fmt.Errorf("%s is no process but a thread: --threads shows it", threads.String()))
	}
	return errors.Join(errs...)
}

func (o *Monitor) noTask(a *app.App, gone flags.PIDs) error {
	err := fmt.Errorf("there is no process or thread %s", gone.String())
	if o.recorded {
		return err
	}
	return a.Missing(err)
}

// Samples calls on with models until it wants no more.
type Samples func(ctx context.Context, needs sample.Needs, ebpf sample.EBPF, on app.OnSample) error

// RunMonitor prints samples of the machine until the count is reached or a signal comes.
func RunMonitor(ctx context.Context, a *app.App, o *Monitor) error {
	return o.Print(ctx, a, func(ctx context.Context, needs sample.Needs, ebpf sample.EBPF, on app.OnSample) error {
		return a.Sample(ctx, o.Interval.Duration, needs, ebpf, on)
	})
}

// Print prints samples.
func (o *Monitor) Print(ctx context.Context, a *app.App, samples Samples) error {
	print, v, err := o.printer(a)
	if err != nil {
		return err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	w := bufio.NewWriterSize(a.Out, 1<<16)
	n := 0
	needs := v.needs(o.Threads)
	var tick app.OnSample = func(m *model.Model) (more bool, err error) {
		// Not the rows: a filter says what is shown, not what there is.
		if len(v.pids) > 0 && !slices.ContainsFunc(m.Sample.Tasks, v.named) {
			if n == 0 {
				return false, o.noTask(a, v.pids)
			}
			return false, nil // they have all ended
		}
		n++
		rows := v.rows(nil, m)
		if why := v.filter.WhyNone(m); n == 1 && len(rows) == 0 && why != "" {
			a.Warn("%s", why)
		}
		print(w, n, m, rows)
		return n != o.count.N, w.Flush()
	}
	if !v.atOnce {
		tick = app.FromSecond(tick)
	}
	var some error // of --pid is there
	first := true
	err = samples(ctx, needs, o.ebpf(&v, needs), func(m *model.Model) (bool, error) {
		if first {
			first = false
			for _, fault := range m.Sample.Faults() {
				a.Warn("%s", fault)
			}
			if none := o.missing(a, m.Sample.Tasks); none != nil {
				if !slices.ContainsFunc(m.Sample.Tasks, v.named) {
					return false, none
				}
				a.Warn("%s", exit.Message(none))
				some = exit.With(exit.Some, nil)
			}
		}
		return tick(m)
	})
	return cmp.Or(err, some)
}

// LimitCPUs makes --cpu a term of the filter; cpus reads a flag's CPUs.
func (o *Monitor) LimitCPUs(cpus func(flag, expr string) (cpuset.Set, error)) error {
	if o.cpu == "" {
		return nil
	}
	set, err := cpus("--cpu", o.cpu)
	if err != nil {
		return err
	}
	o.Filter = strings.TrimSpace(o.Filter + " allowed~" + set.String())
	return nil
}
