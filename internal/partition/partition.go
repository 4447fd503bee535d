// Package partition isolates CPUs for what the user runs there: it plans which
// tasks, interrupts and masks lose them (isolate), and how all of it gets them back
// as it was (include).
//
// Isolate and Include are pure: they decide from Facts and journal entries, and
// change nothing. Machine reads the Facts and joins all of it to plans that
// internal/change carries out. Start at Machine.
package partition

import (
	"fmt"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// Facts is the machine as far as isolating CPUs goes.
type Facts struct {
	Ticks  uint64 // since boot in USER_HZ, when the reading began
	Online cpuset.Set
	// Reserved are CPUs that nothing is sent to which was not there already: those
	// isolated at boot (isolcpus=), and those that piton has isolated.
	Reserved cpuset.Set
	Tasks    []Task    // every thread that has not ended, processes in rising order
	IRQs     []irq.IRQ // Threads, Control, Number, Requested and Actions are looked at
	Masks    []Mask
	NoIRQs   error // why IRQs could not be read
	// Limit returns what the cpuset of a process allows and the cgroup that says
	// so; nil for no limits.
	Limit func(pid kernel.TID) (cpuset.Set, string, error)
}

// Task is one thread.
type Task struct {
	attr.Task
	PPID   kernel.TID
	Policy kernel.Policy
	Mask   cpuset.Set // with CPUs that are offline
}

// Mask is a set of CPUs that belongs to no task: the default of new interrupt
// lines, a workqueue's, RPS of a queue.
type Mask struct {
	Attribute attr.Attribute
	Path      string
	Name      string
	CPUs      cpuset.Set
	ReadOnly  bool // its file cannot be written by anyone
}

func (m *Mask) set(cpus cpuset.Set) attr.FileSetting {
	return attr.SetFile(m.Attribute, m.Path, m.Name, cpus)
}

// Kind says what a Immovable is.
type Kind string

// The kinds, as in JSON.
const (
	KindTask Kind = "task"
	KindIRQ  Kind = "irq"
	KindMask Kind = "mask"
)

// Immovable is something that keeps CPUs, whatever is tried.
type Immovable struct {
	Kind   Kind
	Number int    // TID of a task, number of an interrupt line
	Path   string // of a mask
	Name   string
	CPUs   cpuset.Set // those of the CPUs in question that it keeps
	Why    string
	Do     string // what would make it go, "" for nothing
}

// Error is a request that makes no sense on this machine as it is.
type Error string

func (e Error) Error() string { return string(e) }

func errorf(format string, args ...any) error { return Error(fmt.Sprintf(format, args...)) }

// grouped collects targets and files into requests: one for each mask, in the
// order in which the masks first came.
type grouped struct {
	reason   string
	restore  bool // the masks are what things had
	requests []change.Request
	at       map[string]int // by mask
}

func newGrouped(reason string) *grouped { return &grouped{reason: reason, at: map[string]int{}} }

// request returns the request of a key, which is made when it first comes.
func (g *grouped) request(key string, set ...attr.Setting) *change.Request {
	i, ok := g.at[key]
	if !ok {
		i = len(g.requests)
		g.at[key] = i
		g.requests = append(g.requests, change.Request{Reason: g.reason, Restore: g.restore && len(set) > 0, Set: set})
	}
	return &g.requests[i]
}

func (g *grouped) task(t *Task, mask cpuset.Set) {
	r := g.request(mask.String(), attr.SetAffinity(mask))
	r.Targets = append(r.Targets, change.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: change.ScopeThread})
}

// file adds a mask's file to the request that is for files.
func (g *grouped) file(s attr.FileSetting) {
	r := g.request("files")
	r.Files = append(r.Files, s)
}
