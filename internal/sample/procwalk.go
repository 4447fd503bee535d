package sample

import (
	"errors"
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// procWalk walks the tasks through /proc.
//
// Reading the stat file of a task costs the kernel three times as much as its
// schedstat file through a kept descriptor, and most tasks sleep most of the
// time. The third figure of schedstat rises whenever the task is put on a CPU
// and the first whenever it used time there: as long as both stand still the
// task did nothing, and its stat file says what it said before, but for what
// others can do to it (see turns). The file of a process speaks of its first
// thread only, so processes with more threads are always read.
//
// A kept descriptor also notices that a number was reused: reading it gives
// ESRCH once its task has ended.
type procWalk struct {
	r       *procfs.Reader
	lists   lister
	gate    bool // schedstat is there and counts
	room    int  // descriptors that may still be opened
	procs   lane
	threads lane
	found   []candidate // reused
	tids    []kernel.TID
}

// descriptorReserve is left to the rest of piton.
const descriptorReserve = 256

// newProcWalk starts with nothing read.
func newProcWalk(fs procfs.FS, r *procfs.Reader) *procWalk {
	p := &procWalk{r: r, lists: lister{r: r, live: fs.Live()}}
	if fs.Live() {
		p.gate = schedstatCounts(fs)
		if most, err := kernel.MaxFiles(); err == nil && most > descriptorReserve {
			p.room = int(min(most-descriptorReserve, 1<<20))
		}
	}
	return p
}

// schedstatCounts tells whether the kernel keeps these figures: without
// CONFIG_SCHED_INFO the file is missing, with delay accounting switched off at
// boot it may hold zeros.
func schedstatCounts(fs procfs.FS) bool {
	b, err := fs.File("self", "schedstat")
	if err != nil {
		return false
	}
	st, err := procfs.ParseSchedstat(b)
	return err == nil && st.Slices > 0
}

func (p *procWalk) rung() string {
	if p.gate {
		return "procfs, schedstat"
	}
	return "procfs"
}

func (p *procWalk) close() {
	p.closeLane(&p.procs)
	p.closeLane(&p.threads)
}

func (p *procWalk) walk(w *walk) error {
	listed, changed, err := p.lists.list(w, p.found[:0])
	if err != nil {
		return err
	}
	p.found = listed
	p.walkLane(w, &p.procs, listed)
	if !w.needs.Threads {
		p.closeLane(&p.threads)
		w.tasks = p.procs.copyTo(w.tasks)
		return nil
	}
	p.found = p.listThreads(p.found[:0], changed || len(p.threads.entries) == 0)
	p.walkLane(w, &p.threads, p.found)
	w.tasks = mergeLanes(w.tasks, &p.procs, &p.threads)
	return nil
}

// listThreads returns the threads, other than the first, of all processes that
// have any; none when no task was created anywhere.
func (p *procWalk) listThreads(found []candidate, changed bool) []candidate {
	if !changed {
		return found
	}
	for i := range p.procs.entries {
		t := &p.procs.entries[i].task
		if t.Threads < 2 {
			continue
		}
		p.tids, _ = p.r.Threads(t.TID, p.tids[:0]) // gone, if it fails: the next walk notices
		for _, tid := range p.tids {
			if tid != t.TID {
				found = append(found, candidate{tid, t.TID})
			}
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return int(a.tid) - int(b.tid) })
	return found
}

// again brings a task's entry up to date; false means that the task is gone.
func (p *procWalk) again(w *walk, e *entry) bool {
	t := &e.task
	t.Have &= HaveRun
	watched := w.needs.watched(t.TID)
	ran := true
	switch {
	case e.fd >= 0:
		var err error
		if ran, err = p.readRun(e); err != nil {
			return false
		}
	case p.gate && p.room > 0:
		if !p.openRun(e) {
			return false
		}
	default:
		t.Have = 0
	}
	if !ran && !watched && settled(t) && !w.turn(t.TID) {
		return true
	}
	err := p.readStat(w, e, watched)
	if errors.Is(err, errReused) {
		*t = Task{TID: t.TID, TGID: t.TGID}
		err = p.readStat(w, e, watched)
	}
	return err == nil
}

// settled reports whether an unchanged schedstat means that the task's stat
// file is unchanged too.
func settled(t *Task) bool {
	return t.State != 'R' && t.State != 'D' && (t.Threads < 2 || !t.IsProcess())
}

// readRun reads schedstat through the kept descriptor.
func (p *procWalk) readRun(e *entry) (ran bool, err error) {
	b, err := p.r.Read(int(e.fd))
	if err != nil {
		return false, err
	}
	st, err := procfs.ParseSchedstat(b)
	if err != nil {
		return false, err
	}
	t := &e.task
	ran = t.Have&HaveRun == 0 || st.Slices != t.Slices || st.RunNs != t.RunNs || st.RunDelayNs != t.RunDelayNs
	t.RunNs, t.RunDelayNs, t.Slices = st.RunNs, st.RunDelayNs, st.Slices
	t.Have |= HaveRun
	return ran, nil
}

// openRun opens schedstat for good and reads it.
func (p *procWalk) openRun(e *entry) bool {
	fd, err := p.r.Open(e.task.TGID, e.task.thread(), "schedstat")
	if err != nil {
		if !procfs.Gone(err) {
			p.room = 0 // EMFILE, ENFILE: the limit is nearer than it said
		}
		return !procfs.Gone(err)
	}
	e.fd = int32(fd)
	p.room--
	_, err = p.readRun(e)
	return err == nil
}

var errReused = errors.New("the number belongs to another task now")

// readStat reads the stat file into the entry; of an entry without descriptor
// it also reads schedstat when someone looks.
func (p *procWalk) readStat(w *walk, e *entry, watched bool) error {
	t := &e.task
	b, err := p.r.Task(t.TGID, t.thread(), "stat")
	if err != nil {
		return err
	}
	var st procfs.Stat
	if err := procfs.ParseStat(b, &st); err != nil {
		return err
	}
	if t.ID != nil && t.StartTicks != st.StartTicks {
		return errReused
	}
	setStat(t, &st)
	if e.fd < 0 && (watched || w.needs.Delay) {
		if b, err := p.r.Task(t.TGID, t.thread(), "schedstat"); err == nil {
			if run, err := procfs.ParseSchedstat(b); err == nil {
				t.RunNs, t.RunDelayNs, t.Slices = run.RunNs, run.RunDelayNs, run.Slices
				t.Have |= HaveRun
			}
		}
	}
	return nil
}

func setStat(t *Task, st *procfs.Stat) {
	if t.ID == nil || t.ID.Comm != string(st.Comm) {
		t.ID = &Identity{Comm: string(st.Comm)}
	}
	t.PPID, t.LastCPU, t.StartTicks = st.PPID, st.LastCPU, st.StartTicks
	t.UserTicks, t.SystemTicks, t.RSSPages = st.UserTicks, st.SystemTicks, st.RSSPages
	t.MinorFaults, t.MajorFaults, t.Flags = st.MinorFaults, st.MajorFaults, st.Flags
	t.Threads, t.Priority, t.State = st.Threads, st.Priority, st.State
	t.Policy, t.Nice, t.RTPrio = st.Policy, st.Nice, st.RTPrio
}
