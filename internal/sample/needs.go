package sample

import (
	"slices"

	"piton/internal/kernel"
)

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
}

// Equal reports whether both ask for the same.
func (n Needs) Equal(o Needs) bool {
	return n.flags() == o.flags() && n.Trace == o.Trace && n.Wakes == o.Wakes && n.Flows == o.Flows && slices.Equal(n.Watch, o.Watch)
}

func (n Needs) flags() [18]bool {
	return [...]bool{n.Threads, n.Affinity, n.Switches, n.Delay, n.Migrations, n.IOPrio, n.ThreadDelay, n.ThreadAttr,
		n.Memory, n.IO, n.OOM, n.Wait, n.Identity, n.All, n.Ledger, n.PingPongs, n.PSI, n.BothUsers}
}
