package sample

import (
	"slices"
	"time"

	"piton/internal/bpf"
	"piton/internal/kernel"
)

// A taskSource walks the tasks of the machine, once a sample: inside the kernel
// (bpfWalk) or over /proc (procWalk). What only /proc knows (names of users,
// command lines) and what only some tasks need is added afterwards by details,
// to the rows of any source.
//
// walk sets w.tasks to a Task for every process, with w.needs.Threads for every
// thread, in rising order of TID. Each has all figures up to MajorFaults, Have
// with the bits of the optional figures the source filled, and an ID: the one
// that the task had in the sample before if its name is still the same, else a
// new one with only Comm set, which details completes.
type taskSource interface {
	walk(w *walk) error
	rung() string
	close()
}

// walk is one pass over the tasks.
type walk struct {
	seq   uint64 // of the sample
	at    time.Duration
	forks uint64 // tasks created since boot; 0 unknown
	needs *wanted
	tasks []*Task

	before     []*Task        // of the last sample
	renewed    bool           // some have another identity than the source gave them
	queues     []bpf.RunQueue // by CPU number, if haveQueues
	haveQueues bool
	helpers    []float32 // what of the queues' load is not to count, by CPU
	returns    bool      // moves are told one from another, so PingPongs are carried on
	// partial are the rows that details may have to complete, if only is set; else
	// they are all.
	partial []row
	only    bool
}

// row is a task by its index in this sample and in the last, -1 for a new one.
type row struct{ now, before int32 }

// wanted is Needs with the watched tasks in order.
type wanted struct {
	Needs
	watch []kernel.TID
}

func newWanted(n Needs) *wanted {
	watch := slices.Clone(n.Watch)
	slices.Sort(watch)
	return &wanted{Needs: n, watch: slices.Compact(watch)}
}

// watched reports whether the full figures of a task are asked for.
func (n *wanted) watched(tid kernel.TID) bool { return n.All || n.listed(tid) }

// listed reports whether the task is watched by its number: then its names and its
// delay are wanted, too.
func (n *wanted) listed(tid kernel.TID) bool {
	_, found := slices.BinarySearch(n.watch, tid)
	return found
}

// turns is how many samples it takes until every task had its turn at being
// read in full although nothing says that it changed: others may have changed
// its nice value or mask, or pushed its memory to swap.
const turns = 30

// turn reports whether it is the task's turn in this sample.
func (w *walk) turn(tid kernel.TID) bool { return (w.seq+uint64(tid))%turns == 0 }

// A migrationSource counts migrations per CPU, best of the ladder first: an
// eBPF program on sched_migrate_task, perfMigrations, sampledMigrations.
//
// count sets MigrationsIn and MigrationsOut with their Have bits in n.CPUs, and
// what else the source knows; before are the tasks of the last sample. When it
// fails, the sampler takes the next rung for good, and refusal says what this
// one needs.
type migrationSource interface {
	count(n *Sample, before []*Task) error
	source() Source
	refusal(err error) error
	close()
}

// Needs says what the next sample has to hold beyond the basic row of every
// process, so that nothing is read that nobody shows.
type Needs struct {
	Threads  bool // one Task for every thread, not only processes
	Affinity bool
	Switches bool
	// Delay asks for RunDelayNs of every task from the first sample on; without
	// it that of a task comes when it ran or had its turn, so that the first
	// sample is quick. With ThreadDelay, it asks for that of all processes that ran.
	Delay bool
	// Migrations asks for exact counts of Watch and of busy tasks.
	Migrations bool
	IOPrio     bool
	// ThreadDelay and ThreadAttr ask for the run delay and for policy and nice value of
	// every thread of the processes of Watch that have several; Affinity for their masks.
	// The eBPF walk tells of the threads of all processes; without it they take turns.
	ThreadDelay, ThreadAttr bool
	// Memory, IO, OOM and Wait ask for those figures of Extra of Watch.
	Memory, IO, OOM, Wait bool
	Identity              bool // the full Identity of every task (search and filter need it), not only of Watch
	// Exe is the program's file in every full Identity, by which targets name processes: a link that
	// takes rights, raised for each, a tenth of what --headless -n 1 cost.
	Exe bool
	// BothUsers asks whether the real and the effective user differ, which costs a file a task.
	BothUsers bool
	// Watch are the tasks for which the figures above are read: shown rows,
	// tagged ones. All watches every task, but for Delay and Identity, which have
	// to be asked for.
	Watch []kernel.TID
	All   bool
	// Trace is the task whose moves are wanted one by one; 0 for none.
	Trace kernel.TID
	// Wakes is the process whose wakeups are wanted; 0 for none. It costs something at
	// every wakeup of the machine while it is set.
	Wakes kernel.TID
	// Flows is the process of which it is wanted what it reads of the network; 0 for none. It
	// costs something at every read of a socket while it is set.
	Flows kernel.TID
	// Ledger asks who ran on which CPU; it costs something at every context
	// switch of the machine while it is set.
	Ledger bool
	// PingPongs asks for the returns of every task, which only eBPF programs count.
	// It costs nothing once they are loaded.
	PingPongs bool
	// PSI asks for the pressure of the machine.
	PSI bool
	// CPUGroups asks for the limits and the pressure of the control groups of Watch; with Identity
	// or All, of every task.
	CPUGroups bool
	// Waits asks what tasks of Watch waited for a CPU for; with EveryWait, and of the busiest others,
	// MostWaits in all. It costs something at every context switch of the machine while it is set.
	Waits, EveryWait bool
}

// Equal reports whether both ask for the same.
func (n Needs) Equal(o Needs) bool {
	return n.flags() == o.flags() && n.Trace == o.Trace && n.Wakes == o.Wakes && n.Flows == o.Flows && slices.Equal(n.Watch, o.Watch)
}

func (n Needs) flags() [22]bool {
	return [...]bool{n.Threads, n.Affinity, n.Switches, n.Delay, n.Migrations, n.IOPrio, n.ThreadDelay, n.ThreadAttr,
		n.Memory, n.IO, n.OOM, n.Wait, n.Identity, n.All, n.Ledger, n.PingPongs, n.PSI, n.Exe, n.BothUsers, n.CPUGroups, n.Waits, n.EveryWait}
}
