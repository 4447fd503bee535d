package sample

import (
	"runtime"
	"slices"
	"sync"

	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// candidate is a task that a listing named.
type candidate struct{ tid, tgid kernel.TID }

// entry is what procWalk keeps of one task between samples.
type entry struct {
	task Task
	fd   int32 // of its schedstat file, -1 none
	ran  bool  // since the sample before, or that is not known
}

// lane is the entries of all processes, or of all other threads, in rising
// order of TID.
type lane struct {
	entries []entry
	born    []entry // reused
}

// walkLane brings every entry up to date, drops those whose task is gone and
// adds the tasks of a listing, sorted, that were not there. A listing need not
// be complete.
func (p *procWalk) walkLane(w *walk, l *lane, found []candidate) {
	l.born = l.born[:0]
	kept := 0
	for i := range l.entries {
		e := &l.entries[i]
		for len(found) > 0 && found[0].tid < e.task.TID {
			p.firsts(w, l, found[:1])
			found = found[1:]
		}
		if p.again(w, e) {
			if len(found) > 0 && found[0].tid == e.task.TID {
				found = found[1:]
			}
			if kept != i {
				l.entries[kept] = *e
			}
			kept++
			continue
		}
		p.closeEntry(e) // a candidate with its number is a new task, and comes next
	}
	p.firsts(w, l, found)
	clear(l.entries[kept:])
	l.entries = l.entries[:kept]
	l.merge()
}

// crowd is from how many tasks on it is worth reading them on several CPUs: the
// first sample of a machine with 5,000 is there in two thirds of the time on two.
const crowd = 1024

// firsts reads tasks that were not known.
func (p *procWalk) firsts(w *walk, l *lane, found []candidate) {
	readers := []*procfs.Reader{p.r}
	for len(found) >= crowd && len(readers) < runtime.GOMAXPROCS(0) && len(found)/len(readers) >= crowd/2 {
		r, err := p.r.Clone()
		if err != nil {
			break // no descriptor is left
		}
		defer r.Close()
		readers = append(readers, r)
	}
	if len(readers) == 1 {
		l.born = p.readFirsts(w, p.r, found, l.born)
		return
	}
	born := make([][]entry, len(readers))
	var wg sync.WaitGroup
	for i, r := range readers {
		part := found[len(found)*i/len(readers) : len(found)*(i+1)/len(readers)]
		wg.Go(func() { defer crash.Handle(); born[i] = p.readFirsts(w, r, part, nil) })
	}
	wg.Wait()
	l.born = append(l.born, slices.Concat(born...)...)
}

func (p *procWalk) readFirsts(w *walk, r *procfs.Reader, found []candidate, born []entry) []entry {
	for _, c := range found {
		e := entry{task: Task{TID: c.tid, TGID: c.tgid}, fd: -1, ran: true}
		if c.tid == c.tgid {
			p.processRan(&e.task) // before stat: what it does in between shows next time
		}
		if p.readStat(r, &e) != nil {
			continue // gone again
		}
		if w.needs.Delay || w.needs.listed(c.tid) {
			p.readDelay(r, &e.task)
		}
		born = append(born, e)
	}
	return born
}

// identify takes over the identities that details has looked up again.
func (l *lane) identify(before []*Task) {
	var last cursor
	for i := range l.entries {
		t := &l.entries[i].task
		if at := last.find(before, t.TID, t.StartTicks); at >= 0 && before[at].ID.Comm == t.ID.Comm {
			t.ID = before[at].ID
		}
	}
}

// merge moves born into entries, from the back so that it needs no other slice.
func (l *lane) merge() {
	i, j := len(l.entries)-1, len(l.born)-1
	l.entries = append(l.entries, l.born...)
	for k := len(l.entries) - 1; i >= 0 && j >= 0; k-- {
		if l.entries[i].task.TID > l.born[j].task.TID {
			l.entries[k] = l.entries[i]
			i--
		} else {
			l.entries[k] = l.born[j]
			j--
		}
	}
	copy(l.entries, l.born[:j+1])
}

func (p *procWalk) closeEntry(e *entry) {
	if e.fd >= 0 {
		_ = kernel.CloseFile(int(e.fd)) // read only
		e.fd = -1
		p.room++
	}
}

func (p *procWalk) closeLane(l *lane) {
	for i := range l.entries {
		p.closeEntry(&l.entries[i])
	}
	l.entries, l.born = nil, nil
}

// mergeLanes appends copies of the tasks of both lanes to out, in rising order of
// TID. All are replaced in the next sample, so they share one piece of memory.
func mergeLanes(out []*Task, a, b *lane) []*Task {
	copies := make([]Task, 0, len(a.entries)+len(b.entries))
	add := func(e *entry) {
		copies = append(copies, e.task)
		out = append(out, &copies[len(copies)-1])
	}
	i := 0
	for j := range b.entries {
		for ; i < len(a.entries) && a.entries[i].task.TID < b.entries[j].task.TID; i++ {
			add(&a.entries[i])
		}
		add(&b.entries[j])
	}
	for ; i < len(a.entries); i++ {
		add(&a.entries[i])
	}
	return out
}
