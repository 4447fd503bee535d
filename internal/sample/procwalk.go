package sample

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// procWalk walks the tasks through /proc.
//
// Reading the stat file of a process costs the kernel ten times as much as
// telling the CPU time of all its threads (kernel.ProcessTime), and most tasks
// sleep most of the time. As long as its time stands still, to the nanosecond,
// no thread of it ran, and its files say what they said before, but for what
// others can do to it (see turns). Other threads have no such clock: while their
// process stands still they are left alone, and else their schedstat file tells,
// through a descriptor that is kept open, at a third of the cost of stat.
type procWalk struct {
	r         *procfs.Reader
	lists     lister
	clock     bool // kernel.ProcessTime means the processes of this /proc
	schedstat bool // the file is there and counts
	room      int  // descriptors that may still be opened
	procs     lane
	threads   lane
	found     []candidate // reused
	tids      []kernel.TID
	owner     int // index in procs of the thread looked at last
}

// descriptorReserve is left to the rest of piton.
const descriptorReserve = 256

// newProcWalk starts with nothing read.
func newProcWalk(fs procfs.FS, r *procfs.Reader) *procWalk {
	p := &procWalk{r: r, lists: lister{r: r, live: fs.Live()}, schedstat: !fs.Live() || schedstatCounts(fs)}
	if !fs.Live() {
		return p
	}
	p.clock = fs.OwnNumbers()
	if most, err := kernel.MaxFiles(); err == nil && most > descriptorReserve && p.schedstat {
		p.room = int(min(most-descriptorReserve, 1<<20))
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
	if p.clock {
		return "procfs, by CPU clock"
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
	p.update(w, listed, changed)
	return nil
}

// update brings the tasks that are known up to date and adds those of a listing;
// changed says that there can be new threads.
func (p *procWalk) update(w *walk, listed []candidate, changed bool) {
	if w.renewed {
		p.procs.identify(w.before)
		p.threads.identify(w.before)
	}
	p.walkLane(w, &p.procs, listed)
	if !w.needs.Threads {
		p.closeLane(&p.threads)
	} else {
		p.found = p.listThreads(p.found[:0], changed || len(p.threads.entries) == 0)
		p.walkLane(w, &p.threads, p.found)
	}
	w.tasks = mergeLanes(w.tasks, &p.procs, &p.threads)
}

// oddTasks is the error about tasks whose stat file was of no use, nil for none.
func oddTasks(tasks []*Task) error {
	n, first := 0, kernel.TID(0)
	for _, t := range tasks {
		if t.Odd {
			if n == 0 {
				first = t.TID
			}
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("/proc/PID/stat of %d tasks (%d first) is cut or malformed: their figures are unknown", n, first)
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
	t.Have &= HaveRun | HaveTime
	watched := w.needs.watched(t.TID)
	var err error
	if t.IsProcess() {
		e.ran = p.processRan(t)
	} else if e.ran, err = p.threadRan(e); err != nil {
		return false
	}
	turn := w.turn(t.TID)
	if !e.ran && !watched && !turn && t.State != 'R' && t.State != 'D' {
		return true
	}
	err = p.readStat(p.r, e)
	if errors.Is(err, errReused) {
		*t = Task{TID: t.TID, TGID: t.TGID}
		err = p.readStat(p.r, e)
	}
	if err == nil && t.IsProcess() && (e.ran || t.Have&HaveRun == 0) {
		p.readDelay(p.r, t)
	}
	return err == nil
}

// processRan tells whether a process may have changed by itself, by its clock.
func (p *procWalk) processRan(t *Task) bool {
	if !p.clock {
		t.Have = 0
		return true
	}
	ns, err := kernel.ProcessTime(t.TID)
	ran := err != nil || t.Have&HaveTime == 0 || ns != t.RunNs
	t.RunNs = ns
	t.Have |= HaveTime
	return ran
}

// threadRan is the same for another thread; an error means that it is gone.
func (p *procWalk) threadRan(e *entry) (bool, error) {
	if !p.ownerRan(e.task.TGID) {
		return false, nil
	}
	if e.fd >= 0 {
		return p.readRun(e)
	}
	if p.room > 0 {
		return true, p.openRun(e)
	}
	p.readDelay(p.r, &e.task)
	return true, nil
}

// ownerRan tells whether a thread's process ran, or is not known to have slept.
func (p *procWalk) ownerRan(tgid kernel.TID) bool {
	procs := p.procs.entries
	if p.owner >= len(procs) || procs[p.owner].task.TID != tgid {
		i, found := slices.BinarySearchFunc(procs, tgid, func(e entry, tgid kernel.TID) int { return int(e.task.TID) - int(tgid) })
		if !found {
			return true
		}
		p.owner = i
	}
	return procs[p.owner].ran
}

// readRun reads a thread's schedstat through the kept descriptor. It gives
// ESRCH once the thread has ended, even if the number is another's by then.
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
	setDelay(t, st)
	return ran, nil
}

// openRun opens a thread's schedstat for good and reads it.
func (p *procWalk) openRun(e *entry) error {
	fd, err := p.r.Open(e.task.TGID, e.task.thread(), "schedstat")
	if err != nil {
		if procfs.Gone(err) {
			return err
		}
		p.room = 0 // EMFILE, ENFILE: the limit is nearer than it said
		return nil
	}
	e.fd = int32(fd)
	p.room--
	_, err = p.readRun(e)
	return err
}

// readDelay reads schedstat once; without it the figures are missing.
func (p *procWalk) readDelay(r *procfs.Reader, t *Task) {
	t.Have &^= HaveRun
	if !p.schedstat {
		return
	}
	b, err := r.Task(t.TGID, t.thread(), "schedstat")
	if err != nil {
		return
	}
	if st, err := procfs.ParseSchedstat(b); err == nil {
		setDelay(t, st)
	}
}

func setDelay(t *Task, st procfs.Schedstat) {
	t.RunDelayNs, t.Slices = st.RunDelayNs, st.Slices
	t.Have |= HaveRun
	if !t.IsProcess() || t.Threads == 1 && t.Have&HaveTime == 0 {
		t.RunNs = st.RunNs
		t.Have |= HaveTime
	}
}

var errReused = errors.New("the number belongs to another task now")

// readStat reads the stat file into the entry.
func (p *procWalk) readStat(r *procfs.Reader, e *entry) error {
	t := &e.task
	b, err := r.Task(t.TGID, t.thread(), "stat")
	if err != nil {
		return err
	}
	var st procfs.Stat
	if err := procfs.ParseStat(b, &st); err != nil {
		comm := st.Comm
		if len(comm) == 0 {
			b, _ = r.Task(t.TGID, t.thread(), "comm") // "" of none
			comm = bytes.TrimSuffix(b, []byte("\n"))
		}
		setOdd(t, string(comm))
		return nil
	}
	if t.ID != nil && t.StartTicks != st.StartTicks {
		return errReused
	}
	setStat(t, &st)
	return nil
}

// setOdd is setStat for a stat file of which only the name is known.
func setOdd(t *Task, comm string) {
	*t = Task{TID: t.TID, TGID: t.TGID, ID: t.ID, RunNs: t.RunNs, Have: t.Have & HaveTime}
	setStat(t, &procfs.Stat{Comm: []byte(comm), LastCPU: -1, RSSPages: -1})
	t.Odd = true
}

func setStat(t *Task, st *procfs.Stat) {
	t.Odd = false
	if t.ID == nil || t.ID.Comm != string(st.Comm) {
		t.ID = &Identity{Comm: string(st.Comm)}
	}
	t.PPID, t.LastCPU, t.StartTicks = st.PPID, st.LastCPU, st.StartTicks
	t.UserTicks, t.SystemTicks, t.RSSPages = st.UserTicks, st.SystemTicks, st.RSSPages
	t.MinorFaults, t.MajorFaults, t.Flags = st.MinorFaults, st.MajorFaults, st.Flags
	t.Threads, t.Priority, t.State = st.Threads, st.Priority, st.State
	t.Policy, t.Nice, t.RTPrio = st.Policy, st.Nice, st.RTPrio
}
