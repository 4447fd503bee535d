// Package demo is a made-up busy machine of 2 to 512 CPUs for piton demo and for the
// README's pictures: nodes, caches, interrupts, processes of several users, hostile
// names. Its samples are made tick by tick from a seed. What is changed on it goes
// through the real change path (plan, journal, guard, read-back) on the fake kernel of
// internal/kernel/kernelfake; nothing of the real machine is read or changed, but for a
// directory of a few small files below the system's temporary one.
//
// Start at New and Machine.Deps; Machine.Tick makes a sample.
package demo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/topology"
)

// The number of CPUs that a machine may have.
const (
	LeastCPUs, MostCPUs = 2, 512
	UsualCPUs           = 16
)

// Host is the machine's name.
const Host = "demo"

// Machine is the made-up machine. Its methods may be called from several goroutines.
type Machine struct {
	Topology *topology.Topology

	fake    *kernelfake.Fake
	files   *kernelfake.Files
	proc    kernelfake.Proc
	closed  chan struct{}
	tuner   *change.Tuner
	guards  *guards
	journal *journal.Journal

	mu      sync.Mutex
	rng     *rand.Rand
	count   *kernelfake.Counters
	running bool    // the first tasks are there
	kept    float64 // share of a CPU that real-time tasks leave to ordinary ones
	changes int     // of the fake that tasks have taken over

	tasks    []*task // every thread, in rising order of TID
	byTID    map[kernel.TID]*task
	active   []*task // those that use a CPU
	idlers   []*task // kernel threads that run now and then
	jobs     []*job
	pid      kernel.TID // the last one given
	forks    uint64
	cpus     []cpu
	lines    []*line
	woken    kernel.TID // whose wakeups the next sample has
	received kernel.TID // whose flows it has

	waits []*waits // that are added up

	irqLast, irqBefore *irq.Snapshot
	studies            []bench.Results
}

// cpu is one CPU: its counters, and what became of the present tick.
type cpu struct {
	*sample.CPU
	spent                 [kinds]float64 // ns since the first sample, by kind
	irq, soft, steal, cap float64        // shares of this tick; cap is what tasks can have
	demand                float64        // of the tasks, in CPUs; as of the last tick while one is being made
	queue                 []queued
}

// The kinds of a CPU's time.
const (
	user = iota
	niced
	system
	idle
	waiting
	hard
	soft
	stolen
	kinds
)

// queued is a task's part of one CPU in a tick.
type queued struct {
	*task
	want, got float64
}

// New makes a machine. The same seed makes the same samples, as long as the same is
// changed. Close removes its files.
func New(cpus int, seed uint64) (*Machine, error) {
	if err := Check(cpus); err != nil {
		return nil, err
	}
	m := &Machine{
		Topology: newTopology(cpus), fake: kernelfake.New(nil), files: kernelfake.NewFiles(),
		rng: rand.New(rand.NewPCG(seed, uint64(cpus))), byTID: map[kernel.TID]*task{}, cpus: make([]cpu, cpus),
		count: &kernelfake.Counters{Source: sample.SourceBPF, Began: time.Now(), CPUs: make([]sample.CPU, cpus)}, closed: make(chan struct{}),
	}
	for id := range m.cpus {
		m.cpus[id].CPU = &m.count.CPUs[id]
		m.cpus[id].spent[idle] = float64(kernelfake.UpTime) // as if nothing had run before
	}
	m.fake.Signalled = m.signalled
	m.files.Store = m.store
	m.addLines()
	m.cast()
	m.running = true
	if err := m.makeRoot(); err != nil {
		return nil, err
	}
	limits, err := procfs.ReadThrottling(m.proc)
	if err != nil {
		return nil, err
	}
	m.kept = limits.Left()
	m.tuner = m.newTuner()
	m.studies = m.pastStudies()
	return m, nil
}

// Check says in one sentence what is wrong with a number of CPUs.
func Check(cpus int) error {
	if cpus < LeastCPUs || cpus > MostCPUs {
		return fmt.Errorf("the made-up machine has %d to %d CPUs, not %d", LeastCPUs, MostCPUs, cpus)
	}
	return nil
}

// Close ends the studies that run and removes the machine's files. It is called once.
func (m *Machine) Close() error {
	close(m.closed)
	return os.RemoveAll(m.proc.Dir)
}

// uptime is the time since the machine's boot.
func (m *Machine) uptime() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count.Up()
}

// all is every CPU of the machine.
func (m *Machine) all() cpuset.Set { return m.Topology.Online }

// insert adds a task that is complete, and makes it known to the fake kernel.
func (m *Machine) insert(t *task) {
	at, _ := slices.BinarySearchFunc(m.tasks, t.TID, func(t *task, tid kernel.TID) int { return int(t.TID - tid) })
	m.tasks = slices.Insert(m.tasks, at, t)
	m.byTID[t.TID] = t
	if t.want > 0 {
		m.active = append(m.active, t)
	}
	m.fake.Create(t.TID, kernelfake.Task{TGID: t.TGID, Start: t.StartTicks, Affinity: t.Affinity, Cpuset: t.limit,
		Attr: kernel.SchedAttr{Policy: t.Policy, Nice: int(t.Nice), RTPrio: int(t.RTPrio),
			RuntimeNs: t.budget[0], DeadlineNs: t.budget[1], PeriodNs: t.budget[1]}, IOPrio: t.IOPrio})
}

// end ends a process with all of its threads.
func (m *Machine) end(leader *task) {
	gone := func(t *task) bool { return t.leader == leader }
	m.tasks = slices.DeleteFunc(m.tasks, gone)
	m.active = slices.DeleteFunc(m.active, gone)
	for _, t := range leader.threads {
		delete(m.byTID, t.TID)
		m.fake.Kill(t.TID)
	}
	for _, t := range m.tasks {
		if t.PPID == leader.TID { // its children are init's now
			t.PPID, t.changed = 1, true
		}
	}
}

// signalled is what signals do: those that end a program do so, the others nothing.
func (m *Machine) signalled(pid kernel.TID, sig syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.byTID[pid]
	switch sig {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT:
		if t != nil && pid != 1 && t.Flags&sample.FlagKernelThread == 0 {
			m.end(t)
		}
	case syscall.SIGSTOP, syscall.SIGCONT:
		if t != nil {
			for _, t := range t.threads {
				t.stopped, t.changed = sig == syscall.SIGSTOP, true
			}
		}
	}
}
