package sample

import (
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
	records []bpf.Record // the walk's, until the next one
	threads bpfThreads
	scale   []float32 // reused; by CPU, see queueScale
	helpers []float32 // reused; by CPU, load of kernel threads that is left out
	hidden  *procWalk // tasks that this machine hides from the walk; nil none
	looked  bool      // for hidden ones
	rest    []*Task   // reused; the hidden ones of this sample
	partial []row     // reused; walk.partial
	now     Task      // reused; the row that is being filled
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
	var threads []bpf.Thread
	if b.records, threads, stats, err = b.kernel.Read(w.needs.Threads); err != nil {
		return err
	}
	if stats.Truncated > 0 {
		return fmt.Errorf("task walk by eBPF: no memory for %d of %d tasks", stats.Truncated, stats.Tasks)
	}
	if w.needs.threadFacts() != 0 {
		b.threads.sort(b.records, threads)
	}
	hidden := b.walkHidden(w, listed)
	b.queueScale(&stats)
	w.queues, w.haveQueues = stats.RunQueues, stats.Have&bpf.HaveRunQueues != 0
	b.convert(w, &stats, hidden)
	w.helpers = b.helpers
	return nil
}

// convert appends a Task for each record, and the hidden tasks, in order. Every
// pass over the rows of thousands of tasks costs as much as the one over the
// records, so this one also notes which rows need more. Most tasks of a large
// machine sleep: their rows are those of the sample before.
func (b *bpfWalk) convert(w *walk, stats *bpf.WalkStats, hidden []*Task) {
	w.tasks = slices.Grow(w.tasks, len(b.records)+len(hidden))
	w.only, b.partial = true, b.partial[:0]
	var last cursor
	for i := range b.records {
		r := &b.records[i]
		for len(hidden) > 0 && hidden[0].TID <= r.TID {
			if hidden[0].TID < r.TID { // else the number is another task's now
				b.append(w, hidden[0], last.find(w.before, hidden[0].TID, hidden[0].StartTicks))
			}
			hidden = hidden[1:]
		}
		at := last.find(w.before, r.TID, r.StartNs/tickNs)
		var old *Task
		if at >= 0 {
			old = w.before[at]
		}
		b.now = Task{}
		t := &b.now
		b.task(w, t, r, old, stats)
		if t.IsProcess() && w.needs.threadFacts() != 0 {
			t.Group = b.threads.group(i, stats, old)
		}
		switch {
		case old == nil || t.ID != old.ID || !t.ID.settled || t.Have&HaveAffinity == 0 || last.watched(w.needs, t.TID):
			b.partial = append(b.partial, row{int32(len(w.tasks)), at})
		case t.same(old):
			w.tasks = append(w.tasks, old)
			continue
		}
		own := *t
		w.tasks = append(w.tasks, &own)
	}
	for i := range hidden {
		b.append(w, hidden[i], last.find(w.before, hidden[i].TID, hidden[i].StartTicks))
	}
	w.partial = b.partial
}

// append adds a row that /proc told.
func (b *bpfWalk) append(w *walk, t *Task, before int32) {
	b.partial = append(b.partial, row{int32(len(w.tasks)), before})
	w.tasks = append(w.tasks, t)
}

// cursor follows rising TIDs in the last sample and in the watched tasks.
type cursor struct{ before, watch int }

// find returns the index of a task in the last sample, -1 if it is not there. Mostly
// the task looked for is the next one; a few of very many are far apart.
func (c *cursor) find(before []*Task, tid kernel.TID, startTicks uint64) int32 {
	for next := 0; next < 2 && c.before < len(before) && before[c.before].TID < tid; next++ {
		c.before++
	}
	if c.before < len(before) && before[c.before].TID < tid {
		rest, _ := Find(before[c.before:], tid)
		c.before += rest
	}
	if c.before < len(before) && before[c.before].TID == tid && before[c.before].StartTicks == startTicks {
		return int32(c.before)
	}
	return -1
}

func (c *cursor) watched(n *wanted, tid kernel.TID) bool {
	for c.watch < len(n.watch) && n.watch[c.watch] < tid {
		c.watch++
	}
	return n.All || c.watch < len(n.watch) && n.watch[c.watch] == tid
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
	t.Have = HaveTime | HaveSwitches | HaveMigrations | haveOwner | haveGroup
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
		b.help(t)
	}
	times(t, r, old)
	t.living, t.Migrations = r.Migrations, r.Migrations
	b.carry(w, t, old)
	t.ID = b.identity(w, t, r, old)
}

// carry adds to what was counted before. Threads that end take their migrations
// with them, so those of a process that has or had several are counted by
// bpfMigrations, where that is in use.
func (b *bpfWalk) carry(w *walk, t, old *Task) {
	if w.returns {
		t.Have |= HavePingPongs
	}
	if old == nil {
		return
	}
	t.PingPongs = old.PingPongs
	t.summed = t.IsProcess() && old.MigrationSource == SourceBPF && (old.summed || t.Threads > 1 || old.Threads > 1)
	switch {
	case t.summed && w.returns:
		t.Migrations = old.Migrations
	case t.summed:
		t.Migrations = old.Migrations + t.living - min(old.living, t.living)
	}
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
func (b *bpfWalk) walkHidden(w *walk, listed []kernel.TID) []*Task {
	var found []candidate
	if !b.looked {
		b.looked = true
		for _, tid := range listed {
			if bpf.FindRecord(b.records, tid, 0) < 0 {
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

// queueScale notes what turns a task's load into its part of CPU.Pressure.
func (b *bpfWalk) queueScale(stats *bpf.WalkStats) {
	b.scale, b.helpers = b.scale[:0], b.helpers[:0]
	for i := range stats.RunQueues {
		b.scale = append(b.scale, float32(stats.RunQueues[i].Decay()/capacity))
		b.helpers = append(b.helpers, 0)
	}
}

// Helper reports whether the task is one of the kernel's own workers at nice -20.
// Each weighs as much as 86 busy tasks for the moment that it runs, which tells
// nothing about the next, so CPU.Pressure leaves them out.
func (t *Task) Helper() bool { return t.IsKernel() && t.Nice < 0 }

// help notes the load of a helper.
func (b *bpfWalk) help(t *Task) {
	if t.Helper() {
		b.helpers[t.LastCPU] += t.Pressure
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
			c.Pressure = max(0, float32(q.Load()/capacity)-w.helpers[c.ID])
			c.Queued, c.HavePressure = q.Running, true
		}
	}
}
