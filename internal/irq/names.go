package irq

import "strings"

// names says what named lines of /proc/interrupts are (arch/x86/kernel/irq.c,
// arch/arm64/kernel/smp.c), and how a CPU gets fewer of them.
var names = map[string]struct{ what, fewer string }{
	"NMI":  {"non-maskable interrupts: perf's sampling, the hard-lockup watchdog", "nmi_watchdog=0 (sysctl kernel.nmi_watchdog) and no profiler"},
	"LOC":  {"the CPU's own timer: the scheduler's tick and timers", "nohz_full= at boot stops the tick where one task runs; timers are armed by the tasks of that CPU"},
	"SPU":  {"interrupts that had gone before they were served", ""},
	"PMI":  {"overflows of performance counters", "no profiler on that CPU"},
	"IWI":  {"work that the kernel put off from a place where it could not do it", ""},
	"RTR":  {"retried reads of the interrupt controller", ""},
	"RES":  {"another CPU woke a task here and asks this CPU to run it", "pin tasks that wake each other to one core or cache"},
	"CAL":  {"another CPU has a function run here: RCU, page tables, module loading, membarrier", "keep threads of one process on few CPUs; isolate the CPU"},
	"TLB":  {"another CPU of the same process unmapped memory", "fewer CPUs for that process, fewer munmap and page migrations (numa_balancing)"},
	"TRM":  {"thermal events", "cooling"},
	"THR":  {"machine-check thresholds", ""},
	"DFR":  {"deferred machine-check errors", ""},
	"MCE":  {"machine-check exceptions: hardware errors", ""},
	"MCP":  {"polls of the machine-check banks, every few minutes", "the file check_interval of machinecheck in /sys"},
	"HYP":  {"calls from the hypervisor", ""},
	"HRE":  {"Hyper-V: re-enlightenment", ""},
	"HVS":  {"Hyper-V: synthetic timers", ""},
	"ERR":  {"interrupts that no CPU expected; should not grow", ""},
	"MIS":  {"interrupts that the I/O APIC lost and recovered", ""},
	"PIN":  {"a posted interrupt for a running virtual machine", ""},
	"NPI":  {"a posted interrupt for a nested virtual machine", ""},
	"PIW":  {"a posted interrupt that wakes a virtual machine", ""},
	"VPMI": {"counter overflows of a virtual machine that has the CPU's counters", ""},
	"PMN":  {"posted device interrupts, delivered together", ""},
}

// softIRQs says what the vectors of /proc/softirqs do (include/linux/interrupt.h).
var softIRQs = map[string]string{
	"HI":       "tasklets of high priority",
	"TIMER":    "timers that were armed on this CPU",
	"NET_TX":   "packets that were sent",
	"NET_RX":   "packets that came in; runs where their interrupt arrives, or where RPS sends them",
	"BLOCK":    "disk requests that are done",
	"IRQ_POLL": "disk drivers that poll",
	"TASKLET":  "tasklets: put-off work of drivers",
	"SCHED":    "balancing of the run queues; an isolated CPU has none",
	"HRTIMER":  "high-resolution timers that may wait",
	"RCU":      "callbacks of RCU; rcu_nocbs= at boot moves them to threads",
}

// Meaning explains a named line of /proc/interrupts or a vector of
// /proc/softirqs: what it counts, and how a CPU gets fewer, which may be "". ok
// is false for a name that is not known.
func Meaning(name string) (what, fewer string, ok bool) {
	name = strings.ToUpper(name)
	if n, known := names[name]; known {
		return n.what, n.fewer, true
	}
	what, ok = softIRQs[name]
	return what, "", ok
}

// What is what a named line counts, as far as that is known.
func (n Named) What() string {
	if what, _, ok := Meaning(n.Name); ok {
		return what
	}
	return n.Text
}

// IsSoftIRQ reports whether the name is a vector of /proc/softirqs.
func IsSoftIRQ(name string) bool {
	_, ok := softIRQs[strings.ToUpper(name)]
	return ok
}
