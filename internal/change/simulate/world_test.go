package simulate

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// world is the simulated machine.
type world struct {
	root    string // of the files that are read by their path
	rng     *rand.Rand
	fate    fate
	history bool
	lines   []string

	steps  int
	now    time.Duration // CLOCK_BOOTTIME
	wall   time.Duration // what CLOCK_REALTIME is ahead of it
	boot   int           // how often it was started
	healed bool          // nothing bad happens any more

	actor  *actor // that runs now
	actors []*actor
	pitons []*piton // all there were
	guards []*guardian
	sentry *guard.Simulated

	tasks  map[kernel.TID]*task // by number
	nested map[kernel.TID]*task // by number in the inner PID namespace
	all    []*task              // that there ever were in this boot
	files  []*cell
	groups []*group
	inodes uint64
	pids   kernel.TID // the last number given to a piton or guard
	tids   kernel.TID // the last given to a task

	disks   []*disk
	holder  *actor // of the user's lock
	running int    // pitons

	violation string
}

// Numbers of tasks are above every pid_max, so that none is the number of this process,
// which piton asks for.
const (
	firstTID   kernel.TID = 5_000_000
	firstInner kernel.TID = 6_000_000
	firstPID   kernel.TID = 7_000_000
)

const tick = 10 * time.Millisecond // of USER_HZ

func (w *world) ticks() uint64 { return uint64(w.now / tick) }

var (
	allCPUs = cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7)
	limited = cpuset.Of(0, 1, 2, 3) // the cpuset of the cgroup limitedGroup
)

// attributes are those of tasks that the simulation changes.
var attributes = [...]attr.Attribute{attr.Affinity, attr.Nice, attr.Policy, attr.IOPrio}

// task is a thread.
type task struct {
	tid, inner kernel.TID // inner is 0 outside the inner PID namespace
	start      uint64
	born       int   // the step
	leader     *task // of its process; itself for the first thread
	creator    *task
	parent     *task // leader of the parent process, nil when that has ended
	threads    []*task
	limited    bool     // in a cgroup with a cpuset
	groups     []*group // that the process was in, one after the other
	busy       bool
	zombie     bool
	gone       bool
	cells      [len(attributes)]cell
}

func (t *task) String() string { return fmt.Sprintf("%d@%d", t.tid, t.start) }

func (t *task) cell(a attr.Attribute) *cell {
	return &t.cells[slices.Index(attributes[:], a)]
}

// living reports whether the task runs.
func (t *task) living() bool { return !t.gone && !t.zombie }

// descends reports whether the process of t is that of top or descends from it.
func (t *task) descends(top *task) bool {
	for p := t.leader; p != nil; p = p.creator {
		if p = p.leader; p == top.leader {
			return true
		}
	}
	return false
}

// below is the same, as far as /proc tells it: not when a process between has ended.
func (t *task) below(top *task) bool {
	for p := t.leader; p != nil; p = p.parent {
		if p == top.leader {
			return true
		}
	}
	return false
}

func newWorld(root string, seed uint64, history bool) *world {
	w := &world{root: root, rng: rand.New(rand.NewPCG(seed, 0x7069746f6e)), history: history}
	w.fate = newFate(w.rng)
	w.fate.standing = seed > StandingSeeds
	if seed > GroupSeeds {
		if w.fate.group(w.rng); !w.fate.unified {
			w.root = filepath.Join(root, version1)
		}
	}
	w.sentry = newSentry(w)
	for i := range w.fate.journals {
		w.disks = append(w.disks, newDisk(w, string(rune('A'+i))))
	}
	w.startMachine()
	return w
}

// startMachine is a boot: nothing of the last one is left but what is on the disk.
func (w *world) startMachine() {
	w.boot++
	w.now = time.Duration(100+w.rng.IntN(1000)) * time.Second
	w.tasks, w.nested, w.all, w.files = map[kernel.TID]*task{}, map[kernel.TID]*task{}, nil, nil
	w.groups = nil
	w.tids, w.pids = firstTID, firstPID
	if w.fate.groups {
		for _, at := range groupPaths {
			w.makeGroup(at)
		}
	}
	for range 1 + w.rng.IntN(4) {
		t := w.process(nil, 0)
		for range w.rng.IntN(4) {
			w.thread(t, 0)
		}
	}
	for _, f := range fileKinds {
		v := f.values[w.rng.IntN(len(f.values))]
		w.files = append(w.files, &cell{attribute: f.attribute, path: f.path, value: v, base: v, had: []attr.Value{v}})
	}
}

// process makes one: a child of the creator's process, or with nil of none. number is
// what it is called, 0 for the next.
func (w *world) process(creator *task, number kernel.TID) *task {
	t := w.birth(creator, number)
	t.leader = t
	t.limited, t.busy = w.rng.IntN(6) == 0, w.rng.IntN(3) == 0
	if creator != nil {
		t.parent, t.limited = creator.leader, creator.leader.limited
		if creator.leader.inner != 0 {
			w.enter(t)
		}
	} else if w.fate.foreign && w.rng.IntN(2) == 0 {
		w.enter(t)
	}
	t.threads = []*task{t}
	switch {
	case !w.fate.groups:
	case t.limited:
		t.groups = []*group{w.groupAt(limitedGroup)}
	case creator != nil:
		t.groups = []*group{creator.group()}
	default:
		t.groups = []*group{w.someGroup(false)}
	}
	w.inherit(t)
	return t
}

// enter puts the task into the inner PID namespace.
func (w *world) enter(t *task) {
	t.inner = firstInner + t.tid - firstTID
	w.nested[t.inner] = t
}

// thread makes a thread of the creator's process.
func (w *world) thread(creator *task, number kernel.TID) *task {
	t := w.birth(creator, number)
	t.leader = creator.leader
	t.leader.threads = append(t.leader.threads, t)
	t.limited, t.busy = t.leader.limited, w.rng.IntN(3) == 0
	if t.leader.inner != 0 {
		w.enter(t)
	}
	w.inherit(t)
	return t
}

func (w *world) birth(creator *task, number kernel.TID) *task {
	// Each birth has a tick of its own, for that is how exactly the kernel tells whether
	// a task was there before an entry was made.
	if number == 0 {
		w.tids++
		number = w.tids
	}
	t := &task{tid: number, creator: creator, start: w.ticks() + 1, born: w.steps}
	w.now = time.Duration(t.start+1) * tick
	w.tasks[number] = t
	w.all = append(w.all, t)
	return t
}

// inherit gives a new task what it has from its creator (sched(7), fork(2)).
func (w *world) inherit(t *task) {
	for i, a := range attributes {
		c := &t.cells[i]
		c.attribute, c.task = a, t
		if t.creator == nil {
			c.value = taskValues[i][w.rng.IntN(len(taskValues[i])/2)] // an ordinary one
			if t.limited && a == attr.Affinity {
				c.value = attr.CPUs(c.value).And(limited)
			}
			c.base, c.had = c.value, []attr.Value{c.value}
			continue
		}
		from := &t.creator.cells[i]
		c.value, c.base, c.excused = t.creator.forked(i, false), t.creator.forked(i, true), from.excused
		c.had = append(slices.Clone(from.had), c.value, c.base)
		policy := t.creator.cell(attr.Policy)
		resets := attr.PolicyOf(policy.value).ResetOnFork || attr.PolicyOf(policy.base).ResetOnFork
		if t.creator.differs(i) || resets && (a == attr.Policy || a == attr.Nice) {
			c.excuse("the threads of its process differ, or it was born ordinary, as reset-on-fork asks for")
		}
		if !from.ours {
			c.base = c.value // a policy that was set changes nice values, too
			continue
		}
		c.ours, c.single = true, from.single
	}
}

// differs reports whether threads of the task's process have, or had, different values
// of their own, or one has another than it would without piton, which nobody can put back.
func (t *task) differs(i int) bool {
	return slices.ContainsFunc(t.leader.threads, func(o *task) bool {
		c := &o.cells[i]
		return c.single || !same(c.base, t.cells[i].base) || c.excused != "" && !same(c.base, c.value)
	})
}

// forked is the value of an attribute that a child of the task has; base: that it
// would have if there were no piton.
func (t *task) forked(i int, base bool) attr.Value {
	get := func(a attr.Attribute) attr.Value {
		if c := t.cell(a); base {
			return c.base
		}
		return t.cell(a).value
	}
	v := get(attributes[i])
	if policy := attr.PolicyOf(get(attr.Policy)); policy.ResetOnFork {
		switch attributes[i] {
		case attr.Policy:
			if policy.Policy.RealTime() {
				return attr.PolicyValue{}
			}
			policy.ResetOnFork = false
			return policy
		case attr.Nice:
			if policy.Policy.RealTime() || v.(attr.NiceValue) < 0 {
				return attr.NiceValue(0)
			}
		}
	}
	return v
}

// endThread ends a thread; a process without any is a zombie.
func (w *world) endThread(t *task) {
	w.log("task %s ends", t)
	if t == t.leader {
		t.zombie = true
	} else {
		t.leader.threads = without(t.leader.threads, t)
		w.release(t)
	}
	if t.leader.zombie && len(t.leader.threads) == 1 {
		w.orphan(t.leader)
	}
}

// orphaned reports whether one of the processes that t descends from has ended.
func (t *task) orphaned() bool {
	for p := t.leader; p != nil; p = p.creator {
		if p = p.leader; p.gone || p.zombie && len(p.threads) == 1 {
			return true
		}
	}
	return false
}

// orphan parts a process that has ended from its children.
func (w *world) orphan(parent *task) {
	for _, t := range w.all {
		if t.leader.parent == parent && t == t.leader {
			t.parent = nil
		}
	}
}

// endProcess is SIGKILL, and with reap its parent's wait.
func (w *world) endProcess(t *task, reap bool) {
	for _, thread := range slices.Clone(t.leader.threads) {
		w.endThread(thread)
	}
	if reap {
		w.release(t.leader)
	}
}

func (w *world) release(t *task) {
	t.gone, t.zombie = true, false
	if w.tasks[t.tid] == t {
		delete(w.tasks, t.tid)
	}
	if w.nested[t.inner] == t {
		delete(w.nested, t.inner)
	}
}

// reuse gives the number of a task that has ended to a new one, with another start.
func (w *world) reuse(number kernel.TID, start uint64) *task {
	if w.ticks() <= start {
		w.now = time.Duration(start+1) * tick
	}
	if old := w.some(func(t *task) bool { return t.living() }); old != nil && w.rng.IntN(3) == 0 {
		return w.thread(old, number)
	}
	return w.process(w.some(func(t *task) bool { return t.living() && w.rng.IntN(2) == 0 }), number)
}

// some chooses a task.
func (w *world) some(is func(*task) bool) *task {
	var found []*task
	for _, t := range w.all {
		if is(t) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[w.rng.IntN(len(found))]
}
