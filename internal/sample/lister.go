package sample

import (
	"fmt"
	"slices"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// lister finds the processes of /proc, the new ones alone where it can.
//
// Listing /proc costs about 1 µs a process. No process can have appeared while
// the kernel's count of created tasks stands still. If it moved, new processes
// have numbers above the one given out last (numbers are given out in rising
// order until they wrap), and the directory can be read from there: the
// position of an entry is its number plus a constant that a whole listing shows.
type lister struct {
	r    *procfs.Reader
	live bool

	forks    uint64     // as of the last listing
	last     kernel.TID // number given out last as of the last sample
	from     kernel.TID // and as of the sample before that one
	since    int        // samples since the last whole listing
	constant int64      // directory position less number; 0 unknown

	tids    []kernel.TID // reused
	offsets []int64
}

// wholeEvery is the number of samples between whole listings: a restored
// checkpoint may choose its number (clone3(2) with set_tid), against the order.
const wholeEvery = 10

// list appends the processes that may be new to found, in rising order; changed
// is false when no task at all can have been created.
func (l *lister) list(w *walk, found []candidate) (_ []candidate, changed bool, err error) {
	last, known := l.lastPID()
	whole := !l.live || w.forks == 0 || !known || l.since >= wholeEvery || l.forks == 0 ||
		last < l.last || l.last < l.from || l.constant == 0
	changed = whole || w.forks != l.forks
	// A number given out just before the last sample may not have been visible
	// yet: a task is counted in forks once it is, and numbered earlier.
	from := l.from + 1
	l.forks, l.from, l.last = w.forks, l.last, last
	l.since++
	if !changed {
		return found, false, nil
	}
	l.tids, l.offsets = l.tids[:0], l.offsets[:0]
	position := int64(0)
	if !whole {
		position = int64(from) + l.constant
	}
	if l.tids, err = l.r.Processes(position, l.tids, &l.offsets); err != nil {
		return found, true, fmt.Errorf("list /proc: %w", err)
	}
	if whole {
		l.since = 0
		l.constant = positionConstant(l.tids, l.offsets)
	}
	for _, tid := range l.tids {
		found = append(found, candidate{tid, tid})
	}
	slices.SortFunc(found, func(a, b candidate) int { return int(a.tid) - int(b.tid) })
	return found, true, nil
}

// lastPID is the number that the kernel gave out last.
func (l *lister) lastPID() (kernel.TID, bool) {
	b, err := l.r.Host("loadavg")
	if err != nil {
		return 0, false
	}
	load, err := procfs.ParseLoadAvg(b)
	return load.LastPID, err == nil
}

// positionConstant is what all entries' directory positions are above their
// number; 0 when they disagree.
func positionConstant(tids []kernel.TID, offsets []int64) int64 {
	constant := int64(0)
	for i, tid := range tids {
		if offsets[i] < 0 { // the first of a buffer
			continue
		}
		c := offsets[i] - int64(tid)
		if c <= 0 || constant != 0 && c != constant {
			return 0
		}
		constant = c
	}
	return constant
}
