package field

import (
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// Columns is every column, in the order in which a chooser lists them.
var Columns = withoutOdd(slices.Concat(identityColumns(), schedulerColumns(), figureColumns(), groupColumns(), waitColumns(), extraColumns()))

// ofStat are the columns of figures that /proc/PID/stat has and nothing else; a test finds one that is missing.
var ofStat = []string{"ppid", "start_ticks", "start", "priority", "nice", "policy", "rtprio", "cpu", "node", "threads",
	"minor_faults", "major_faults", "class", "mem_percent", "rss_bytes", "time_s"}

// withoutOdd gives those columns no value for a task whose stat file was of no use.
func withoutOdd(all []TaskColumn) []TaskColumn {
	for i := range all {
		if c := &all[i]; slices.Contains(ofStat, c.ID) {
			add := c.Append
			if c.Missing == nil {
				c.Missing = func(Row) string { return "" }
			}
			c.num, c.text, c.Value = unlessOdd(c.num, nan), unlessOdd(c.text, ""), unlessOdd(c.Value, nil)
			c.Missing = unlessOdd(c.Missing, "/proc/PID/stat of this task is cut or malformed")
			c.Append = func(dst []byte, r Row) []byte {
				if r.Task().Odd {
					return appendNone(dst, r)
				}
				return add(dst, r)
			}
		}
	}
	return all
}

// unlessOdd is another value for such a task; nil stays nil.
func unlessOdd[T any](of func(Row) T, odd T) func(Row) T {
	if of == nil {
		return nil
	}
	return func(r Row) T {
		if r.Task().Odd {
			return odd
		}
		return of(r)
	}
}

// identityColumns say which task a row is.
func identityColumns() []TaskColumn {
	return []TaskColumn{
		integer(TaskColumn{ID: "pid", Title: "PID", Width: 7, Names: true,
			Help: "process id; for a thread, that of its process"},
			func(r Row) (int64, bool) { return int64(r.Task().TGID), !r.Sum() }),
		integer(TaskColumn{ID: "tid", Title: "TID", Width: 7, Names: true,
			Help: "thread id; the process id for a process"},
			func(r Row) (int64, bool) { return int64(r.Task().TID), !r.Sum() }),
		integer(TaskColumn{ID: "ppid", Title: "PPID", Width: 7, Names: true,
			Help: "process id of the parent"},
			func(r Row) (int64, bool) { return int64(r.Task().PPID), !r.Sum() }),
		words(TaskColumn{ID: "user", Title: "USER", Width: 9,
			Help: "owner of the process"},
			func(r Row) string { return r.identity().User }),
		words(TaskColumn{ID: "comm", Title: "COMM", Width: 15,
			Help: "name of the task as the kernel has it"},
			func(r Row) string { return r.identity().Comm }),
		words(TaskColumn{ID: "cgroup", Title: "CGROUP", Width: 24,
			Help: "control group of the process", Needs: needIdentity, Missing: whyIdentity},
			func(r Row) string { return r.identity().Cgroup }),
		integer(TaskColumn{ID: "start_ticks", Title: "STARTTICK", Width: 10, Names: true,
			Help: "start time since boot in clock ticks; with the tid it identifies a task"},
			func(r Row) (int64, bool) { return int64(r.Task().StartTicks), !r.Sum() }),
		startColumn(),
		commandColumn(),
	}
}

// schedulerColumns are what sched(7) knows of a task and what piton tunes.
func schedulerColumns() []TaskColumn {
	return []TaskColumn{
		words(TaskColumn{ID: "state", Title: "S", Width: 2,
			Help: "state: R running or runnable, S asleep, D uninterruptible, T stopped, Z zombie, I idle kernel thread"},
			func(r Row) string { return stateName(r.Task().State) }),
		integer(TaskColumn{ID: "priority", Title: "PRI", Width: 4, Names: true,
			Help: "kernel priority: 20 + nice, or below 0 for real time"},
			func(r Row) (int64, bool) { return int64(r.Task().Priority), !r.Sum() }),
		niceColumn(),
		policyColumn(),
		integer(TaskColumn{ID: "rtprio", Title: "RTPRIO", Width: 7, Desc: true,
			Help: "real-time priority, 1..99, 0 without one"},
			func(r Row) (int64, bool) { return int64(r.Task().RTPrio), !r.Sum() }),
		ioprioColumn(),
		integer(TaskColumn{ID: "cpu", Title: "CPU", Width: 4, Names: true,
			Help:    "CPU the task is on or was last on",
			Missing: func(Row) string { return "the kernel did not say on which CPU it was last" }},
			func(r Row) (int64, bool) { return int64(r.Task().LastCPU), r.Task().LastCPU >= 0 }),
		affinityColumn(),
		integer(TaskColumn{ID: "node", Title: "NODE", Width: 5, Names: true,
			Help:    "NUMA node of that CPU",
			Missing: func(Row) string { return "this machine reports no NUMA nodes" }}, node),
		integer(TaskColumn{ID: "threads", Title: "THR", Width: 5, Desc: true,
			Help: "threads of the process"},
			func(r Row) (int64, bool) { return int64(r.Task().Threads), true }),
	}
}

func needAffinity(n *sample.Needs)    { n.Affinity = true }
func needSwitches(n *sample.Needs)    { n.Switches = true }
func needMigrations(n *sample.Needs)  { n.Migrations = true }
func needDelay(n *sample.Needs)       { n.Delay = true }
func needThreadDelay(n *sample.Needs) { n.ThreadDelay = true }
func needEveryDelay(n *sample.Needs)  { n.ThreadDelay, n.Delay = true, true }
func needIOPrio(n *sample.Needs)      { n.IOPrio = true }
func needThreadAttr(n *sample.Needs)  { n.ThreadAttr = true }
func needPingPongs(n *sample.Needs)   { n.PingPongs = true }
func needIdentity(n *sample.Needs)    { n.Identity = true }

func whyIdentity(r Row) string {
	if r.identity().Full {
		return "the kernel does not report it for this task"
	}
	return "it was not read: only tasks on the screen are looked up"
}

// whyNot tells which of two reasons a figure has for being absent: it was not
// read for this task, or piton may not read it.
func whyNot(what string) func(Row) string {
	return func(r Row) string {
		if r.Task().State == 'Z' {
			return "a zombie has no " + what
		}
		return "the " + what + " of this task could not be read, or was not asked for"
	}
}

// whyThreads is why a figure that takes all threads of a process is absent; bit says that
// they were read.
func whyThreads(what string, bit sample.Have, other func(Row) string) func(Row) string {
	return func(r Row) string {
		if t := r.Task(); t.IsProcess() && t.Threads > 1 && t.State != 'Z' && r.group().Have&bit == 0 {
			return "the " + what + " of its threads was not read: without eBPF, of tasks on the screen only, and those with many threads take turns"
		}
		return other(r)
	}
}

var noIdentity sample.Identity

func (r Row) identity() *sample.Identity {
	if id := r.Task().ID; id != nil {
		return id
	}
	return &noIdentity
}

func node(r Row) (int64, bool) {
	if r.M.Topology == nil || r.Task().LastCPU < 0 {
		return 0, false
	}
	cpu, ok := r.M.Topology.CPU(cpuOf(r))
	return int64(cpu.Node), ok && cpu.Node >= 0
}

// differs is added to what is not the same in all threads of a process.
const differs = '*'

func (r Row) group() *sample.Threads {
	if g := r.Task().Group; g != nil {
		return g
	}
	return &noGroup
}

var noGroup sample.Threads

func niceColumn() TaskColumn {
	c := integer(TaskColumn{ID: "nice", Title: "NI", Width: 4, Needs: needThreadAttr,
		Help: "nice value, -20 first to 19 last; * where threads differ from the first"},
		func(r Row) (int64, bool) { return int64(r.Task().Nice), true })
	c.all = func(*sample.Needs) {} // that of the first thread is always there
	c.Append = func(dst []byte, r Row) []byte {
		dst = appendInt(dst, int64(r.Task().Nice))
		if r.group().NiceDiffers {
			dst = append(dst, differs)
		}
		return dst
	}
	return c
}

func policyColumn() TaskColumn {
	c := words(TaskColumn{ID: "policy", Title: "POL", Width: 8, Needs: needThreadAttr,
		Help: "scheduling policy, with the real-time priority; * where threads differ from the first"},
		func(r Row) string { return r.Task().Policy.String() })
	c.all = func(*sample.Needs) {}
	c.Usual = func(r Row) bool { return r.Task().Policy == kernel.Other && !r.group().PolicyDiffers }
	c.Append = func(dst []byte, r Row) []byte {
		t := r.Task()
		dst = append(dst, t.Policy.String()...)
		if t.Policy == kernel.FIFO || t.Policy == kernel.RR {
			dst = append(dst, ':')
			dst = appendInt(dst, int64(t.RTPrio))
		}
		if r.group().PolicyDiffers {
			dst = append(dst, differs)
		}
		return dst
	}
	return c
}

func affinityColumn() TaskColumn {
	c := words(TaskColumn{ID: "affinity", Title: "ALLOWED", Width: 9,
		Help:  "CPUs the task may run on: its mask cut to its cpuset and to the online CPUs; * where threads differ, with those of all",
		Needs: needAffinity, Missing: whyThreads("affinity", sample.HaveAffinity, whyNot("affinity"))},
		func(r Row) string {
			set, ok := r.allowed()
			if !ok {
				return ""
			}
			return set.String()
		})
	c.Usual = func(r Row) bool {
		set, ok := r.allowed()
		return !ok || set.Empty() || r.M.Topology != nil && set.Equal(r.M.Topology.Online) && !r.group().AffinityDiffers
	}
	c.Append = func(dst []byte, r Row) []byte {
		set, ok := r.allowed()
		if !ok || set.Empty() {
			return appendNone(dst, r)
		}
		dst = set.Append(dst)
		if r.group().AffinityDiffers {
			dst = append(dst, differs)
		}
		return dst
	}
	return c
}

// allowed are the CPUs that the row, or a thread of it, may run on. Those of the first
// thread alone do not tell it.
func (r Row) allowed() (set cpuset.Set, known bool) {
	t := r.Task()
	if g := r.group(); g.Have&sample.HaveAffinity != 0 {
		return g.CPUs, true
	}
	return t.Affinity, t.Have&sample.HaveAffinity != 0 && (t.Threads < 2 || !t.IsProcess())
}

func ioprioColumn() TaskColumn {
	names := [...]string{kernel.IONone: "none", kernel.IORealTime: "real-time", kernel.IOBestEffort: "best-effort", kernel.IOIdle: "idle"}
	short := [...]string{kernel.IONone: "none", kernel.IORealTime: "rt", kernel.IOBestEffort: "be", kernel.IOIdle: "idle"}
	levelled := func(c kernel.IOClass) bool { return c == kernel.IORealTime || c == kernel.IOBestEffort }
	known := func(r Row) (kernel.IOPrio, bool) {
		p := r.Task().IOPrio
		return p, r.Task().Have&sample.HaveIOPrio != 0 && int(p.Class) < len(names)
	}
	c := words(TaskColumn{ID: "ioprio", Title: "IO", Width: 5,
		Help: "I/O class and level: rt or be with 0 first to 7 last, idle, or none (follows nice)", Needs: needIOPrio,
		Missing: whyNot("I/O priority")},
		func(r Row) string {
			p, ok := known(r)
			if !ok {
				return ""
			}
			if levelled(p.Class) {
				return string(appendInt(append([]byte(names[p.Class]), ':'), int64(p.Level)))
			}
			return names[p.Class]
		})
	c.Append = func(dst []byte, r Row) []byte {
		p, ok := known(r)
		if !ok {
			return appendNone(dst, r)
		}
		dst = append(dst, short[p.Class]...)
		if levelled(p.Class) {
			dst = append(dst, ':')
			dst = appendInt(dst, int64(p.Level))
		}
		return dst
	}
	return c
}

// stateName gives the one-letter states as strings, "" of a row that stands for several tasks.
func stateName(state byte) string {
	switch letter := state | 0x20; {
	case state == 0:
		return ""
	case letter < 'a' || letter > 'z':
		return "?"
	}
	return string([]byte{state}) // of one byte: this does not allocate
}
