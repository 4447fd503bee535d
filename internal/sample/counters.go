package sample

import (
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// counters sets the exact migrations and switches of a task: carried over if it
// did not run since they were read, read if it is watched, else wished for.
func (d *details) counters(w *walk, i int, old *Task, k *kept, watched bool) {
	t := w.tasks[i]
	exact := old != nil && old.Have&HaveMigrations != 0 && old.MigrationSource == SourceSched
	if exact && t.Have&HaveTime != 0 && t.RunNs == k.runNs && t.State != 'R' {
		setSched(t, procfs.Sched{Migrations: old.Migrations, NoSwitches: old.Have&HaveSwitches == 0,
			VoluntarySwitches: old.VoluntarySwitches, InvoluntarySwitches: old.InvoluntarySwitches})
		d.tallies.keep(t.TID, w.seq)
		return
	}
	runs := turnsOnCPU(t, old)
	switch {
	case watched && old == nil && !w.needs.Migrations && threadsToRead(t) == 1:
		d.readSwitches(t) // which is the quicker file; the other one need not be read again while a task sleeps
	case watched:
		d.readSched(w, t, k)
	case runs > 0:
		d.wish = append(d.wish, wish{i, runs})
	}
}

// turnsOnCPU tells how lively a task was since the last sample, which is how
// often it can have moved; where only its time is known, in turns of 1 ms.
func turnsOnCPU(t, old *Task) uint64 {
	switch {
	case old == nil:
		return 0
	case t.Have&old.Have&HaveRun != 0 && t.Slices > old.Slices:
		return t.Slices - old.Slices
	case t.Have&old.Have&HaveTime != 0 && t.RunNs > old.RunNs:
		return 1 + (t.RunNs-old.RunNs)/1e6
	case t.UserTicks+t.SystemTicks > old.UserTicks+old.SystemTicks:
		return t.UserTicks + t.SystemTicks - old.UserTicks - old.SystemTicks
	}
	return 0
}

func setSched(t *Task, c procfs.Sched) {
	t.Migrations, t.MigrationSource = c.Migrations, SourceSched
	t.VoluntarySwitches, t.InvoluntarySwitches = c.VoluntarySwitches, c.InvoluntarySwitches
	t.Have |= HaveMigrations
	if !c.NoSwitches {
		t.Have |= HaveSwitches
	}
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
			k.runNs = t.RunNs
		}
		return
	}
	b, err := d.r.Task(t.TGID, t.thread(), "sched")
	if err != nil {
		return
	}
	c, err := procfs.ParseSched(b)
	if err != nil {
		d.readSwitches(t)
		return
	}
	setSched(t, c)
	k.runNs = t.RunNs
}

// readSwitches reads the switches where there is no sched file, of one thread.
func (d *details) readSwitches(t *Task) {
	if t.IsProcess() && t.Threads > 1 {
		return
	}
	b, err := d.r.Task(t.TGID, t.thread(), "status")
	if err != nil {
		return
	}
	if st, _ := procfs.ParseStatus(b); st.HaveSwitches {
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
	p.total.NoSwitches = false
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
		if c.NoSwitches {
			p.total.NoSwitches = true
			c.VoluntarySwitches, c.InvoluntarySwitches = last.VoluntarySwitches, last.InvoluntarySwitches
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

// keep says that a process's tally still holds although it was not counted again.
func (a *tallies) keep(pid kernel.TID, seq uint64) {
	if p := a.of[pid]; p != nil {
		p.seq = seq
	}
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
