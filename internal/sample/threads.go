package sample

import (
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Threads is what was read of the threads of a process that has several; the
// first thread is among them. It is immutable and may be shared between samples.
type Threads struct {
	List []Thread   // in rising order of TID
	Have Have       // of every one: HaveRun, HaveAffinity, HaveAttr
	CPUs cpuset.Set // union of their masks, with HaveAffinity
	// Which of the threads' settings differ, with HaveAffinity and HaveAttr.
	AffinityDiffers, PolicyDiffers, NiceDiffers bool
}

// Thread is one of them.
type Thread struct {
	TID                kernel.TID
	RunDelayNs, Slices uint64 // with HaveRun

	affinity cpuset.Set
	policy   kernel.Policy
	rtprio   uint8
	nice     int8
}

// threadBudget is the most threads that are read in one sample: about 8 µs each
// with all that can be asked for. Processes above it go without, and come when
// those before them sleep.
const threadBudget = 2048

// stillEvery is after how many samples what others can change of a process at rest,
// and the settings of the threads of any, are read again. What changes its first thread
// is seen at once.
const stillEvery = 5

// threads sets what the shown columns need of a process's threads.
func (d *details) threads(w *walk, t, old *Task) {
	want := w.needs.threadFacts()
	if want == 0 || !t.IsProcess() || t.Threads < 2 || t.Have&haveGroup != 0 {
		return
	}
	var known []Thread // whose settings still hold
	if old != nil && old.Group != nil && old.Group.Have == want && d.asSet(w, t, old) {
		if int(t.Threads) == len(old.Group.List) && (want&HaveRun == 0 || d.slept(t, old)) {
			t.Group = old.Group
			return
		}
		known = old.Group.List
	}
	if d.threadsLeft -= int(t.Threads); d.threadsLeft < 0 {
		return
	}
	tids, err := d.r.Threads(t.TID, d.tids[:0])
	d.tids = tids
	if err != nil {
		return
	}
	slices.Sort(tids)
	g := &Threads{Have: want, List: make([]Thread, 0, len(tids))}
	for _, tid := range tids {
		for len(known) > 0 && known[0].TID < tid {
			known = known[1:]
		}
		var was *Thread
		if len(known) > 0 && known[0].TID == tid {
			was = &known[0]
		}
		if th, ok := d.thread(t.TGID, tid, was, want); ok {
			g.List = append(g.List, th)
		}
	}
	if len(g.List) == 0 { // a kernel without one of the files
		return
	}
	g.compare()
	t.Group = g
}

// still reports whether a process did not run since the last sample and was not
// seen to be changed, so that what was read then holds.
func (d *details) still(w *walk, t, old *Task) bool { return d.slept(t, old) && d.asSet(w, t, old) }

func (d *details) slept(t, old *Task) bool {
	return t.Have&old.Have&HaveTime != 0 && t.RunNs == old.RunNs && t.State != 'R'
}

// asSet reports whether the settings that were read of a process's threads are taken to
// hold: those of its first thread do, and it is not its turn.
func (d *details) asSet(w *walk, t, old *Task) bool {
	return t.Policy == old.Policy && t.RTPrio == old.RTPrio && t.Nice == old.Nice && t.Affinity.Equal(old.Affinity) &&
		(w.seq+uint64(t.TID))%stillEvery != 0
}

// threadFacts is what is wanted of threads, as bits of Have.
func (n *wanted) threadFacts() (want Have) {
	if n.ThreadDelay {
		want |= HaveRun
	}
	if n.ThreadAttr {
		want |= HaveAttr
	}
	if n.Affinity {
		want |= HaveAffinity
	}
	return want
}

// thread reads one thread, but not the settings that it was known to have; false when it
// has ended or a fact cannot be read.
func (d *details) thread(pid, tid kernel.TID, was *Thread, want Have) (th Thread, ok bool) {
	if was != nil {
		th = *was
		want &= HaveRun
	}
	th.TID = tid
	if want&HaveRun != 0 {
		b, err := d.r.Task(pid, tid, "schedstat")
		if err != nil {
			return th, false
		}
		st, err := procfs.ParseSchedstat(b)
		if err != nil {
			return th, false
		}
		th.RunDelayNs, th.Slices = st.RunDelayNs, st.Slices
	}
	if want&HaveAttr != 0 && !d.threadAttr(pid, &th) {
		return th, false
	}
	if want&HaveAffinity != 0 {
		set, err := d.readMask(pid, tid, tid)
		if err != nil {
			return th, false
		}
		if set.Equal(d.mask) {
			set = d.mask
		} else {
			d.mask = set
		}
		th.affinity = set
	}
	return th, true
}

func (d *details) threadAttr(pid kernel.TID, th *Thread) bool {
	if d.kernel != nil {
		attr, err := d.kernel.Attr(th.TID)
		th.policy, th.nice, th.rtprio = attr.Policy, int8(attr.Nice), uint8(attr.RTPrio)
		return err == nil
	}
	st, err := d.fs.ThreadStat(pid, th.TID)
	th.policy, th.nice, th.rtprio = st.Policy, st.Nice, st.RTPrio
	return err == nil
}

// compare finds what the threads have in common. sched_getattr(2) knows no nice
// value of a real-time thread, so that is compared among the others.
func (g *Threads) compare() {
	var ordinary *Thread
	for i := range g.List {
		th := &g.List[i]
		first := &g.List[0]
		g.PolicyDiffers = g.PolicyDiffers || th.policy != first.policy || th.rtprio != first.rtprio
		if !th.affinity.Equal(first.affinity) {
			g.AffinityDiffers = true
		}
		if i == 0 {
			g.CPUs = th.affinity
		} else if g.AffinityDiffers {
			g.CPUs = g.CPUs.Or(th.affinity)
		}
		if th.policy.RealTime() {
			continue
		}
		if ordinary == nil {
			ordinary = th
		}
		g.NiceDiffers = g.NiceDiffers || th.nice != ordinary.nice
	}
}

// ReadThreads reads the threads of one process, at most so many, a row each; total is how
// many there are. The first one's row is that thread's alone, too: no TGID says that it
// stands for the process. A thread that ended meanwhile is left out.
func ReadThreads(fs procfs.FS, pid kernel.TID, most int) (tasks []*Task, total int, err error) {
	tids, err := fs.Threads(pid)
	for _, tid := range tids[:min(len(tids), most)] {
		st, err := fs.ThreadStat(pid, tid)
		if err != nil {
			continue
		}
		t := &Task{TID: tid}
		setStat(t, &st)
		if sched, err := fs.Sched(pid, tid); err == nil {
			setSched(t, sched)
		}
		if delay, err := fs.Schedstat(pid, tid); err == nil {
			setDelay(t, delay)
		}
		if status, err := fs.ThreadStatus(pid, tid); err == nil {
			t.Affinity = status.CPUsAllowed
			t.Have |= HaveAffinity
		}
		tasks = append(tasks, t)
	}
	return tasks, len(tids), err
}
