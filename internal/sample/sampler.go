package sample

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/users"
)

// Options is what a Sampler starts with.
type Options struct {
	Root     string        // "/" or "" for this machine, else the top of a host tree
	Interval time.Duration // between samples of Run; 1 s when 0
	Needs    Needs
	EBPF     EBPF
}

// refreshGap is the least time between two samples of Run, whatever Refresh asks.
const refreshGap = 50 * time.Millisecond

// Sampler reads samples. Run reads them at an interval and publishes them; Read
// reads one. SetNeeds, SetInterval and Refresh may be called from any goroutine
// at any time.
//
// A sample takes some milliseconds to read, and its tasks are all taken to have
// been read at its At: they are read in the same order each time, so what the
// rates of two samples are wrong by is the difference between two scans'
// durations, not a scan's duration.
type Sampler struct {
	needs    atomic.Pointer[wanted]
	interval atomic.Int64
	wake     chan struct{} // capacity 1: the interval changed, or refresh is set
	refresh  atomic.Bool
	out      chan *Sample

	loaded chan *programs // capacity 1

	mu          sync.Mutex // protects what follows: one reading at a time
	fs          procfs.FS
	r           *procfs.Reader
	started     time.Time
	due         time.Time // when the next reading of Run was planned, zero outside Run
	last        *Sample
	replaced    uint64
	ebpf        EBPF // EBPFNever also once loading has begun
	many        bool // tasks, before the first sample
	walkLoaded  bool // because there were many
	cpus        cpuTimes
	tasks       taskSource
	hidden      string // by /proc, in words
	tasksBetter string // what the rung above it needs
	details     details
	ladder      []migrationSource // best first
	better      string            // what the rung above the first of them needs
	trace       trace
	wakes       wakes
	flows       flows
	ledger      ledger
	groups      cpuGroups
	waits       taskWaits
	host        *hostFacts
}

// New opens the root's /proc; nothing is read yet.
func New(o Options) (*Sampler, error) {
	fs := procfs.New(o.Root)
	r, err := fs.NewReader()
	if err != nil {
		return nil, err
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	s := &Sampler{
		wake: make(chan struct{}, 1), out: make(chan *Sample, 1), loaded: make(chan *programs, 1),
		fs: fs, r: r, started: time.Now(), ebpf: o.EBPF,
		cpus: cpuTimes{fs: fs, r: r}, tasks: newProcWalk(fs, r), host: newHostFacts(fs, r),
		ladder: []migrationSource{newSampledMigrations()},
	}
	s.hidden = fs.Hides()
	_, err = fs.File("self", "sched")
	s.details = details{fs: fs, r: r, hasSched: err == nil || !fs.Live(), crews: crews{most: threadBudget},
		ids: identities{fs: fs, r: r, users: users.New(fs.Root())}}
	if fs.OwnNumbers() {
		s.details.kernel = kernel.System()
	}
	if fs.Live() {
		s.ladder = append([]migrationSource{newPerfMigrations(systemCounters)}, s.ladder...)
		s.better = waiting
		if o.EBPF == EBPFNever || o.EBPF == EBPFMany {
			s.better = unwanted
		}
		s.tasksBetter = s.better
		load, err := fs.LoadAvg()
		s.many = err == nil && load.Tasks > manyTasks
	} else {
		s.ebpf = EBPFNever
	}
	s.interval.Store(int64(o.Interval))
	s.SetNeeds(o.Needs)
	return s, nil
}

// SetNeeds says what samples from the next one on have to hold. The Watch slice
// is copied.
func (s *Sampler) SetNeeds(n Needs) { s.needs.Store(newWanted(n)) }

// SetInterval changes the time between the samples of Run, counted from the last one.
func (s *Sampler) SetInterval(d time.Duration) {
	s.interval.Store(int64(d))
	s.poke()
}

// Refresh makes Run read a sample now, or 50 ms after the last one.
func (s *Sampler) Refresh() {
	s.refresh.Store(true)
	s.poke()
}

func (s *Sampler) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Samples is where Run publishes. It holds the newest sample only: one that
// nobody took is replaced, so a slow reader misses samples and never delays
// them; what counts since the sample before has what was counted in those. It
// is closed when Run returns.
func (s *Sampler) Samples() <-chan *Sample { return s.out }

// Run reads a sample at once and then at the interval until ctx ends, and
// returns nil then. The error of a first sample that cannot be read ends it;
// later ones are only in Sample.Collectors. It runs once.
func (s *Sampler) Run(ctx context.Context) error {
	defer close(s.out)
	first, err := s.Read()
	if err != nil {
		return err
	}
	s.publish(first)
	defer s.loadLater(ctx)()
	began := first.Wall
	timer := time.NewTimer(s.until(began))
	defer timer.Stop()
	for {
		var took time.Duration
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
			s.refresh.Store(false)
			s.plan(began)
			next, err := s.Read()
			if next == nil { // closed too early
				return err
			}
			s.publish(next) // what failed is in its Collectors
			began, took = next.Wall, time.Since(next.Wall)
		}
		// It rests at least as long as it read: where reading takes longer than
		// the interval, piton must not be all that the CPU does.
		timer.Reset(max(s.until(began), took))
	}
}

// until is the time left until the sample after the one that began then.
func (s *Sampler) until(began time.Time) time.Duration {
	gap := time.Duration(s.interval.Load())
	if s.refresh.Load() {
		gap = min(gap, refreshGap)
	}
	return time.Until(began.Add(gap))
}

// plan notes when the coming reading should have begun.
func (s *Sampler) plan(began time.Time) {
	s.mu.Lock()
	s.due = began.Add(time.Duration(s.interval.Load()))
	s.mu.Unlock()
}

func (s *Sampler) publish(sample *Sample) {
	select {
	case s.out <- sample:
		return
	default:
	}
	select {
	case missed := <-s.out:
		sample.takeIn(missed)
		s.mu.Lock()
		s.replaced++
		s.mu.Unlock()
	default:
	}
	s.out <- sample // only Run sends, so there is room
}

// Read reads one sample. What could not be read is missing from it and said in
// Collectors; it is an error only when the tasks could not be listed.
func (s *Sampler) Read() (*Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return nil, errors.New("the sampler is closed")
	}
	s.load()
	select {
	case p := <-s.loaded:
		s.adopt(p)
	default:
	}
	now := time.Now() // loading is no part of an interval: on a busy machine it takes as long as one
	n := &Sample{Seq: 1, Wall: now, At: now.Sub(s.started), Replaced: s.replaced, Late: s.late(now)}
	w := walk{needs: s.needs.Load(), at: n.At, renewed: s.details.renewed}
	if s.last != nil {
		n.Seq, w.before = s.last.Seq+1, s.last.Tasks
	}
	w.seq, w.returns = n.Seq, s.ladder[0].source() == SourceBPF
	w.tasks = make([]*Task, 0, len(w.before)+len(w.before)/16+64)

	s.collect(n, "cpus", "", func() error { return s.cpus.read(n) })
	n.Collectors[0].Rung = s.cpus.rows.rung()
	w.forks = n.Host.Forks
	err := s.collect(n, "tasks", "", func() error { return s.walkTasks(&w) })
	tasks := &n.Collectors[len(n.Collectors)-1]
	tasks.Rung, tasks.Better = s.tasks.rung(), s.tasksBetter
	if err == nil {
		tasks.Err = oddTasks(w.tasks)
	}
	if _, ok := s.tasks.(*procWalk); ok {
		n.Hidden = s.hidden
	}
	n.Tasks = w.tasks
	pressure(n.CPUs, &w)
	s.collect(n, "details", "", func() error { s.details.fill(&w, w.before); return nil })
	s.countMigrations(n, w.before)
	s.onDemand(n, w.needs)
	s.collect(n, "host", "", func() error { return s.host.read(n, w.needs) })
	s.last = n
	if err != nil {
		return n, fmt.Errorf("read the tasks: %w", err)
	}
	return n, nil
}

func (s *Sampler) late(now time.Time) time.Duration {
	if s.due.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.due))
}

// collect runs one collector and keeps what it cost and what became of it.
func (s *Sampler) collect(n *Sample, name, rung string, read func() error) error {
	began := time.Now()
	err := read()
	n.Collectors = append(n.Collectors, Collector{Name: name, Took: time.Since(began), Err: err, Rung: rung})
	return err
}

// countMigrations asks the highest rung of the ladder that is left, and drops
// those that fail. The counts of the next rung start anew. The last, sampling,
// cannot fail.
func (s *Sampler) countMigrations(n *Sample, before []*Task) {
	for {
		rung := s.ladder[0]
		err := s.collect(n, "migrations", rung.source().String(), func() error {
			return rung.count(n, before)
		})
		if err == nil || len(s.ladder) == 1 {
			n.Migrations = rung.source()
			n.Collectors[len(n.Collectors)-1].Better = s.better
			return
		}
		for i := range n.CPUs {
			c := &n.CPUs[i]
			c.MigrationsIn, c.MigrationsOut, c.HaveIn, c.HaveOut = 0, 0, false, false
		}
		rung.close()
		s.better = rung.refusal(err).Error()
		s.ladder = s.ladder[1:]
		n.Collectors = n.Collectors[:len(n.Collectors)-1]
	}
}

// Close gives back the descriptors that the sampler keeps. Run must have returned.
func (s *Sampler) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return nil
	}
	s.closePrograms()
	s.tasks.close()
	for _, rung := range s.ladder {
		rung.close()
	}
	err := s.r.Close()
	s.r = nil
	return err
}
