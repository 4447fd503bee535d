package sample

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/bpf"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// bpfWalk walks the tasks inside the kernel: every figure of every task in one
// pass, so nothing is carried over or guessed. It keeps no state of its own
// about tasks; what it needs of the last sample it takes from its rows.
type bpfWalk struct {
	kernel  *bpf.Walk
	r       *procfs.Reader
	fs      procfs.FS
	records []bpf.Record // reused
	order   []uint64     // reused; TID, then index in records
	scale   []float32    // reused; by CPU, see queueScale
	hidden  *procWalk    // tasks that this machine hides from the walk; nil none
	looked  bool         // for hidden ones
	rest    []Task       // reused; the hidden ones of this sample
}

func newBPFWalk(w *bpf.Walk, fs procfs.FS, r *procfs.Reader) *bpfWalk {
	return &bpfWalk{kernel: w, fs: fs, r: r}
}

func (b *bpfWalk) rung() string { return string(b.kernel.Rung()) }

func (b *bpfWalk) close() {
	b.kernel.Close()
	if b.hidden != nil {
		b.hidden.close()
	}
}

func (b *bpfWalk) walk(w *walk) error {
	listed, err := b.list()
	if err != nil {
		return err
	}
	var stats bpf.WalkStats
	if b.records, stats, err = b.kernel.Read(b.records, w.needs.Threads); err != nil {
		return err
	}
	if stats.Truncated > 0 {
		return fmt.Errorf("task walk by eBPF: no memory for %d of %d tasks", stats.Truncated, stats.Tasks)
	}
	b.sort()
	hidden := b.walkHidden(w, listed)
	b.queueScale(&stats)
	w.queues, w.haveQueues = stats.RunQueues, stats.Have&bpf.HaveRunQueues != 0
	b.convert(w, &stats, hidden)
	return nil
}

// sort puts the records in the order of TID. The kernel's order is that of
// birth, which is nearly the same.
func (b *bpfWalk) sort() {
	b.order = slices.Grow(b.order[:0], len(b.records))[:len(b.records)]
	for i := range b.records {
		b.order[i] = uint64(b.records[i].TID)<<32 | uint64(i)
	}
	slices.Sort(b.order)
}

// convert appends a Task for each record, and the hidden tasks, in order.
func (b *bpfWalk) convert(w *walk, stats *bpf.WalkStats, hidden []Task) {
	n := len(b.records) + len(hidden)
	w.tasks = slices.Grow(w.tasks, n)
	before := w.before
	for _, key := range b.order {
		r := &b.records[uint32(key)]
		for len(hidden) > 0 && hidden[0].TID <= r.TID {
			if hidden[0].TID < r.TID { // else the number is another task's now
				w.tasks = append(w.tasks, hidden[0])
			}
			hidden = hidden[1:]
		}
		for len(before) > 0 && before[0].TID < r.TID {
			before = before[1:]
		}
		var old *Task
		if len(before) > 0 && before[0].TID == r.TID && before[0].StartTicks == r.StartNs/tickNs {
			old = &before[0]
		}
		w.tasks = append(w.tasks, Task{})
		b.task(w, &w.tasks[len(w.tasks)-1], r, old, stats)
	}
	w.tasks = append(w.tasks, hidden...)
}

// tickNs is the length of a USER_HZ tick.
const tickNs = 1e9 / userHZ

// task fills the row of a record. old is the task's last row, of whatever rung.
func (b *bpfWalk) task(w *walk, t *Task, r *bpf.Record, old *Task, stats *bpf.WalkStats) {
	t.TID, t.TGID, t.PPID, t.LastCPU = r.TID, r.TGID, r.PPID, r.LastCPU
	t.StartTicks, t.RSSPages = r.StartNs/tickNs, r.RSSPages
	t.MinorFaults, t.MajorFaults, t.Flags = r.MinorFaults, r.MajorFaults, r.Flags
	t.Threads, t.Priority, t.State = r.Threads, r.Priority, r.State
	t.Policy, t.Nice, t.RTPrio = r.Policy, r.Nice, r.RTPrio
	t.VoluntarySwitches, t.InvoluntarySwitches = r.VoluntarySwitches, r.InvoluntarySwitches
	t.MigrationSource = SourceBPF
	t.Have = HaveTime | HaveSwitches | HaveMigrations | haveOwner
	if stats.Have&bpf.HaveRunDelay != 0 {
		t.RunDelayNs, t.Slices = r.RunDelayNs, r.Slices
		t.Have |= HaveRun
	}
	if r.Mask != bpf.NoMask {
		t.Affinity = stats.Masks[r.Mask]
		t.Have |= HaveAffinity
	}
	if w.haveQueues && int(r.LastCPU) < len(b.scale) && r.LastCPU >= 0 {
		t.Pressure = float32(r.Load) * b.scale[r.LastCPU]
		t.Have |= HavePressure
	}
	times(t, r, old)
	t.living, t.Migrations = r.Migrations, r.Migrations
	if old != nil && old.MigrationSource == SourceBPF {
		// Threads that ended took their count with them.
		t.Migrations = old.Migrations + r.Migrations - min(old.living, r.Migrations)
	}
	t.ID = b.identity(w, t, r, old)
}

// times sets the CPU time: exact in ns, in ticks as /proc would show it.
func times(t *Task, r *bpf.Record, old *Task) {
	t.RunNs = r.RunNs
	if r.IsProcess() {
		t.RunNs = r.CPUNs
	}
	var shownUser, shownSystem uint64
	if old != nil {
		if old.Have&HaveTime != 0 && old.RunNs == t.RunNs {
			t.UserTicks, t.SystemTicks = old.UserTicks, old.SystemTicks
			return
		}
		shownUser, shownSystem = old.UserTicks*tickNs, old.SystemTicks*tickNs
	}
	user, system := bpf.AdjustCPUTime(r.UserNs, r.SystemNs, t.RunNs, shownUser, shownSystem)
	t.UserTicks, t.SystemTicks = user/tickNs, system/tickNs
}

// flagWorker is PF_WQ_WORKER: its name says what it worked on last.
const flagWorker = 0x20

// identity returns the identity of the last row while name and owner are the
// same. Kernel threads have longer names in /proc than the kernel's own field.
func (b *bpfWalk) identity(w *walk, t *Task, r *bpf.Record, old *Task) *Identity {
	raw := r.CommRaw()
	if r.Flags&FlagKernelThread == 0 {
		if old != nil && old.ID.Comm == string(raw) && old.ID.UID == r.UID {
			return old.ID
		}
		return &Identity{Comm: string(raw), UID: r.UID}
	}
	if old != nil && strings.HasPrefix(old.ID.Comm, string(raw)) {
		again := r.Flags&flagWorker != 0 && old.RunNs != t.RunNs && (w.needs.watched(t.TID) || w.turn(t.TID))
		if !again {
			return old.ID
		}
	}
	name := b.longName(t.TGID, raw)
	if old != nil && old.ID.Comm == name && old.ID.UID == r.UID {
		return old.ID
	}
	return &Identity{Comm: name, UID: r.UID}
}

func (b *bpfWalk) longName(pid kernel.TID, raw []byte) string {
	name, err := b.r.Task(pid, 0, "comm")
	if err != nil || len(name) < 2 {
		return string(raw)
	}
	return string(name[:len(name)-1]) // it ends in a newline
}

// queueScale notes what turns a task's load into its part of CPU.Pressure.
func (b *bpfWalk) queueScale(stats *bpf.WalkStats) {
	b.scale = b.scale[:0]
	for i := range stats.RunQueues {
		b.scale = append(b.scale, float32(stats.RunQueues[i].Decay()/capacity))
	}
}

// capacity is the load of a CPU that is always busy at nice 0.
const capacity = 1024

// pressure sets the run queues' load in CPUs.
func pressure(cpus []CPU, w *walk) {
	if !w.haveQueues {
		return
	}
	for i := range cpus {
		c := &cpus[i]
		if int(c.ID) < len(w.queues) && w.queues[c.ID].OK {
			q := &w.queues[c.ID]
			c.Pressure, c.Queued, c.HavePressure = float32(q.Load()/capacity), q.Running, true
		}
	}
}

// list lists the processes of /proc, before the first walk only.
func (b *bpfWalk) list() ([]kernel.TID, error) {
	if b.looked {
		return nil, nil
	}
	tids, err := b.r.Processes(0, nil, nil)
	slices.Sort(tids)
	return tids, err
}

// walkHidden returns the tasks that the kernel's own walk did not show. A
// hardened machine can keep a process, its first one say, from eBPF programs;
// /proc has to tell of such ones.
func (b *bpfWalk) walkHidden(w *walk, listed []kernel.TID) []Task {
	var found []candidate
	if !b.looked {
		b.looked = true
		for _, tid := range listed {
			if _, walked := slices.BinarySearchFunc(b.order, tid, func(key uint64, tid kernel.TID) int {
				return cmp.Compare(key>>32, uint64(tid))
			}); !walked {
				found = append(found, candidate{tid, tid})
			}
		}
		if len(found) > 0 {
			b.hidden = newProcWalk(b.fs, b.r)
		}
	}
	if b.hidden == nil {
		return nil
	}
	own := *w
	own.tasks = b.rest[:0]
	b.hidden.update(&own, found, true) // those that have ended are dropped
	b.rest = own.tasks
	if len(b.hidden.procs.entries) == 0 {
		b.hidden.close()
		b.hidden = nil
	}
	return b.rest
}
