package sample

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// details completes the rows of a taskSource: names, and the figures that only
// some tasks need.
type details struct {
	fs       procfs.FS
	r        *procfs.Reader
	kernel   kernel.Scheduler // nil on a root that is not this machine's
	ids      identities
	hasSched bool // the kernel writes the sched file
	tallies  tallies

	kept, spare []kept // aligned with the tasks of the last sample
	wish        []wish // reused
	mask        cpuset.Set
	crews       crews
	tids        []kernel.TID // reused
	renewed     bool         // a row has another identity than its source gave it
}

// kept is what is remembered of one task beyond its last row.
type kept struct {
	runNs uint64 // Task.RunNs when the sched files were read
	moves uint64 // changes of LastCPU from one sample to the next
}

// wish is a task whose sched file should be read if the budget allows.
type wish struct {
	i    int
	runs uint64 // times it was put on a CPU since the last sample
}

// The budget of one sample for tasks that nobody watches but that ran, the
// liveliest first: reading a sched file costs about 5 µs a thread.
const schedBudget = 256

const (
	idEvery      = 5 * time.Second // watched tasks that ran: a program may rewrite its arguments
	idEveryStill = time.Minute     // those that did not: only others can change them, their cgroup say
	idEveryOther = 3 * time.Minute // a change of user without an exec
)

// fill completes w.tasks; before are the tasks of the last sample.
func (d *details) fill(w *walk, before []*Task) {
	d.wish, d.spare, d.renewed, d.crews.list = d.wish[:0], d.spare[:0], false, d.crews.list[:0]
	if w.only {
		d.some(w, before)
		return
	}
	j := 0
	for i := range w.tasks {
		t := w.tasks[i]
		for j < len(before) && before[j].TID < t.TID {
			j++
		}
		var old *Task
		var k kept
		if j < len(before) && before[j].TID == t.TID && before[j].StartTicks == t.StartTicks {
			old = before[j]
			if len(d.kept) == len(before) { // else another source had them
				k = d.kept[j]
			}
		}
		d.one(w, i, old, &k)
		d.spare = append(d.spare, k)
	}
	d.kept, d.spare = d.spare, d.kept
	d.grant(w)
	d.grantThreads(w)
	d.tallies.forget(w.seq)
}

// some completes the rows that a source could not.
func (d *details) some(w *walk, before []*Task) {
	d.kept = d.kept[:0]
	for _, at := range w.partial {
		var old *Task
		if at.before >= 0 {
			old = before[at.before]
		}
		d.one(w, int(at.now), old, &kept{})
	}
	d.grant(w)
	d.grantThreads(w)
	d.tallies.forget(w.seq)
}

func (d *details) one(w *walk, i int, old *Task, k *kept) {
	t := w.tasks[i]
	watched := w.needs.watched(t.TID)
	turn := w.turn(t.TID)
	d.identity(w, t, old, watched, turn)
	if w.needs.Affinity && t.Have&HaveAffinity == 0 {
		if old != nil && old.Have&HaveAffinity != 0 && !watched && !turn {
			t.Affinity = old.Affinity
			t.Have |= HaveAffinity
		} else {
			d.affinity(t, old)
		}
	}
	if old != nil && old.LastCPU != t.LastCPU {
		k.moves++
	}
	if t.Have&HaveMigrations == 0 {
		t.Migrations, t.MigrationSource = k.moves, SourceSampled
		t.Have |= HaveMigrations
		if (w.needs.Migrations || w.needs.Switches) && !t.Odd {
			d.counters(w, i, old, k, watched)
		}
	}
	if !watched {
		if w.needs.Delay && w.needs.ThreadDelay && old != nil && t.RunNs != old.RunNs {
			d.threads(w, t, old)
		}
		return
	}
	if d.kernel != nil {
		d.attributes(w, t)
	}
	d.threads(w, t, old)
	d.extra(w, t, old)
}

func (d *details) identity(w *walk, t, old *Task, watched, turn bool) {
	full := w.needs.Identity || w.needs.listed(t.TID)
	d.ids.both, d.ids.exe = w.needs.BothUsers, w.needs.Exe
	switch age := w.at - t.ID.seen; {
	case old == nil || old.ID != t.ID: // new, or renamed by exec or by itself
		d.ids.complete(t.ID, t, w.seq, full)
		t.ID.seen, t.ID.ran = w.at, t.RunNs
		t.ID.settled = w.seq == 1 || old != nil && old.ID.settled
	case full && !t.ID.Full, !t.ID.settled, watched && age >= t.ID.lasts(t), turn && age >= idEveryOther,
		execed(t, old):
		// A daemon gives up root, a child becomes another program soon after it was born.
		t.ID = d.ids.refreshed(t, w, full || t.ID.Full)
		d.renewed = true
	}
}

// lasts is how long what was read of a watched task is good for.
func (id *Identity) lasts(t *Task) time.Duration {
	if t.RunNs != 0 && t.RunNs == id.ran {
		return idEveryStill
	}
	return idEvery
}

// flagForkNoExec is PF_FORKNOEXEC: forked, no exec yet.
const flagForkNoExec = 0x40

func execed(t, old *Task) bool { return old.Flags&^t.Flags&flagForkNoExec != 0 }

// affinity reads the mask; equal masks share their memory.
func (d *details) affinity(t, old *Task) {
	set, err := d.readMask(t.TGID, t.TID, t.thread())
	if err != nil {
		return
	}
	switch {
	case old != nil && set.Equal(old.Affinity):
		set = old.Affinity
	case set.Equal(d.mask):
		set = d.mask
	default:
		d.mask = set
	}
	t.Affinity = set
	t.Have |= HaveAffinity
}

// readMask reads the mask of a thread, whose files are those of file.
func (d *details) readMask(pid, tid, file kernel.TID) (cpuset.Set, error) {
	if d.kernel != nil {
		return d.kernel.Affinity(tid)
	}
	st, err := d.fs.ThreadStatus(pid, file)
	if !st.CPUsAllowed.Empty() {
		return st.CPUsAllowed, nil // it is another line that is not understood
	}
	return st.CPUsAllowed, cmp.Or(err, errNoMask)
}

var errNoMask = errors.New("status without Cpus_allowed_list")

// attributes reads what only a system call tells.
func (d *details) attributes(w *walk, t *Task) {
	if attr, err := d.kernel.Attr(t.TID); err == nil {
		t.ResetOnFork = attr.ResetOnFork
		t.Have |= HaveAttr
	}
	if !w.needs.IOPrio {
		return
	}
	if prio, err := d.kernel.IOPrio(t.TID); err == nil {
		t.IOPrio = prio
		t.Have |= HaveIOPrio
	}
}

// grant reads the sched files wished for, within the budget.
func (d *details) grant(w *walk) {
	if len(d.wish) > schedBudget {
		slices.SortFunc(d.wish, func(a, b wish) int {
			return cmp.Or(cmp.Compare(b.runs, a.runs), cmp.Compare(a.i, b.i))
		})
	}
	left := schedBudget
	for _, v := range d.wish {
		t := w.tasks[v.i]
		if left -= threadsToRead(t); left < 0 {
			return
		}
		k := &kept{}
		if !w.only {
			k = &d.kept[v.i]
		}
		d.readSched(w, t, k)
	}
}

// Extra are figures that only columns that are seldom shown need. It is immutable
// and may be shared between samples.
type Extra struct {
	Have                  Have // HaveMemory, HaveIO, HaveOOM, HaveWait
	VirtPages, SharePages uint64
	ReadBytes, WriteBytes uint64 // from and to storage
	OOMScore              int
	WaitChannel           string // kernel function that it sleeps in
}

// extra reads what the shown columns need of a watched task. Of a task at rest it
// still holds.
func (d *details) extra(w *walk, t, old *Task) {
	want := w.needs.extraFacts()
	if want == 0 {
		return
	}
	if old != nil && old.Extra != nil && old.Extra.Have == want && d.still(w, t, old) {
		t.Extra = old.Extra
		return
	}
	e := &Extra{Have: want}
	read := func(bit Have, file string, parse func([]byte) bool) {
		if want&bit == 0 {
			return
		}
		if b, err := d.r.Task(t.TGID, t.thread(), file); err != nil || !parse(b) {
			e.Have &^= bit
		}
	}
	read(HaveMemory, "statm", func(b []byte) (ok bool) {
		e.VirtPages, e.SharePages, ok = procfs.ParseStatm(b)
		return ok
	})
	read(HaveIO, "io", func(b []byte) (ok bool) {
		e.ReadBytes, e.WriteBytes, ok = procfs.ParseIO(b, procfs.DiskBytes)
		return ok
	})
	read(HaveOOM, "oom_score", func(b []byte) (ok bool) {
		e.OOMScore, ok = procfs.ParseOOMScore(b)
		return ok
	})
	read(HaveWait, "wchan", func(b []byte) bool {
		e.WaitChannel = strings.TrimSpace(string(b))
		return e.WaitChannel != "0" // it runs, or this user may not look into it
	})
	t.Extra = e
}

// extraFacts is what is wanted of a watched task, as bits of Have.
func (n *wanted) extraFacts() (want Have) {
	for _, f := range []struct {
		on  bool
		bit Have
	}{{n.Memory, HaveMemory}, {n.IO, HaveIO}, {n.OOM, HaveOOM}, {n.Wait, HaveWait}} {
		if f.on {
			want |= f.bit
		}
	}
	return want
}
