package sample

import (
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// counters sets the exact migrations and switches of a task: carried over if it
// did not run since they were read, read if it is watched, else wished for.
func (d *details) counters(w *walk, i int, old *Task, k *kept, watched, turn bool) {
	t := &w.tasks[i]
	exact := old != nil && old.Have&HaveMigrations != 0 && old.MigrationSource == SourceSched
	single := t.Threads < 2 || !t.IsProcess()
	if exact && single && t.Have&HaveRun != 0 && t.Slices == k.slices && t.State != 'R' {
		setSched(t, procfs.Sched{Migrations: old.Migrations,
			VoluntarySwitches: old.VoluntarySwitches, InvoluntarySwitches: old.InvoluntarySwitches})
		return
	}
	if watched {
		d.readSched(w, t, k)
		return
	}
	runs := turnsOnCPU(t, old)
	if runs > 0 || turn && !exact && single { // a baseline for the time when it runs
		d.wish = append(d.wish, wish{i, runs})
	}
}

// turnsOnCPU tells how lively a task was since the last sample; of a process
// with several threads only its CPU time tells.
func turnsOnCPU(t, old *Task) uint64 {
	if old == nil {
		return 0
	}
	if t.Have&old.Have&HaveRun != 0 && t.Slices > old.Slices {
		return t.Slices - old.Slices
	}
	if used := t.UserTicks + t.SystemTicks; used > old.UserTicks+old.SystemTicks {
		return used - old.UserTicks - old.SystemTicks
	}
	return 0
}

func setSched(t *Task, c procfs.Sched) {
	t.Migrations, t.MigrationSource = c.Migrations, SourceSched
	t.VoluntarySwitches, t.InvoluntarySwitches = c.VoluntarySwitches, c.InvoluntarySwitches
	t.Have |= HaveMigrations | HaveSwitches
}

// readSched reads the exact counters of a task, of a process those of all its
// threads; on failure the sampled ones stay.
func (d *details) readSched(w *walk, t *Task, k *kept) {
	if !d.hasSched {
		d.readSwitches(t)
		return
	}
	if t.IsProcess() && t.Threads > 1 {
		if c, ok := d.tallies.count(d.r, w.seq, t); ok {
			setSched(t, c)
		}
		return
	}
	b, err := d.r.Task(t.TGID, t.thread(), "sched")
	if err != nil {
		return
	}
	c, err := procfs.ParseSched(b)
	if err != nil {
		return
	}
	setSched(t, c)
	k.slices = t.Slices
}

// readSwitches reads the switches where there is no sched file, of one thread.
func (d *details) readSwitches(t *Task) {
	if t.IsProcess() && t.Threads > 1 {
		return
	}
	if st, err := d.fs.ThreadStatus(t.TGID, t.thread()); err == nil {
		t.VoluntarySwitches, t.InvoluntarySwitches = st.VoluntarySwitches, st.InvoluntarySwitches
		t.Have |= HaveSwitches
	}
}

// tallyThreads is the most threads of a process that are added up in one
// sample, and tallyBudget of all processes together; above, the process keeps
// its sampled count, a lower bound and labelled so.
const (
	tallyThreads = 256
	tallyBudget  = 1024
)

// threadsToRead is what reading a task's counters takes from the budget.
func threadsToRead(t *Task) int {
	if t.IsProcess() {
		return int(max(t.Threads, 1))
	}
	return 1
}

// tallies adds up the counters of the threads of processes.
type tallies struct {
	of   map[kernel.TID]*tally
	seq  uint64
	left int // of tallyBudget, in sample seq
	tids []kernel.TID
}

// tally is the running sum of one process. What a thread counted before it
// ended stays in the sum, so that it never falls.
type tally struct {
	seq        uint64 // of the sample it was counted in last
	startTicks uint64
	total      procfs.Sched
	threads    []counted // in rising order of TID
}

type counted struct {
	tid  kernel.TID
	last procfs.Sched
}

func (a *tallies) count(r *procfs.Reader, seq uint64, t *Task) (procfs.Sched, bool) {
	if a.seq != seq {
		a.seq, a.left = seq, tallyBudget
	}
	if t.Threads > tallyThreads || int(t.Threads) > a.left {
		return procfs.Sched{}, false
	}
	a.left -= int(t.Threads)
	var err error
	if a.tids, err = r.Threads(t.TID, a.tids[:0]); err != nil {
		return procfs.Sched{}, false
	}
	slices.Sort(a.tids)
	if a.of == nil {
		a.of = map[kernel.TID]*tally{}
	}
	p := a.of[t.TID]
	if p == nil || p.startTicks != t.StartTicks {
		p = &tally{startTicks: t.StartTicks}
		a.of[t.TID] = p
	}
	p.seq = seq
	p.count(r, t.TID, a.tids)
	return p.total, true
}

// count adds what the threads counted since the last time; a thread born since
// then with all it has.
func (p *tally) count(r *procfs.Reader, pid kernel.TID, tids []kernel.TID) {
	now := make([]counted, 0, len(tids))
	j := 0
	for _, tid := range tids {
		for j < len(p.threads) && p.threads[j].tid < tid {
			j++
		}
		b, err := r.Task(pid, tid, "sched")
		if err != nil {
			continue
		}
		c, err := procfs.ParseSched(b)
		if err != nil {
			continue
		}
		var last procfs.Sched
		if j < len(p.threads) && p.threads[j].tid == tid {
			last = p.threads[j].last
		}
		p.add(c, last)
		now = append(now, counted{tid, c})
	}
	p.threads = now
}

// add adds what a thread counted since last; counters that fell are those of a
// new thread with the number.
func (p *tally) add(c, last procfs.Sched) {
	if c.Migrations < last.Migrations || c.VoluntarySwitches < last.VoluntarySwitches ||
		c.InvoluntarySwitches < last.InvoluntarySwitches {
		last = procfs.Sched{}
	}
	p.total.Migrations += c.Migrations - last.Migrations
	p.total.VoluntarySwitches += c.VoluntarySwitches - last.VoluntarySwitches
	p.total.InvoluntarySwitches += c.InvoluntarySwitches - last.InvoluntarySwitches
}

// forget drops the processes that were not counted in this sample: counting
// them anew later must not look like a burst.
func (a *tallies) forget(seq uint64) {
	for pid, p := range a.of {
		if p.seq != seq {
			delete(a.of, pid)
		}
	}
}
