package coresview

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/sample"
)

// advice is the remedy for something that takes a CPU's time.
type advice struct {
	movable bool // a task whose affinity can be set
	brief   string
	full    string
}

func (v *View) advise(e *model.LedgerEntry) advice {
	switch e.Kind {
	case sample.RunOfIRQ:
		return v.adviseIRQ(e.Number)
	case sample.RunOfSoftIRQ:
		if a, own := softIRQs[e.Number]; own {
			return a
		}
		return advice{brief: "softirq: follows its interrupt", full: "runs where its interrupt arrives: move that IRQ"}
	}
	t := v.Task(e.TID)
	if t == nil {
		return advice{brief: "ended or not read yet", full: "ended or not read yet"}
	}
	bound, kernelThread := t.Flags&sample.FlagNoSetAffinity != 0, t.Flags&sample.FlagKernelThread != 0
	switch {
	case bound && kernelThread && t.Have&sample.HaveAffinity != 0 && t.Affinity.Len() > 1:
		return advice{brief: "unbound kernel worker", full: "unbound kernel worker: " + unboundWorkers + " sets the CPUs of all of them"}
	case bound && kernelThread:
		return advice{brief: "kernel thread bound to this CPU", full: "kernel thread bound to this CPU: cannot be moved"}
	case bound:
		return advice{brief: "affinity fixed by the kernel", full: "affinity fixed by the kernel: cannot be moved"}
	}
	to := "--place least-loaded --within " + v.others().String()
	if cpu := v.elsewhere(); cpu >= 0 {
		to = fmt.Sprintf("--cpu %d", cpu)
	}
	command := fmt.Sprintf("piton pin %d %s", e.TID, to)
	if !t.IsProcess() || t.Threads > 1 {
		command += " --thread" // its other threads are not on this CPU
	}
	brief := "movable"
	if v.o.Pin != nil {
		brief = "p moves it"
	}
	if t.Have&sample.HaveAffinity != 0 && t.Affinity.Len() == 1 {
		brief = "pinned here"
		if v.o.Pin != nil {
			brief += " (p moves it)"
		}
	}
	return advice{movable: true, brief: brief, full: command}
}

// unboundWorkers is the mask of the workqueues that are bound to no CPU
// (Documentation/core-api/workqueue.rst).
const unboundWorkers = "/sys/devices/virtual/workqueue/cpumask"

// elsewhere is the least-loaded CPU when that is another one than the ledger's;
// -1 otherwise.
func (v *View) elsewhere() cpuset.CPU {
	if v.m.LeastLoaded == v.cpu {
		return -1
	}
	return v.m.LeastLoaded
}

// others are the CPUs to which tasks of this one can be moved.
func (v *View) others() cpuset.Set {
	return v.topo.Online.AndNot(v.topo.Isolated).AndNot(cpuset.Of(v.cpu))
}

func (v *View) adviseIRQ(number int) advice {
	movable, known := v.o.IRQMovable(number)
	to := "CPUS"
	if cpu := v.elsewhere(); cpu >= 0 {
		to = fmt.Sprint(cpu)
	}
	command := fmt.Sprintf("piton irq move %d --cpu %s", number, to)
	switch {
	case !known:
		return advice{brief: "movable unless managed", full: command + " (refused if the driver manages the IRQ)"}
	case movable:
		return advice{brief: "movable (IRQs view)", full: command}
	}
	return advice{brief: "managed IRQ", full: "managed IRQ: the driver chooses the CPU; the kernel refuses others"}
}

// softIRQs are those that a CPU raises for itself, by vector (enum in
// include/linux/interrupt.h: TIMER, SCHED, HRTIMER, RCU); the others follow the interrupt
// that raises them.
var softIRQs = map[int]advice{
	1: timers, 8: timers,
	7: {brief: "softirq: load balancing", full: "load balancing of this CPU; an isolated CPU has none"},
	9: {brief: "softirq: RCU of this CPU", full: "RCU callbacks of this CPU; rcu_nocbs= at boot moves them"},
}

var timers = advice{brief: "softirq: follows the timers' tasks", full: "timers run where they were armed: move the tasks that arm them"}
