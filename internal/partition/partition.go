// Package partition sets CPUs apart for what the user runs there: it plans which
// tasks, interrupts and masks of the machine give way (isolate), and how they
// come back as they were (include).
//
// Isolate and Include are pure: they decide from Facts and journal entries, and
// change nothing. Read gathers the Facts; Machine joins all of it to plans that
// internal/tune applies. Start at Machine.
package partition

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/tune"
)

// Facts is the machine as far as setting CPUs apart goes.
type Facts struct {
	Ticks  uint64 // since boot in USER_HZ, when the reading began
	Online cpuset.Set
	// Reserved are CPUs that nothing is sent to which was not there already: those
	// isolated at boot (isolcpus=), and those that piton has isolated.
	Reserved cpuset.Set
	Tasks    []Task    // every thread that has not ended, processes in rising order
	IRQs     []irq.IRQ // Threads, Control, Number, Requested and Actions are looked at
	Masks    []Mask
	// Limit returns what the cpuset of a process allows and the cgroup that says
	// so; nil for no limits.
	Limit func(pid kernel.TID) (cpuset.Set, string, error)
}

// Task is one thread.
type Task struct {
	PID, TID, PPID kernel.TID
	StartTicks     uint64 // USER_HZ since boot
	Comm           string
	Flags          uint32 // PF_*, field 9 of stat
	Policy         kernel.Policy
	Mask           cpuset.Set // as sched_getaffinity(2) gives it
}

const (
	flagKernelThread  = 0x00200000 // PF_KTHREAD of include/linux/sched.h
	flagNoSetAffinity = 0x04000000 // PF_NO_SETAFFINITY
)

// Mask is a set of CPUs that belongs to no task: the default of new interrupt
// lines, a workqueue's, RPS of a queue.
type Mask struct {
	Attribute tune.Attribute
	Path      string
	Name      string
	CPUs      cpuset.Set
	ReadOnly  bool // its file cannot be written by anyone
}

// Kind says what a Staying is.
type Kind string

// The kinds, as in JSON.
const (
	KindTask Kind = "task"
	KindIRQ  Kind = "irq"
	KindMask Kind = "mask"
)

// Staying is something that keeps CPUs, whatever is tried.
type Staying struct {
	Kind Kind
	TID  kernel.TID // of a task
	IRQ  int        // of an interrupt line
	Path string     // of a mask
	Name string
	CPUs cpuset.Set // those of the CPUs in question that it keeps
	Why  string
	Do   string // what would make it go, "" for nothing
}

// cpusText names CPUs in a sentence: "CPU 3", "CPUs 0-3".
func cpusText(cpus cpuset.Set) string {
	if cpus.Len() == 1 {
		return "CPU " + cpus.String()
	}
	return "CPUs " + cpus.String()
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
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
	requests []tune.Request
	at       map[string]int // by mask
}

func newGrouped(reason string) *grouped { return &grouped{reason: reason, at: map[string]int{}} }

func (g *grouped) task(t *Task, mask cpuset.Set) {
	key := mask.String()
	i, ok := g.at[key]
	if !ok {
		i = len(g.requests)
		g.at[key] = i
		g.requests = append(g.requests, tune.Request{Reason: g.reason, Restore: g.restore, Settings: tune.Settings{Affinity: &mask}})
	}
	g.requests[i].Targets = append(g.requests[i].Targets,
		tune.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: tune.ScopeThread})
}

// file adds a mask's file to the first request that is for files.
func (g *grouped) file(s tune.FileSetting) {
	const files = "files"
	i, ok := g.at[files]
	if !ok {
		i = len(g.requests)
		g.at[files] = i
		g.requests = append(g.requests, tune.Request{Reason: g.reason})
	}
	g.requests[i].Files = append(g.requests[i].Files, s)
}

// lineName is what users call an interrupt line: "irq 24 (eth0-rx-0)".
func lineName(l *irq.IRQ) string {
	if len(l.Actions) == 0 {
		return fmt.Sprintf("irq %d", l.Number)
	}
	return fmt.Sprintf("irq %d (%s)", l.Number, l.Handlers())
}

// linePath is the file of a line's affinity.
func linePath(l *irq.IRQ) string { return fmt.Sprintf("/proc/irq/%d/smp_affinity_list", l.Number) }
