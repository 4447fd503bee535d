// Package kernelfake is a made-up machine, for tests, the simulator and piton demo: Fake
// holds tasks in memory, records the calls that change them, and returns the errors that a
// test scripts. A call about a task that was not created is reported as an error of the
// test, unless that task was ended with Kill. Files does the same for settings, Proc is what
// /proc says of the tasks, and Counters have the clock, the CPUs and the moves of its samples.
//
// Start at New.
package kernelfake

import (
	"fmt"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// T is what the fake needs of *testing.T.
type T interface {
	Errorf(format string, args ...any)
}

// Task is one fake task: what the scheduler has of it, and what else /proc says.
type Task struct {
	procfs.Stat            // but for TID and StartTicks
	TGID        kernel.TID // of its process; 0 = it is a thread of whichever is asked
	Start       uint64     // USER_HZ since boot; 0 = whatever is asked
	UID         uint32
	RunNs, Runs uint64 // time on a CPU, and how much more it is at each look
	Cgroups     procfs.Cgroups

	Affinity cpuset.Set
	Cpuset   cpuset.Set       // SetAffinity is cut to it, as the kernel does; empty = no limit
	Attr     kernel.SchedAttr // RuntimeNs 0 = the default slice
	IOPrio   kernel.IOPrio
	Clamp    kernel.Clamp // zero = the policy's defaults
	Cookie   uint64
}

// Fake is a kernel.Writer, and a kernel.Own whose own threads all the tasks are. Its
// methods may be called from several goroutines.
type Fake struct {
	script[kernel.TID]
	t T
	// Store, when it is set, is what becomes of a text that is written to a file of a
	// process.
	Store func(pid kernel.TID, name, text string) error
	// Signalled, when it is set, is what becomes of a process that is sent a signal.
	Signalled func(pid kernel.TID, sig syscall.Signal)
	Tasks     map[kernel.TID]*Task

	dead    map[kernel.TID]bool
	held    int
	cookies int // made by NewCookie
	offline cpuset.Set
	born    map[kernel.TID]int // bumped on Create, so that who holds a process knows it
}

// New returns an empty Fake; with a nil t, calls about tasks that are not there are no mistake.
func New(t T) *Fake {
	return &Fake{script: newScript[kernel.TID](), t: t, Tasks: map[kernel.TID]*Task{}, dead: map[kernel.TID]bool{}, born: map[kernel.TID]int{}}
}

// Create adds a task, or replaces it as if its number had been reused.
func (f *Fake) Create(tid kernel.TID, task Task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Tasks[tid] = &task
	f.born[tid]++
	delete(f.dead, tid)
}

// Kill ends a task: calls about it give ESRCH from now on.
func (f *Fake) Kill(tid kernel.TID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.Tasks, tid)
	f.dead[tid] = true
}

// Task returns a copy of the task's state.
func (f *Fake) Task(tid kernel.TID) Task {
	f.mu.Lock()
	defer f.mu.Unlock()
	if task := f.Tasks[tid]; task != nil {
		return *task
	}
	return Task{}
}

// SetOffline takes CPUs offline, and all others online: masks are read without them.
func (f *Fake) SetOffline(cpus cpuset.Set) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offline = cpus
}

// Held returns how many processes are held: 0 when nothing leaked.
func (f *Fake) Held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// find is the common start of every call; it returns with the lock held.
func (f *Fake) find(method string, tid kernel.TID) (*Task, error) {
	if err := f.enter(method, tid); err != nil {
		return nil, err
	}
	task := f.Tasks[tid]
	if task == nil {
		k := key(method, tid)
		if f.t != nil && !f.dead[tid] {
			f.t.Errorf("unexpected call %s: the test created no such task", k)
		}
		return nil, fmt.Errorf("%s: %w", k, syscall.ESRCH)
	}
	return task, nil
}

func (f *Fake) record(method string, tid kernel.TID, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%s(%d, %v)", method, tid, value))
}

// get is a call that reads.
func get[V any](f *Fake, method string, tid kernel.TID, read func(*Task) V) (v V, err error) {
	task, err := f.find(method, tid)
	defer f.mu.Unlock()
	if err == nil {
		v = read(task)
	}
	return v, err
}

// set is a call that changes something; value is how it is recorded.
func (f *Fake) set(method string, tid kernel.TID, value any, write func(*Task) error) error {
	f.record(method, tid, value)
	task, err := f.find(method, tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	return write(task)
}
