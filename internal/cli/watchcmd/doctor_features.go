package watchcmd

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"piton/internal/bpf"
	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/cli/app"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// byKernel reports whether the walk is done inside the kernel.
func (d *doctor) byKernel() bool { return strings.HasPrefix(d.collector("tasks").Rung, "ebpf") }

func (d *doctor) tasks() finding {
	f := d.figure("tasks", "task walk", "tasks", fmt.Sprintf("a sample, for %d processes", len(d.sample.Tasks)))
	if better := d.collector("tasks").Better; better != "" {
		f.state, f.reason = stateFallback, strings.Replace(better, "task walk by eBPF: ", "eBPF: ", 1)
		if err := Probe("ebpf-walk"); err != nil {
			d.worse(&f, stateFallback, err)
		}
	}
	return f
}

func (d *doctor) migrations() finding {
	f := d.figure("migrations", "migrations of each CPU", "migrations", "a sample")
	switch d.sample.Migrations {
	case sample.SourceBPF:
		f.source = "eBPF on sched_migrate_task: exact, with from and to"
		f.cost += ", mostly asleep"
		d.inKernel(&f, "count_move", "moves")
		return f
	case sample.SourcePerf:
		f.source = "perf counter of each CPU: up to 10% low under load, without from"
	case sample.SourceSampled:
		f.source = "last CPU of each task, once a sample: a lower bound"
	}
	d.worse(&f, stateFallback, Probe("ebpf-migrations"))
	return f
}

func (d *doctor) taskMigrations() finding {
	f := finding{id: "task-migrations", title: "migrations of each task", state: stateBest}
	if d.byKernel() {
		f.source, f.cost = "eBPF task walk: exact, of every task", "in the task walk"
		return f
	}
	if err := Probe("sched"); err != nil {
		d.worse(&f, stateMissing, err)
		return f
	}
	f.source, f.cost = "/proc/PID/task/TID/sched: exact, of busy and shown tasks", "about 6 µs a task"
	d.worse(&f, stateFallback, Probe("ebpf-walk"))
	return f
}

func (d *doctor) moves() finding {
	f := d.probedAs("ebpf-moves", finding{id: "moves", title: "single migrations (piton watch)",
		source: "eBPF, attached while piton watch or a bounce chart shows them", cost: "nothing now"},
		finding{state: stateFallback, source: "growth of nr_migrations every half second, without from and to", cost: "about 6 µs a thread and look"})()
	if hides, err := bpf.HidesTasks(); f.state == stateBest && err == nil && hides {
		f.source += "; by nr_migrations where this kernel hides the running task"
	}
	return f
}

func (d *doctor) runDelay() finding {
	f := finding{id: "run-delay", title: "run delay", state: stateBest}
	err := Probe("schedstat")
	if err != nil {
		d.worse(&f, stateMissing, err)
		return f
	}
	if d.byKernel() {
		f.source, f.cost = "eBPF task walk", "in the task walk"
		return f
	}
	f.source, f.cost = "/proc/PID/schedstat, of tasks that ran", "2 to 4 µs a task"
	d.worse(&f, stateFallback, Probe("ebpf-walk"))
	return f
}

func (d *doctor) load() finding {
	f := d.figure("load", "CPU load and run queues", "cpus", "a sample")
	known := slices.ContainsFunc(d.sample.CPUs, func(c sample.CPU) bool { return !c.NoTimes })
	if !known {
		return f
	}
	stat := "/proc/stat"
	if f.source != "" {
		stat += " (" + f.source + ")"
	}
	for i := range d.sample.CPUs {
		if d.sample.CPUs[i].HavePressure {
			f.source = stat + ", and the run queues' load_avg + rt + irq (eBPF)"
			f.cost = joinCost(f.cost, "the rest in the task walk")
			return f
		}
	}
	f.source = stat + ", and time, run delay and nice by task: what has ended counts as one task at nice 0"
	if f.reason != "" { // some rows could not be used
		f.state = stateFallback
		return f
	}
	if d.byKernel() {
		d.worse(&f, stateFallback, &feature.Missing{Feature: "run queues by eBPF", Needs: "a kernel with CONFIG_FAIR_GROUP_SCHED"})
		return f
	}
	d.worse(&f, stateFallback, Probe("ebpf-walk"))
	return f
}

func (d *doctor) ledger() finding {
	f := d.shown("ledger", "CPU time by task (ledger)", "sched_switch, irq and softirq")()
	if d.stats && f.state == stateBest {
		d.inKernel(&f, "on_", "switches and interrupts")
		f.cost = strings.Replace(f.cost, "of a core now", "of a core while shown", 1)
	}
	return f
}

func schedulerSource() string {
	if name := change.New(change.Options{}).SchedExt(); name != "" {
		return "scheduler " + name + ", which decides whether nice, slices, clamps and weights count"
	}
	return "no scheduler is loaded: runs as OTHER"
}

func memorySource() string {
	if nodes, ok := app.MemoryNodes(); ok && nodes.Len() == 1 {
		return "one node: there is no other"
	}
	return "migrate_pages, move_pages, set_mempolicy"
}

// groupWeight is the rule by which a group's weight counts, in estimates too.
func (d *doctor) groupWeight() finding {
	mode, assumed := change.New(change.Options{}).GroupMode()
	return assuming(finding{id: "groups", title: "weight of a cgroup or session", state: stateBest, source: mode.Rule()}, assumed,
		"cgroup_mode in debugfs cannot be read: the default of Linux 7.3 is assumed")
}

func (d *doctor) ordinary() finding {
	f := finding{id: "ordinary", title: "ordinary tasks beside real-time ones", state: stateBest}
	limits, err := procfs.ReadThrottling(procfs.New("/"))
	if err != nil {
		d.worse(&f, stateUnknown, err)
		return f
	}
	f.source = limits.Brief()
	return assuming(f, limits.Assumed, "the fair servers' files in debugfs cannot be read: their default is assumed")
}

// assuming marks a finding as assumed for want of a file in debugfs.
func assuming(f finding, assumed bool, reason string) finding {
	if assumed {
		f.state, f.reason = stateFallback, reason
		if kernel.EUID() != 0 {
			f.command = "sudo piton doctor"
		} else if files, _ := os.ReadDir("/sys/kernel/debug"); len(files) == 0 {
			f.command = "mount -t debugfs debugfs /sys/kernel/debug"
		}
	}
	return f
}

func (d *doctor) realTime() finding {
	f := finding{id: "real-time", title: "FIFO and RR from this cgroup", state: stateBest, source: "allowed here"}
	if err := tryRealTime(); err != nil {
		f.source = ""
		d.realTimeRefused(&f, err)
	}
	return f
}

func (d *doctor) journal() finding {
	path := journal.Path(d.app.Getenv, kernel.EUID())
	f := finding{id: "journal", title: "journal, for undo", state: stateBest, source: path}
	if _, err := journal.Open(path); err != nil {
		f.state, f.source = stateMissing, ""
		f.reason = fmt.Sprintf("%v: nothing can be changed without it; XDG_STATE_HOME names the directory", err)
		f.command = "export XDG_STATE_HOME=$(mktemp -d)"
	}
	return f
}

// guard says once what a guard of this user is not protected from.
func (d *doctor) guard() finding {
	f := finding{id: "guard", title: "guard (--revert-after)", state: stateBest,
		source: "DEADLINE, memory locked, spared by the OOM killer, outside the session"}
	var lacks []string
	for _, one := range []struct {
		needs kernel.Capability
		lacks string
	}{
		{kernel.CapSysNice, "real-time tasks run before it (needs CAP_SYS_NICE)"},
		{kernel.CapIPCLock, "its memory may be read from a disk (needs CAP_IPC_LOCK)"},
		{kernel.CapSysResource, "the OOM killer may choose it (needs CAP_SYS_RESOURCE)"},
		{kernel.CapDACOverride, "systemd may end it with the session, where KillUserProcesses= is set (needs root)"},
	} {
		if !d.rights.has(one.needs) {
			lacks = append(lacks, one.lacks)
		}
	}
	if len(lacks) > 0 {
		f.state, f.source, f.reason = stateFallback, "a process of its own", strings.Join(lacks, "; ")
		if kernel.EUID() != 0 {
			f.command = "sudo piton"
		}
	}
	return f
}

func (d *doctor) namespace() finding {
	f := finding{id: "pid-namespace", title: "PID namespace", state: stateBest, source: "the machine's own: all tasks are seen"}
	if !kernel.InitialNamespace("pid") {
		f.state, f.source = stateFallback, "one of its own: only its tasks are seen"
		f.reason = "the tasks of the machine outside this container have no number here, and eBPF cannot be used"
		f.command = commandHostPIDs
	}
	if hides := procfs.New("/").Hides(); hides != "" {
		f.state, f.reason, f.command = stateFallback, strings.TrimPrefix(f.reason+"; "+hides, "; "), "sudo piton doctor"
		f.source = strings.Replace(f.source, "all tasks are seen", "own tasks are seen", 1)
	}
	return f
}

// programs lists the eBPF programs that were loaded before those of doctor.
func (d *doctor) programs() finding {
	f := finding{id: "programs", title: "eBPF programs of piton in the kernel", state: stateBest, source: "none", cost: "nothing"}
	if d.listErr != nil {
		f.source, f.cost = "", ""
		d.worse(&f, stateUnknown, d.listErr)
		f.command = "sudo piton doctor"
		if kernel.EUID() == 0 { // of a container
			f.command = "docker run --cap-add SYS_ADMIN …"
		}
		return f
	}
	var names []string
	for _, p := range d.foreign {
		names = append(names, fmt.Sprintf("%s %d", p.Name, p.ID))
	}
	if len(names) > 0 {
		f.source, f.cost = fmt.Sprintf("%d, of other pitons that run", len(names)), strings.Join(names, ", ")
	}
	return f
}
