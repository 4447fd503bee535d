// Package waits sees, through eBPF programs, what watched tasks wait for: it splits each wait for
// a CPU by what the CPU did meanwhile (package why has the causes). The parts sum to what the
// kernel counts as the tasks' run delay. Start at Open.
package waits

import (
	_ "embed" // the object
	"errors"
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/crash"
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

// Watcher watches the tasks of targets until Close. It costs some 100 ns for each context switch of
// the machine. Safe for concurrent use.
type Watcher struct {
	object.Object
	groups  *object.Groups
	seeds   *link.Iter
	limited bool // wakeups are hooked
	window  uint32
	keys    []rowKey
	rows    []rowValue

	slots  [slotCount]slot
	order  []*slot // those of the targets
	aims   map[targetID]targetAim
	spent  spent
	walked time.Duration // CPU time since Open

	once          sync.Once
	stop, stopped chan struct{}
}

// Open begins to watch. An error that Is feature.ErrNotSupported says what is missing.
func Open(targets ...Targets) (*Watcher, error) {
	w := &Watcher{keys: make([]rowKey, object.DrainChunk), rows: make([]rowValue, object.DrainChunk), aims: map[targetID]targetAim{}}
	s := object.Subject{What: what, Compiled: compiled, Programs: []string{"waits_irq_done", "waits_irq", "waits_soft_done",
		"waits_softirq", "waits_move", "waits_switch", "waits_fork"}}
	if len(targets) > 1 {
		s.Room = roomOfMany
	}
	err := w.Object.Open(s, w.prepare)
	if err == nil { // after the programs are hooked, so that no wait is missed
		err = w.Use(w.seed)
	}
	if err == nil {
		err = w.Watch(targets...)
	}
	if err != nil {
		w.Object.Close()
		return nil, explain(err)
	}
	w.stop, w.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer crash.Handle()
		w.keepUp()
	}()
	return w, nil
}

// roomOfMany is how many rows a table has for several targets: 2 MB of kernel memory, twice.
const roomOfMany = 4096

// Feature is that this can be had here.
var Feature = feature.New("ebpf-waits", func() error {
	w, err := Open()
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = w.Read()
	return err
})

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
// CPU: 2,048 stays, some 100 ms of a busy one. It takes at most 1/300 of a CPU; of several targets,
// of which the screen shows who is in the way and not the longest wait, 1/1000.
func (w *Watcher) keepUp() {
	defer close(w.stopped)
	const often, seldom = 50 * time.Millisecond, 250 * time.Millisecond
	for pause := often; ; {
		select {
		case <-w.stop:
			return
		case <-time.After(pause):
		}
		_ = w.Use(func() error { // Read tells of an error
			before := w.walked
			err := w.settle()
			took := w.walked - before
			pause = max(often, 300*took)
			if len(w.order) > 1 {
				pause = max(seldom, 1000*took)
			}
			return err
		})
	}
}

func (w *Watcher) prepare() (err error) {
	if w.groups, err = object.FindGroups("cpu"); err != nil {
		return err
	}
	w.window = 1
	for name, value := range map[string]uint32{
		"cpu_count": w.Objects.Maps["cpus"].MaxEntries(), "unified": flag(w.groups.Mount.Unified), "window": w.window,
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
	for cpu := range w.Objects.Maps["cpus"].MaxEntries() {
		_, err := w.Objects.Programs["waits_seed"].Run(&ebpf.RunOptions{Flags: onCPU, CPU: cpu})
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

// Read is what happened since the last Read, or since it is watched, for each target in their order;
// the cost is that of all. A wait that goes on is told as if it ended, and counts again, with the
// rest of it, in the next. Read takes some milliseconds and sleeps.
func (w *Watcher) Read() (all []why.Observation, err error) {
	err = w.Use(func() error {
		if err := w.settleAll(); err != nil {
			return err
		}
		if err := w.drain(); err != nil {
			return err
		}
		for _, s := range w.order {
			all = append(all, s.observed(&w.spent))
		}
		for _, s := range w.order { // one may stand there twice
			s.begin(&w.spent)
		}
		return nil
	})
	return all, err
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

// drain takes what programs wrote since the last time.
func (w *Watcher) drain() error {
	ended := w.window
	w.window++
	if err := w.Objects.Variables["window"].Set(w.window); err != nil {
		return err
	}
	table, err := w.Tables.Exchange()
	if err != nil {
		return err
	}
	n := names{groups: w.groups}
	err = object.Drain(table, w.keys, w.rows, func(k rowKey, v rowValue) { w.slots[k.Slot].add(&n, k, &v) })
	if err != nil {
		return err
	}
	totals, err := w.Objects.Maps["totals"].Memory()
	if err != nil {
		return err
	}
	for i := range w.slots {
		if err := w.slots[i].drain(totals, ended, &n); err != nil {
			return err
		}
	}
	return w.spend()
}

// spend reads what watching takes.
func (w *Watcher) spend() error {
	cpus := w.Objects.Maps["cpus"]
	memory, err := cpus.Memory()
	if err != nil {
		return err
	}
	now := spent{at: kernel.Monotonic(), cost: w.walked}
	for i := range cpus.MaxEntries() {
		var head cpuHead
		if _, err := memory.ReadAt(object.BytesOf(&head), int64(i)*int64(cpus.ValueSize())); err != nil {
			return err
		}
		now.cost += time.Duration(head.CostNs)
	}
	stats, err := w.Objects.Programs["waits_switch"].Stats()
	now.misses = stats.RecursionMisses
	w.spent = now
	return err
}
