package coresview

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/sample"
)

// advice is what can be done about something that takes a CPU's time.
type advice struct {
	movable bool // a task that can be given other CPUs
	brief   string
	full    string
}

// advise judges an entry of the ledger.
func (v *View) advise(e *model.LedgerEntry) advice {
	switch e.Kind {
	case sample.StayIRQ:
		return v.adviseIRQ(e.Number)
	case sample.StaySoftIRQ:
		return adviseSoftIRQ(e.Number)
	}
	t := v.taskOf(e.TID)
	switch {
	case t == nil:
		return advice{brief: "ended, or not read yet", full: "it has ended, or was not read yet"}
	case t.Flags&sample.FlagKernelThread != 0 && t.Flags&sample.FlagNoSetAffinity != 0 && t.Have&sample.HaveAffinity != 0 && t.Affinity.Len() > 1:
		return advice{brief: "kernel worker bound to no CPU", full: "a kernel worker; " + unboundWorkers + " sets the CPUs of all that are bound to none"}
	case t.Flags&sample.FlagKernelThread != 0 && t.Flags&sample.FlagNoSetAffinity != 0:
		return advice{brief: "kernel thread bound to this CPU", full: "a kernel thread bound to this CPU; it cannot be moved"}
	case t.Flags&sample.FlagNoSetAffinity != 0:
		return advice{brief: "its CPUs cannot be set", full: "the kernel refuses to set its CPUs"}
	}
	to := "--place least-loaded --within " + v.others().String()
	if cpu := v.elsewhere(); cpu >= 0 {
		to = fmt.Sprintf("--cpu %d", cpu)
	}
	command := fmt.Sprintf("piton pin %d %s", e.TID, to)
	if !t.IsProcess() || t.Threads > 1 {
		command += " --thread" // the others are not what takes the time here
	}
	brief := "movable: p"
	if v.o.Pin == nil {
		brief = "movable"
	}
	if t.Have&sample.HaveAffinity != 0 && t.Affinity.Len() == 1 {
		brief += ", pinned here now"
	}
	return advice{movable: true, brief: brief, full: "movable: " + command}
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

// others are the CPUs to which what disturbs this one can be moved.
func (v *View) others() cpuset.Set {
	return v.topo.Online.AndNot(v.topo.Isolated).AndNot(cpuset.Of(v.cpu))
}

func (v *View) adviseIRQ(number int) advice {
	movable, known := false, false
	if v.o.IRQMovable != nil {
		movable, known = v.o.IRQMovable(number)
	}
	to := "CPUS"
	if cpu := v.elsewhere(); cpu >= 0 {
		to = fmt.Sprint(cpu)
	}
	command := fmt.Sprintf("piton irq move %d --cpu %s", number, to)
	switch {
	case !known:
		return advice{brief: "irq: movable unless managed", full: command + ", which is refused where its driver manages it"}
	case movable:
		return advice{brief: "irq: move its affinity", full: command}
	}
	return advice{brief: "managed IRQ", full: "a managed IRQ: its driver chooses the CPU, and the kernel refuses others"}
}

// Softirqs that a CPU raises for itself, by their vector (enum in
// include/linux/interrupt.h); the others follow the interrupt that raises them.
const (
	timerSoftIRQ   = 1
	schedSoftIRQ   = 7
	hrtimerSoftIRQ = 8
	rcuSoftIRQ     = 9
)

func adviseSoftIRQ(vector int) advice {
	switch vector {
	case timerSoftIRQ, hrtimerSoftIRQ:
		return advice{brief: "softirq: follows the timers' tasks", full: "timers run where they were armed; move the tasks that arm them"}
	case schedSoftIRQ:
		return advice{brief: "softirq: balancing of this CPU", full: "load balancing of this CPU; an isolated CPU has none"}
	case rcuSoftIRQ:
		return advice{brief: "softirq: RCU of this CPU", full: "RCU callbacks of this CPU; rcu_nocbs= at boot moves them"}
	}
	return advice{brief: "softirq: follows its interrupt", full: "it runs where its interrupt arrives: move that interrupt's affinity"}
}
