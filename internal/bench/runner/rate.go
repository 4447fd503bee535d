package runner

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/bench"
	"piton/internal/bpf"
	"piton/internal/feature"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/userfile"
	"piton/internal/watch"
	"piton/workloads/workload"
)

// Rate is what processes are judged by: something of them that grows, and by how much a second, or
// a figure of a span of time.
type Rate struct {
	Name   string
	Help   string
	Unit   string
	Higher bool // is better
	OfFile bool // the figure is that of a file, whatever the process
	// OfSpan says that the figure is that of the time between two readings, as a percentile is. One
	// of less than Least is as good as Least.
	OfSpan bool
	Least  float64
	// Open begins to measure processes, which are judged together.
	Open func(p procfs.FS, of watch.Targets) (Meter, error)
}

// Of is the rate of what was Grown in some seconds.
func (r *Rate) Of(grown, seconds float64) float64 {
	if r.OfSpan {
		return grown
	}
	return grown / seconds
}

// Meter measures by how much its figure grows.
type Meter interface {
	// Grown is by how much the figure has grown since the call before; of one OfSpan, the figure of
	// that time.
	Grown() (float64, error)
	Close()
}

// rates are those of the kernel, for any process.
var rates = []Rate{
	{Name: "run-delay", Help: "run delay of its threads", Unit: "ms/s", Open: each(runDelayMs.meter)},
	{Name: "cpu", Help: "CPU time", Unit: "ms/s", Higher: true, Open: each(cpuMeter)},
	{Name: "migrations", Help: "migrations of its threads", Unit: "/s", Open: each(migrationsOf.meter)},
	{Name: "switches", Help: "voluntary context switches", Unit: "/s", Higher: true, Open: each(voluntary.meter)},
	{Name: "preemptions", Help: "involuntary context switches", Unit: "/s", Open: each(involuntary.meter)},
	{Name: "bytes", Help: "bytes read and written; where there is eBPF, those sent and received as well", Unit: "B/s", Higher: true, Open: each(bytesMeter)},
	{Name: "calls", Help: "system calls (eBPF)", Unit: "/s", Higher: true, Open: each(callsMeter)},
	{Name: "instructions", Help: "instructions (hardware counter)", Unit: "/s", Higher: true, Open: each(instructionsMeter)},
	{Name: "wait-p50", Help: "median wait of its threads for a CPU (eBPF)", Unit: "ms", OfSpan: true, Least: leastWaitMs, Open: waitQuantile(0.5)},
	{Name: "wait-p99", Help: "99th percentile of these waits (eBPF)", Unit: "ms", OfSpan: true, Least: leastWaitMs, Open: waitQuantile(0.99)},
	{Name: "wait-share", Help: "share of the time that its threads wait for a CPU", Unit: "%", OfSpan: true, Least: 0.01, Open: waitShare},
}

// RateHelp is one line a rate, for help texts.
func RateHelp() string {
	var b strings.Builder
	for _, r := range rates {
		fmt.Fprintf(&b, "  %-13s %s\n", r.Name, r.Help)
	}
	fmt.Fprintf(&b, "  %-13s file with a growing number\n", workload.CounterFile+"PATH")
	return b.String()
}

// RateWords are the names of the rates, for completion, that of a file last.
func RateWords() []string {
	return append(group.Each(rates, func(r Rate) string { return r.Name }), workload.CounterFile)
}

// FindRate finds a rate by what the user wrote; the error names all that there are.
func FindRate(name string) (Rate, error) {
	if path, ok := strings.CutPrefix(name, workload.CounterFile); ok && path != "" {
		return Rate{Name: name, Unit: "/s", Higher: true, OfFile: true, Open: func(procfs.FS, watch.Targets) (Meter, error) {
			return newGrowth(func() (float64, error) { return ReadNumber(path) }, nil)
		}}, nil
	}
	i := slices.IndexFunc(rates, func(r Rate) bool { return r.Name == name })
	if i < 0 {
		return Rate{}, fmt.Errorf("unknown rate %q; rates are %sPATH", name, strings.Join(RateWords(), ", "))
	}
	return rates[i], nil
}

// RateFigure is the figure of a study that compares a rate.
func RateFigure(name string) (bench.Figure, error) {
	r, err := FindRate(name)
	return bench.Figure{Pattern: r.Name, Unit: r.Unit, HigherIsBetter: r.Higher}, err
}

// SpanRate finds a rate that is a figure of a span of time.
func SpanRate(name string) (Rate, bool) {
	r, err := FindRate(name)
	return r, err == nil && r.OfSpan
}

// each has a Meter of each process, and adds them up.
func each(open func(procfs.FS, kernel.TID) (Meter, error)) func(procfs.FS, watch.Targets) (Meter, error) {
	return func(p procfs.FS, of watch.Targets) (Meter, error) {
		var all sum
		for _, pid := range of.IDs {
			m, err := open(p, pid)
			if err != nil {
				all.Close()
				return nil, err
			}
			all = append(all, m)
		}
		return all, nil
	}
}

// sum is several meters. One that cannot be read, because its process has ended say, is an error if
// no other can.
type sum []Meter

func (s sum) Grown() (total float64, failed error) {
	read := 0
	for _, m := range s {
		grown, err := m.Grown()
		if err != nil {
			failed = err
			continue
		}
		read++
		total += grown
	}
	if read > 0 {
		failed = nil
	}
	return total, failed
}

func (s sum) Close() {
	for _, m := range s {
		m.Close()
	}
}

type growth struct {
	read func() (float64, error)
	last float64
	end  func() // may be nil
}

func newGrowth(read func() (float64, error), end func()) (Meter, error) {
	v, err := read()
	return &growth{read, v, end}, err
}

func (g *growth) Grown() (float64, error) {
	v, err := g.read()
	grown := v - g.last
	g.last = v
	return grown, err
}

func (g *growth) Close() {
	if g.end != nil {
		g.end()
	}
}

// maxNumber is the most bytes of a counter file.
const maxNumber = 4096

// ReadNumber reads a counter file; one that is written anew in place is empty for a moment.
func ReadNumber(path string) (float64, error) {
	b, err := userfile.Read(path, maxNumber)
	for try := 0; try < 100 && err == nil && len(b) == 0; try++ {
		time.Sleep(5 * time.Millisecond)
		b, err = userfile.Read(path, maxNumber)
	}
	if err != nil {
		return 0, err
	}
	v, ok := bench.ParseNumber(string(bytes.TrimSpace(b)))
	if !ok {
		return 0, fmt.Errorf("%s is not a number: %.40q", path, b)
	}
	return v, nil
}

func cpuMeter(_ procfs.FS, pid kernel.TID) (Meter, error) {
	return newGrowth(func() (float64, error) {
		ns, err := kernel.ProcessTime(pid)
		return float64(ns) / float64(time.Millisecond), err
	}, nil)
}

func openWork(kind bpf.WorkKinds, pid kernel.TID, of func(*bpf.WorkSums) uint64) (Meter, error) {
	w, err := bpf.OpenWork(kind, pid)
	if err != nil {
		return nil, err
	}
	return newGrowth(func() (float64, error) {
		sums, err := w.Read()
		return float64(of(&sums)), err
	}, w.Close)
}

func callsMeter(_ procfs.FS, pid kernel.TID) (Meter, error) {
	return openWork(bpf.WorkCalls, pid, func(s *bpf.WorkSums) uint64 { return s.Calls })
}

func bytesMeter(p procfs.FS, pid kernel.TID) (Meter, error) {
	m, err := openWork(bpf.WorkBytes, pid, func(s *bpf.WorkSums) uint64 { return s.Bytes })
	if !errors.Is(err, feature.ErrNotSupported) {
		return m, err
	}
	return newGrowth(func() (float64, error) {
		b, err := p.File(fmt.Sprint(pid), "io")
		if err != nil {
			return 0, err
		}
		read, written, ok := procfs.ParseIO(b, procfs.CallBytes)
		if !ok {
			return 0, fmt.Errorf("the io file of %d is malformed", pid)
		}
		return float64(read + written), nil
	}, nil)
}

// threads is a Meter of a figure that each thread has. What one that ends had
// grown since the last call is lost, and one that is born begins at 0.
type threads struct {
	proc procfs.FS
	pid  kernel.TID
	of   threadFigure
	last map[kernel.TID]float64
	now  int // how many there are
}

type threadFigure func(p procfs.FS, pid, tid kernel.TID) (float64, error)

func newThreads(p procfs.FS, pid kernel.TID, of threadFigure) (*threads, error) {
	m := &threads{proc: p, pid: pid, of: of}
	_, err := m.Grown()
	return m, err
}

func (of threadFigure) meter(p procfs.FS, pid kernel.TID) (Meter, error) {
	return newThreads(p, pid, of)
}

func (m *threads) Grown() (float64, error) {
	tids, err := m.proc.Threads(m.pid)
	if err != nil {
		return 0, err
	}
	now, sum := make(map[kernel.TID]float64, len(tids)), 0.0
	for _, tid := range tids {
		v, failed := m.of(m.proc, m.pid, tid)
		if failed != nil {
			err = failed
			continue
		}
		now[tid] = v
		sum += v - min(m.last[tid], v)
	}
	m.last, m.now = now, len(tids)
	if len(now) == 0 {
		return 0, err
	}
	return sum, nil
}

func (*threads) Close() {}

var (
	runDelayMs   = figureOf(procfs.FS.Schedstat, func(s procfs.Schedstat) float64 { return float64(s.RunDelayNs) / float64(time.Millisecond) })
	migrationsOf = figureOf(procfs.FS.Sched, func(s procfs.Sched) float64 { return float64(s.Migrations) })
	voluntary    = figureOf(procfs.FS.ThreadStatus, func(s procfs.Status) float64 { return float64(s.VoluntarySwitches) })
	involuntary  = figureOf(procfs.FS.ThreadStatus, func(s procfs.Status) float64 { return float64(s.InvoluntarySwitches) })
)

// figureOf is one of those of a file that each thread has.
func figureOf[F any](read func(p procfs.FS, pid, tid kernel.TID) (F, error), of func(F) float64) threadFigure {
	return func(p procfs.FS, pid, tid kernel.TID) (float64, error) {
		file, err := read(p, pid, tid)
		return of(file), err
	}
}
