// Package waits sees, through eBPF programs, what watched tasks wait for: it splits each wait for
// a CPU by what the CPU did meanwhile (package why has the causes). The parts sum to what the
// kernel counts as the tasks' run delay. Start at Open.
package waits

import (
	_ "embed" // the object
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/why"
)

//go:embed waits_bpfel.o
var compiled []byte

const what = "causes of waiting"

// Targets are the tasks to watch.
type Targets struct {
	Threads   []kernel.TID
	Processes []kernel.TID // with the threads that they start later
	Groups    []string     // control groups, with those below; paths from the root of the hierarchy
	Children  bool         // and all that these start later
}

// Watcher watches tasks until Close. It costs some 100 ns for each context switch of the machine.
// Safe for concurrent use.
type Watcher struct {
	object.Object
	groups  *object.Groups
	seeds   *link.Iter
	limited bool // wakeups are hooked
	window  uint32
	since   time.Duration // CLOCK_MONOTONIC
	cpus    []cpuHead     // at the last Read
	open    openWaits     // at the last Read
	keys    []rowKey
	rows    []rowValue

	unlistedNs uint64        // at the last Read
	walked     time.Duration // CPU time since Open
	told       time.Duration // and of it at the last Read

	once          sync.Once
	stop, stopped chan struct{}
}

// Open begins to watch. An error that Is feature.ErrNotSupported says what is missing.
func Open(targets Targets) (*Watcher, error) {
	w := &Watcher{keys: make([]rowKey, object.DrainChunk), rows: make([]rowValue, object.DrainChunk)}
	s := object.Subject{What: what, Compiled: compiled, Programs: []string{"waits_irq_done", "waits_irq", "waits_soft_done",
		"waits_softirq", "waits_move", "waits_switch", "waits_fork"}}
	err := w.Object.Open(s, func() error { return w.prepare(targets) })
	if err == nil { // after the programs are hooked, so that no wait is missed
		err = w.Use(w.seed)
	}
	if err == nil {
		_, err = w.Read()
	}
	if err != nil {
		w.Object.Close()
		return nil, explain(err)
	}
	w.stop, w.stopped = make(chan struct{}), make(chan struct{})
	go w.keepUp()
	return w, nil
}

// explain says what is missing where the verifier does not: a kernel that does not tell programs
// the state that a task is switched out in.
func explain(err error) error {
	if errors.Is(err, feature.ErrNotSupported) || !object.ReleaseBefore(5, 18) {
		return err
	}
	return &object.Refusal{What: what, Why: "this kernel (" + object.Release() + ") is too old", Need: "Linux 5.18"}
}

// Close ends watching.
func (w *Watcher) Close() {
	w.once.Do(func() {
		close(w.stop)
		<-w.stopped
	})
	w.Object.Close()
}

// keepUp looks at the waits that go on, which may become longer than what programs remember of a
// CPU: 2,048 stays, some 100 ms of a busy one. It takes at most 1/300 of a CPU.
func (w *Watcher) keepUp() {
	defer close(w.stopped)
	const often = 50 * time.Millisecond
	for pause := often; ; {
		select {
		case <-w.stop:
			return
		case <-time.After(pause):
		}
		var took time.Duration
		_ = w.Use(func() error { // Read tells of an error
			before := w.walked
			err := w.settle()
			took = w.walked - before
			return err
		})
		pause = max(often, 300*took)
	}
}

func (w *Watcher) prepare(targets Targets) (err error) {
	if w.groups, err = object.FindGroups("cpu"); err != nil {
		return err
	}
	ids, err := w.targets(targets)
	if err != nil {
		return err
	}
	if most := w.Objects.Maps["targets"].MaxEntries(); len(ids) > int(most) {
		return fmt.Errorf("%d targets are more than the %d that can be watched; watch their control group instead", len(ids), most)
	}
	for _, id := range ids {
		if err := w.Objects.Maps["targets"].Put(id, uint8(1)); err != nil {
			return err
		}
	}
	w.cpus = make([]cpuHead, w.Objects.Maps["cpus"].MaxEntries())
	w.window = 1
	for name, value := range map[string]uint32{
		"cpu_count": uint32(len(w.cpus)), "groups": uint32(len(targets.Groups)), "follow": flag(targets.Children), "unified": flag(w.groups.Mount.Unified), "window": w.window,
	} {
		if err := w.Objects.Variables[name].Set(value); err != nil {
			return err
		}
	}
	w.seeds, err = link.AttachIter(link.IterOptions{Program: w.Objects.Programs["waits_settle"]})
	if err == nil {
		w.Links = append(w.Links, w.seeds)
	}
	return err
}

// seed lets the program find who is on the CPUs already.
func (w *Watcher) seed() error {
	const onCPU = 1 // BPF_F_TEST_RUN_ON_CPU
	for cpu := range w.cpus {
		_, err := w.Objects.Programs["waits_seed"].Run(&ebpf.RunOptions{Flags: onCPU, CPU: uint32(cpu)})
		if err != nil && !errors.Is(err, syscall.ENXIO) { // of one that is offline
			return err
		}
	}
	return nil
}

func flag(yes bool) uint32 {
	if yes {
		return 1
	}
	return 0
}

func (w *Watcher) targets(targets Targets) (ids []targetID, err error) {
	for _, tid := range targets.Threads {
		ids = append(ids, targetID{ID: uint64(tid), Kind: targetThread})
	}
	for _, tid := range targets.Processes {
		ids = append(ids, targetID{ID: uint64(tid), Kind: targetProcess})
	}
	for _, path := range targets.Groups {
		id, err := w.groups.Number(path)
		if err != nil {
			return nil, err
		}
		ids = append(ids, targetID{ID: id, Kind: targetGroup})
	}
	return ids, nil
}

// settle finds tasks to watch, and has the waits that go on accounted up to now.
func (w *Watcher) settle() error {
	if err := w.walk(); err != nil {
		return err
	}
	var limits uint32
	if err := w.Objects.Variables["have_limits"].Get(&limits); err != nil || limits == 0 || w.limited {
		return err
	}
	hooked, err := object.Attach(w.What, w.Objects, "waits_wakeup")
	w.Links, w.limited = append(w.Links, hooked...), err == nil
	return err
}

func (w *Watcher) walk() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := kernel.ThreadCPU()
	defer func() { w.walked += kernel.ThreadCPU() - before }()
	file, err := w.seeds.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(io.Discard, file)
	return err
}

// Read is what happened since the last Read, or Open. A wait that goes on is told as if it ended,
// and counts again, with the rest of it, in the next. Read takes some milliseconds and sleeps.
func (w *Watcher) Read() (o why.Observation, err error) {
	err = w.Use(func() error {
		if err := w.settleAll(); err != nil {
			return err
		}
		now := kernel.Monotonic()
		o.Span, w.since = now-w.since, now
		ended := w.window
		w.window++
		if err := w.Objects.Variables["window"].Set(w.window); err != nil {
			return err
		}
		table, err := w.Tables.Exchange()
		if err != nil {
			return err
		}
		return w.collect(&o, table, ended)
	})
	return o, err
}

// settleAll settles waits as if they ended, and counts the watched threads.
func (w *Watcher) settleAll() error {
	ending := w.Objects.Variables["ending"]
	if err := ending.Set(uint32(1)); err != nil {
		return err
	}
	err := w.settle()
	return errors.Join(err, ending.Set(uint32(0)))
}

func (w *Watcher) collect(o *why.Observation, table *ebpf.Map, window uint32) error {
	n := names{groups: w.groups}
	err := object.Drain(table, w.keys, w.rows, func(k rowKey, v rowValue) {
		waited := why.Waited{By: n.by(k, v.Name), Time: time.Duration(v.Ns), Waits: v.Waits, Longest: time.Duration(v.LongestNs)}
		for i, count := range v.Bins {
			waited.Bins[i] = uint64(count)
		}
		o.By = append(o.By, waited)
	})
	if err != nil {
		return err
	}
	if err := w.addTotals(o, &n, window); err != nil {
		return err
	}
	if err := w.addLost(o); err != nil {
		return err
	}
	o.Cost, w.told = o.Cost+w.walked-w.told, w.walked
	why.SortWaited(o.By)
	for i := range o.By {
		o.Waited += o.By[i].Time
	}
	return nil
}

// addTotals adds what each CPU counted, and the walk.
func (w *Watcher) addTotals(o *why.Observation, n *names, window uint32) error {
	var worst longestWait
	var idle []cpuset.CPU
	cpus, err := w.Objects.Maps["cpus"].Memory()
	if err != nil {
		return err
	}
	for i := range w.cpus {
		var now cpuHead
		if _, err := cpus.ReadAt(object.BytesOf(&now), int64(i)*int64(w.Objects.Maps["cpus"].ValueSize())); err != nil {
			return err
		}
		before := &w.cpus[i]
		now.addTo(o, &before.totals)
		worst.atLeast(&now.Longest, window)
		o.Cost += time.Duration(now.CostNs - before.CostNs)
		if now.LeftOutNs > before.LeftOutNs {
			idle = append(idle, cpuset.CPU(i))
		}
		*before = now
	}
	o.Avoidable.Idle = cpuset.Of(idle...)
	open, err := w.Objects.Maps["open_waits"].Memory()
	if err != nil {
		return err
	}
	now := openWaits{}
	if _, err := open.ReadAt(object.BytesOf(&now), 0); err != nil {
		return err
	}
	now.addTo(o, &w.open.totals)
	worst.atLeast(&now.Longest, window)
	o.Threads = int(now.Threads)
	w.open = now
	o.Longest = n.longest(&worst)
	return nil
}

// addLost adds what had no room, or was not seen.
func (w *Watcher) addLost(o *why.Observation) error {
	var unlisted, unwatched, unlistedNs uint64
	v := w.Objects.Variables
	for name, into := range map[string]*uint64{"unlisted": &unlisted, "unwatched": &unwatched, "unlisted_ns": &unlistedNs} {
		if err := v[name].Get(into); err != nil {
			return err
		}
	}
	stats, err := w.Objects.Programs["waits_switch"].Stats()
	if err != nil {
		return err
	}
	if o.Lost, err = w.LostSince("lost", unlisted+unwatched+stats.RecursionMisses); err != nil {
		return err
	}
	if grown := unlistedNs - w.unlistedNs; grown > 0 {
		o.By = append(o.By, why.Waited{Time: time.Duration(grown)})
	}
	w.unlistedNs = unlistedNs
	return nil
}
