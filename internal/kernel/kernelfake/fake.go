// Package kernelfake has fakes of package kernel, for tests and for the made-up machine
// of piton demo: Fake holds tasks in memory, records the calls that change them, and
// returns the errors that a test scripts. A call about a task that was not created is
// reported as an error of the test, unless that task was ended with Kill. Files does the
// same for settings.
//
// Start at New.
package kernelfake

import (
	"fmt"
	"slices"
	"sync"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// T is what the fake needs of *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Task is the scheduling state of one fake task.
type Task struct {
	TGID     kernel.TID // of its process; 0 = it is a thread of whichever is asked
	Start    uint64     // USER_HZ since boot; 0 = whatever is asked
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
	t  T
	mu sync.Mutex
	// Store, when it is set, is what becomes of a text that is written to a file of a
	// process.
	Store func(pid kernel.TID, name, text string) error
	// Signalled, when it is set, is what becomes of a process that is sent a signal.
	Signalled func(pid kernel.TID, sig syscall.Signal)

	tasks   map[kernel.TID]*Task
	dead    map[kernel.TID]bool
	errs    map[string]error
	calls   []string
	hooks   map[string]func()
	held    int
	cookies int                // made by NewCookie
	born    map[kernel.TID]int // bumped on Create, so that who holds a process knows it
}

// New returns an empty Fake.
func New(t T) *Fake {
	return &Fake{
		t: t, tasks: map[kernel.TID]*Task{}, dead: map[kernel.TID]bool{},
		errs: map[string]error{}, hooks: map[string]func(){}, born: map[kernel.TID]int{},
	}
}

// Create adds a task, or replaces it as if its number had been reused.
func (f *Fake) Create(tid kernel.TID, task Task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks[tid] = &task
	f.born[tid]++
	delete(f.dead, tid)
}

// Kill ends a task: calls about it give ESRCH from now on.
func (f *Fake) Kill(tid kernel.TID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tasks, tid)
	f.dead[tid] = true
}

// Task returns a copy of the task's state.
func (f *Fake) Task(tid kernel.TID) Task {
	f.mu.Lock()
	defer f.mu.Unlock()
	if task := f.tasks[tid]; task != nil {
		return *task
	}
	return Task{}
}

// Fail makes every later call of the method ("SetAffinity", "Hold", …) on tid
// return errno. Hold with ENOSYS is a kernel without pidfds.
func (f *Fake) Fail(method string, tid kernel.TID, errno syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs[key(method, tid)] = errno
}

// Before runs hook once, before the next call of the method on tid takes effect.
func (f *Fake) Before(method string, tid kernel.TID, hook func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks[key(method, tid)] = hook
}

// Calls returns the calls that changed something, or tried to, in order, as
// "SetAffinity(12, 0-3)".
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Changes returns how many Calls there were.
func (f *Fake) Changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// Held returns how many processes are held: 0 when nothing leaked.
func (f *Fake) Held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

func key(method string, tid kernel.TID) string { return fmt.Sprintf("%s(%d)", method, tid) }

// enter is the common start of every call; it returns with the lock held.
func (f *Fake) enter(method string, tid kernel.TID) (*Task, error) {
	f.t.Helper()
	f.mu.Lock()
	k := key(method, tid)
	if hook := f.hooks[k]; hook != nil {
		delete(f.hooks, k)
		f.mu.Unlock()
		hook()
		f.mu.Lock()
	}
	if err := f.errs[k]; err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	task := f.tasks[tid]
	if task == nil {
		if !f.dead[tid] {
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
	f.t.Helper()
	task, err := f.enter(method, tid)
	defer f.mu.Unlock()
	if err == nil {
		v = read(task)
	}
	return v, err
}

// set is a call that changes something; value is how it is recorded.
func (f *Fake) set(method string, tid kernel.TID, value any, write func(*Task) error) error {
	f.t.Helper()
	f.record(method, tid, value)
	task, err := f.enter(method, tid)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	return write(task)
}
