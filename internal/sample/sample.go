// Package sample holds what the kernel said at one moment, untouched: counters
// and the time at which they were read. Rates, percentages and ranks exist only
// in internal/model, which computes them from two samples.
//
// A published Sample is immutable. Start at Sample; Sampler fills them.
package sample

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/why"
)

// Sample is the machine at one moment. What it counts since the sample before is
// since the one that the reader of Samples took before.
type Sample struct {
	Seq  uint64        // 1, 2, 3, … of this Sampler
	Wall time.Time     // when the reading began
	At   time.Duration // the same since the Sampler was made, by a clock that never jumps, for dividing by
	// Late is how much later than planned the reading began, and Replaced how many
	// samples were replaced before anyone took them, since the Sampler was made.
	Late     time.Duration
	Replaced uint64
	Host     Host
	CPUs     []CPU // in rising order of number; offline CPUs are absent, and one whose row is missing may be
	// Tasks are in rising order of TID. A row that says what it said in the sample
	// before may be shared with it.
	Tasks []*Task
	// Migrations says where the migration counters of CPUs come from.
	Migrations Source
	// Moves are the migrations by task and pair of CPUs since the sample before,
	// in no order; MovesLost counts those for which there was no room. Only a
	// source that counts in the kernel has them: HaveMoves.
	Moves     []Move
	MovesLost uint64
	HaveMoves bool
	// Steps are the moves of one task, Traced, since the sample before: of the one
	// that Needs.Trace names, from the second sample after it was named. A process's
	// number stands for its first thread. Traced is 0 where nothing is followed.
	Traced    kernel.TID
	Steps     []Step
	StepsLost uint64
	// Wakes are those of the process that Needs.Wakes names, from the second sample
	// after it was named.
	Wakes Wakes
	// Flows are those of the process that Needs.Flows names, in the same way.
	Flows Flows
	// RunIntervals are who ran where, with Needs.Ledger. RunIntervalsLost counts those for which
	// there was no room.
	RunIntervals     []RunInterval
	RunIntervalsLost uint64
	// CPUGroups are the control groups of tasks, with Needs.CPUGroups, and their ancestors, by
	// Identity.CPUGroup.
	CPUGroups map[string]CPUGroup
	// Waits are what tasks waited for a CPU for since the sample before, with Needs.Waits, of those
	// that were watched. WaitsLost counts events that were lost.
	Waits      map[kernel.TID]why.Brief
	WaitsLost  uint64
	Hidden     string      // in words, which processes could not be seen; "" none
	Collectors []Collector // what each source cost, and whether it worked
}

// Host is what concerns the whole machine. Values that could not be read are
// zero and their Have bit is unset.
type Host struct {
	Name           string        // "" unknown
	Uptime         time.Duration // 0 unknown
	Boot           time.Time     // "btime" in /proc/stat, the same in all samples; zero unknown
	Load1          float64       // the loads with HaveLoad
	Load5          float64
	Load15         float64
	MemTotalBytes  uint64 // 0 unknown
	MemUsedBytes   uint64 // total less available, with HaveMemUsed
	SwapTotalBytes uint64 // with HaveSwap
	SwapUsedBytes  uint64 // with HaveSwapUsed
	Forks          uint64 // tasks created since boot, "processes" in /proc/stat; 0 unknown
	Switches       uint64 // context switches since boot, "ctxt" in /proc/stat; 0 unknown

	HaveLoad, HaveMemUsed, HaveSwap, HaveSwapUsed bool

	TicksPerSecond int // USER_HZ, the unit of every *Ticks figure
	PageBytes      int
	PSI            PSI // with Needs.PSI
}

// Find is the index of a task in tasks that are in the order of their numbers, as those of
// a sample are.
func Find(tasks []*Task, tid kernel.TID) (i int, ok bool) {
	return slices.BinarySearchFunc(tasks, tid, func(t *Task, tid kernel.TID) int { return cmp.Compare(t.TID, tid) })
}

// PSI is the pressure of the machine: the shares of the last 10 s, in percent, in which
// some task waited for a CPU, for I/O, for memory (Documentation/accounting/psi.rst).
type PSI struct {
	CPU, IO, Memory float64 // NaN unknown
	Have            bool
}

// CPU is the counters of one online CPU since boot. Times are in USER_HZ ticks
// (/proc/stat, proc(5)); Guest and GuestNice are already contained in User and
// Nice there.
type CPU struct {
	ID      cpuset.CPU
	NoTimes bool // its row of /proc/stat could not be used: the *Ticks are unknown
	UserTicks, NiceTicks, SystemTicks, IdleTicks, IOWaitTicks,
	IRQTicks, SoftIRQTicks, StealTicks, GuestTicks, GuestNiceTicks uint64
	// MigrationsIn and MigrationsOut count tasks that moved to and from this CPU
	// since the sampler started. MigrationsOut is known to some sources only.
	MigrationsIn, MigrationsOut uint64
	HaveIn, HaveOut             bool
	// Pressure is the load of the run queue in CPUs by the kernel's own averages
	// of the last 100 ms or so, nice values weighed, interrupts and real time
	// included, kernel threads below nice 0 left out; Queued is the number of tasks running or waiting. With HavePressure.
	Pressure     float32
	Queued       uint32
	HavePressure bool
}

// Source names where a figure comes from, best last.
type Source uint8

// The sources of the migration ladder.
const (
	SourceNone    Source = iota
	SourceSampled        // the last CPU, looked at once a tick: a lower bound
	SourcePerf           // perf's per-CPU software counter: merges moves made while queued
	SourceSched          // se.nr_migrations of /proc/PID/task/TID/sched: exact per task
	SourceBPF            // counted in the kernel on sched_migrate_task: exact
)

// String is the word that screens and JSON use: "none", "sampled", "perf",
// "sched", "ebpf".
func (s Source) String() string {
	return [...]string{"none", "sampled", "perf", "sched", "ebpf"}[s]
}

// Exact reports whether the source misses nothing.
func (s Source) Exact() bool { return s == SourceSched || s == SourceBPF }

// Have says which optional figures of a Task were read in this sample.
type Have uint32

// The optional figures.
const (
	HaveRun        Have = 1 << iota // RunDelayNs, Slices (schedstat)
	HaveAffinity                    // Affinity
	HaveSwitches                    // VoluntarySwitches, InvoluntarySwitches
	HaveMigrations                  // Migrations
	HaveAttr                        // ResetOnFork (sched_getattr)
	HaveIOPrio
	HavePingPongs // PingPongs
	HaveTime      // RunNs
	HavePressure  // Pressure
	HaveMemory    // Extra.VirtPages, SharePages
	HaveIO        // Extra.ReadBytes, WriteBytes
	HaveOOM       // Extra.OOMScore
	HaveWait      // Extra.WaitChannel

	haveOwner // ID.UID is not to be asked for
	haveGroup // nor is Group
)

// Task is one thread, or a process: a row whose TID equals its TGID stands for
// the whole process in CPU time, memory, thread count, migrations and switches,
// and for its first thread in everything else (state, CPU, policy, run delay),
// as /proc/PID does; Group is what was read of all its threads.
type Task struct {
	TID, TGID, PPID kernel.TID
	LastCPU         int32     // -1 unknown
	StartTicks      uint64    // since boot, field 22 of stat; with TID it names a task for good
	ID              *Identity // never nil
	UserTicks       uint64
	SystemTicks     uint64
	RSSPages        int64
	MinorFaults     uint64
	MajorFaults     uint64
	Flags           uint32 // PF_*, field 9 of stat
	Threads         int32
	Priority        int16 // field 18 of stat, as top's PR
	State           byte  // R S D Z T t I X …, proc(5)
	Policy          kernel.Policy
	Nice            int8
	RTPrio          uint8

	Odd                 bool // its stat file is cut or malformed: of that, only the name is known
	ResetOnFork         bool
	MigrationSource     Source // of Migrations, when HaveMigrations
	Have                Have
	RunNs               uint64 // time on a CPU, of a process that of all its threads, ended ones included
	RunDelayNs          uint64 // time runnable but waiting, of this thread
	Slices              uint64 // times put on a CPU, of this thread
	Migrations          uint64 // se.nr_migrations; of a process, of all its threads since piton watches it; or since piton saw it, when sampled
	PingPongs           uint64 // moves back within 100 ms to the CPU just left, since the source started
	VoluntarySwitches   uint64
	InvoluntarySwitches uint64
	Affinity            cpuset.Set
	IOPrio              kernel.IOPrio
	summed              bool // Migrations is of a process that has or had several threads
	// Pressure is the task's own part of the Pressure of its LastCPU; of a process,
	// that of all its threads, wherever they are.
	Pressure float32
	Group    *Threads // nil of a process with one thread, and where nothing was read
	Extra    *Extra   // nil where nothing was read
	living   uint64   // migrations of its threads that live (SourceBPF)
}

// IsProcess reports whether the row stands for a process.
func (t *Task) IsProcess() bool { return t.TID == t.TGID }

// IsKernel reports whether it is a kernel thread.
func (t *Task) IsKernel() bool { return t.Flags&FlagKernelThread != 0 }

// Ended reports whether it runs no more.
func (t *Task) Ended() bool { return t.State == 'Z' || t.State == 'X' }

// same reports whether two rows say the same of the same task.
func (t *Task) same(o *Task) bool {
	return t.RunNs == o.RunNs && t.Slices == o.Slices && t.RunDelayNs == o.RunDelayNs &&
		t.TID == o.TID && t.TGID == o.TGID && t.PPID == o.PPID && t.LastCPU == o.LastCPU &&
		t.StartTicks == o.StartTicks && t.ID == o.ID &&
		t.UserTicks == o.UserTicks && t.SystemTicks == o.SystemTicks && t.RSSPages == o.RSSPages &&
		t.MinorFaults == o.MinorFaults && t.MajorFaults == o.MajorFaults && t.Flags == o.Flags &&
		t.Threads == o.Threads && t.Priority == o.Priority && t.State == o.State &&
		t.Policy == o.Policy && t.Nice == o.Nice && t.RTPrio == o.RTPrio &&
		t.Odd == o.Odd && t.ResetOnFork == o.ResetOnFork && t.MigrationSource == o.MigrationSource && t.Have == o.Have &&
		t.Migrations == o.Migrations && t.PingPongs == o.PingPongs &&
		t.VoluntarySwitches == o.VoluntarySwitches && t.InvoluntarySwitches == o.InvoluntarySwitches &&
		t.IOPrio == o.IOPrio && t.summed == o.summed && t.Pressure == o.Pressure && t.living == o.living &&
		t.Group == o.Group && t.Extra == o.Extra &&
		t.Affinity.Equal(o.Affinity)
}

// thread is the task's number below /proc/PID/task, 0 for a process, whose own
// files are meant.
func (t *Task) thread() kernel.TID {
	if t.IsProcess() {
		return 0
	}
	return t.TID
}

// Kernel-thread flags of Task.Flags (include/linux/sched.h).
const (
	FlagKernelThread  = procfs.FlagKernelThread
	FlagNoSetAffinity = procfs.FlagNoSetAffinity
)

// Identity is what seldom changes in a task's life; it is shared between
// samples and never written after it is published (a change makes a new one).
type Identity struct {
	Comm    string // up to 15 bytes as the kernel has them; may hold any byte but NUL
	Cmdline string // arguments joined with spaces, the first 128 KiB and then "…"; "" for kernel threads and zombies
	Exe     string // "" when not permitted
	Cgroup  string // path in the unified hierarchy, else of the cpuset or cpu controller
	// CPUGroup is the path in the hierarchy that limits CPU time, which is Cgroup where there is one only.
	CPUGroup string
	User     string // name, or the number when it has none; "" unknown
	UID      uint32 // the effective one, 1<<32 - 1 unknown
	Full     bool   // false while only Comm and UID were read
	// TwoUsers says that the real user is another than UID, as of a set-user-ID program,
	// which anybody may have started; it is known where Needs.BothUsers asked for it.
	TwoUsers bool

	seen    time.Duration // when it was looked at last
	ran     uint64        // Task.RunNs then
	settled bool          // it was looked at again after its birth, or it is as old as piton
}

// Collector is one source's share of a sample.
type Collector struct {
	Name string // "cpus", "tasks", "details", "migrations", "trace", "wakes", "flows", "ledger", "groups", "waits", "host"
	Took time.Duration
	Err  error  // nil when it worked; the rest of the sample is sound all the same
	Rung string // the rung of the ladder in use, e.g. "procfs", "perf"
	// Better says what the next better rung needs, "" when the best is in use.
	Better string
}

// Faults says what of the basic figures could not be read and why, a sentence each; the
// rest of the sample is sound.
func (s *Sample) Faults() (out []string) {
	if s.Hidden != "" {
		out = append(out, s.Hidden)
	}
	for _, c := range s.Collectors {
		if c.Err != nil && slices.Contains([]string{"cpus", "tasks", "host"}, c.Name) {
			out = append(out, strings.ReplaceAll(c.Err.Error(), "\n", "; "))
		}
	}
	return out
}

// WhyNot is why a collector has nothing, "" if it has.
func (s *Sample) WhyNot(collector string) (why string) {
	for _, c := range s.Collectors {
		if c.Name == collector && c.Err != nil {
			_, why, _ = strings.Cut(c.Err.Error(), ": ")
		}
	}
	return why
}
