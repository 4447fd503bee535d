package sample

import (
	"cmp"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Threads is what was read of the threads of a process that has several; the
// first thread is among them. It is immutable and may be shared between samples.
type Threads struct {
	List []Thread   // in rising order of TID
	Have Have       // of every one: HaveRun (in this sample), HaveAffinity, HaveAttr
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

// threadBudget is the most threads that are read in one sample, where no walk tells of
// them: about 8 µs each with all that can be asked for. Processes take turns.
const threadBudget = 2048

// stillEvery is after how many samples what others can change of a process at rest,
// and the settings of the threads of any, are read again. What changes its first thread
// is seen at once.
const stillEvery = 5

// crews are the processes of a sample whose threads are to be read.
type crews struct {
	list  []crew // reused; in the order of TID
	most  int    // threads that may be read in a sample
	from  kernel.TID
	again bool // those of the last sample are read once more: a run delay takes two readings
	// begun is what was read of a process that has more threads than the budget.
	begun struct {
		tid  kernel.TID
		list []Thread
	}
}

type crew struct{ now, old *Task }

// threads notes a process whose threads are to be read for the shown columns, unless what
// was read of them holds.
func (d *details) threads(w *walk, t, old *Task) {
	want := w.needs.threadFacts()
	if want == 0 || !t.IsProcess() || t.Threads < 2 || t.Have&haveGroup != 0 {
		return
	}
	if c := (crew{t, old}); c.holds(want) && old.Group.Have == want && (w.seq+uint64(t.TID))%stillEvery != 0 &&
		(want&HaveRun == 0 || d.slept(t, old)) {
		t.Group = old.Group
		return
	}
	d.crews.list = append(d.crews.list, crew{t, old})
}

// holds reports whether the settings that were read of the threads are taken to hold:
// those of the first thread do.
func (c crew) holds(want Have) bool {
	t, old := c.now, c.old
	return old != nil && old.Group != nil && old.Group.Have|HaveRun == want|HaveRun && int(t.Threads) == len(old.Group.List) && sameSettings(t, old)
}

// grantThreads reads the threads of the processes whose turn it is. The others keep the
// settings that hold, and have no run delay.
func (d *details) grantThreads(w *walk) {
	c, want := &d.crews, w.needs.threadFacts()
	first, _ := slices.BinarySearchFunc(c.list, c.from, func(c crew, tid kernel.TID) int { return cmp.Compare(c.now.TID, tid) })
	left, done := c.most, 0
	for ; done < len(c.list); done++ {
		next := c.list[(first+done)%len(c.list)]
		size := int(next.now.Threads)
		if size > left && (size <= c.most || done > 0) {
			break
		}
		if size > c.most {
			if !d.readPart(next, want&^HaveRun) {
				break
			}
			c.again, left = true, 0 // no delay to be read once more
			continue
		}
		left -= size
		next.now.Group = d.readThreads(w, next, want)
	}
	for i := done; i < len(c.list); i++ {
		c.list[(first+i)%len(c.list)].keep(want)
	}
	switch {
	case done == len(c.list):
		c.from, c.again = 0, false
	case want&HaveRun != 0 && !c.again && done > 0:
		c.again = true
	default:
		c.from, c.again = c.list[(first+done)%len(c.list)].now.TID, false
	}
}

// keep takes over the settings of the threads, if they hold.
func (c crew) keep(want Have) {
	if !c.holds(want) {
		return
	}
	g := c.old.Group
	if g.Have&HaveRun != 0 {
		kept := *g
		kept.Have &^= HaveRun
		g = &kept
	}
	c.now.Group = g
}

// readPart reads as many threads of a process as a sample has room for, from where the last
// sample stopped; true when all were read.
func (d *details) readPart(c crew, want Have) bool {
	begun := &d.crews.begun
	if begun.tid != c.now.TID {
		begun.tid, begun.list = c.now.TID, nil
	}
	tids, err := d.r.Threads(c.now.TID, d.tids[:0])
	d.tids = tids
	slices.Sort(tids)
	if n := len(begun.list); n > 0 {
		at, found := slices.BinarySearch(tids, begun.list[n-1].TID)
		if found {
			at++
		}
		tids = tids[at:]
	}
	all := len(tids) <= d.crews.most
	for _, tid := range tids[:min(len(tids), d.crews.most)] {
		if th, ok := d.thread(c.now.TGID, tid, nil, want); ok {
			begun.list = append(begun.list, th)
		}
	}
	if err == nil && !all {
		return false
	}
	if len(begun.list) > 0 && want != 0 {
		c.now.Group = &Threads{Have: want, List: begun.list}
		c.now.Group.compare()
	}
	begun.tid, begun.list = 0, nil
	return true
}

// readThreads reads the threads of a process, nil if that fails.
func (d *details) readThreads(w *walk, c crew, want Have) *Threads {
	var known []Thread // whose settings still hold
	if c.holds(want) && c.old.Group.Have == want && (w.seq+uint64(c.now.TID))%stillEvery != 0 {
		known = c.old.Group.List
	}
	tids, err := d.r.Threads(c.now.TID, d.tids[:0])
	d.tids = tids
	if err != nil {
		return nil
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
		if th, ok := d.thread(c.now.TGID, tid, was, want); ok {
			g.List = append(g.List, th)
		}
	}
	if len(g.List) == 0 { // a kernel without one of the files
		return nil
	}
	g.compare()
	return g
}

// still reports whether a process did not run since the last sample and was not
// seen to be changed, so that what was read then holds.
func (d *details) still(w *walk, t, old *Task) bool {
	return d.slept(t, old) && sameSettings(t, old) && (w.seq+uint64(t.TID))%stillEvery != 0
}

func (d *details) slept(t, old *Task) bool {
	return t.Have&old.Have&HaveTime != 0 && t.RunNs == old.RunNs && t.State != 'R'
}

func sameSettings(t, old *Task) bool {
	return t.Policy == old.Policy && t.RTPrio == old.RTPrio && t.Nice == old.Nice && t.Affinity.Equal(old.Affinity)
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
