package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/change/attr"
)

// Entry is everything that one Apply was about to do, and what became of it.
type Entry struct {
	ID       uint64
	Time     time.Time
	Origin   Origin
	User     string // who, "root" or "balu (sudo)"
	Command  string // argv, or the key's action
	Reason   string
	Targets  []Target // what was asked for; threads of them may have been born since
	Changes  []attr.Change
	Undoes   []uint64 // the entries that this one undid; none for an ordinary entry
	Sweep    uint64   // of a plan over all tasks: when they were looked at, USER_HZ since boot
	Ticks    uint64   // when it was made, USER_HZ since boot; 0 = not recorded
	Undone   bool     // nothing of it is left in force: an undo said so,
	UndoneBy uint64   // this entry
	Finished bool     // its results were recorded; false after a crash in the middle
	PastBoot bool     // made before this boot: its tasks are gone, its numbers mean others
	// Foreign names the namespace, "PID" or "time", in which its numbers mean
	// something else than here; "" if there is none.
	Foreign string
}

// Undoable reports whether an undo may look at it: it is a change of this boot, made
// from here, that came about and has not been undone.
func (e *Entry) Undoable() bool {
	return len(e.Undoes) == 0 && !e.Undone && !e.PastBoot && e.Foreign == "" && !e.ChangedNothing()
}

// ChangedNothing reports whether none of the changes came about: all were refused.
func (e *Entry) ChangedNothing() bool {
	return e.Finished && !slices.ContainsFunc(e.Changes, func(c attr.Change) bool { return c.Took() || c.Status == attr.Planned })
}

// Damage is a line of the journal that cannot be trusted. The line is kept as it is;
// the entries around it are sound.
type Damage struct {
	Line int    `json:"line"` // 1-based
	Why  string `json:"why"`
}

func (d Damage) Error() string {
	return fmt.Sprintf("journal line %d is damaged and not used (it stays in the file): %s", d.Line, d.Why)
}

// Where is the boot and the namespaces that numbers of an entry belong to.
type Where struct {
	Boot       string
	Namespaces Namespaces
}

// reading puts records together to entries.
type reading struct {
	here    Where
	entries []Entry
	damage  []Damage
	index   map[uint64]int
	last    uint64
	head    uint64 // the last ID that was given when the journal was compacted
	lines   []span
	offset  int64 // of what has not been read yet
}

// span is where a line is, and what it is of: an entry, or nothing that can be used.
type span struct {
	begin, end int64
	id         uint64 // 0 = of no entry
	damaged    bool
}

func newReading(here Where) *reading { return &reading{here: here, index: map[uint64]int{}} }

// take reads lines; one that has no end yet is left for the next time.
func (r *reading) take(data []byte) {
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return
		}
		line := bytes.TrimSpace(data[:i])
		data = data[i+1:]
		if len(line) == 0 {
			r.line(i+1, 0, nil)
			continue
		}
		rec, err := parse(line)
		if err == nil {
			err = r.add(rec)
		}
		if errors.Is(err, errCut) {
			err = nil
		} else if err != nil {
			r.last = max(r.last, damagedNumber(line))
		}
		r.last = max(r.last, rec.Last)
		r.line(i+1, rec.ID, err)
	}
}

// line notes where the next line is.
func (r *reading) line(length int, id uint64, damage error) {
	r.lines = append(r.lines, span{r.offset, r.offset + int64(length), id, damage != nil})
	r.offset += int64(length)
	if damage != nil {
		r.damage = append(r.damage, Damage{len(r.lines), damage.Error()})
	}
}

// wrote takes a record whose line was just appended to all that was read.
func (r *reading) wrote(rec Record, length int) {
	r.last = max(r.last, rec.Last)
	r.line(length, rec.ID, r.add(rec))
}

// without is the reading of a file that has the same but for the entries that are not to be
// kept, and the lines which it consists of. Damaged lines stay.
func (r *reading) without(keep map[uint64]bool, head int) (*reading, []span) {
	out := newReading(r.here)
	out.last, out.head = r.last, r.last
	out.line(head, 0, nil)
	var lines []span
	damage := r.damage
	for _, l := range r.lines {
		if !l.damaged && !keep[l.id] {
			continue
		}
		lines = append(lines, l)
		var err error
		if l.damaged {
			err = errors.New(damage[0].Why)
			damage = damage[1:]
		}
		out.line(int(l.end-l.begin), l.id, err)
	}
	for _, e := range r.entries {
		if keep[e.ID] {
			out.index[e.ID] = len(out.entries)
			out.entries = append(out.entries, e)
		}
	}
	return out, lines
}

func (r *reading) add(rec Record) error {
	if rec.Kind == Head {
		r.head = rec.Last
		return nil
	}
	i, known := r.index[rec.ID]
	if !known {
		switch {
		case rec.Kind != Begin && rec.ID <= r.head:
			return nil // the entry was undone in the middle, and is not kept any more
		case rec.Kind != Begin:
			return fmt.Errorf("entry %d has no beginning", rec.ID)
		}
		i = len(r.entries)
		r.index[rec.ID] = i
		r.entries = append(r.entries, Entry{ID: rec.ID})
	}
	// Entries that were handed out are not written to again.
	e := r.entries[i]
	e.Changes = slices.Clone(e.Changes)
	e.take(rec, r.here)
	r.entries[i] = e
	for _, id := range rec.Undone {
		if k, ok := r.index[id]; ok {
			r.entries[k].Undone, r.entries[k].UndoneBy = true, rec.ID
		}
	}
	return nil
}

// take adds what one record says of the entry.
func (e *Entry) take(rec Record, here Where) {
	if rec.Kind == End {
		// What undid it in the middle did not undo what was done after that.
		e.Finished, e.Undone, e.UndoneBy = true, false, 0
		e.Reason = cmp.Or(rec.Reason, e.Reason)
		e.result(rec.Changes)
		for i := range e.Changes {
			if c := &e.Changes[i]; rec.AsPlanned && c.Status == attr.Planned {
				c.Status = attr.Done
			}
		}
		return
	}
	if rec.Kind == Begin {
		e.Time, e.Origin, e.User, e.Command, e.Reason = rec.Time, rec.Origin, rec.User, rec.Command, rec.Reason
		e.Undoes, e.Targets, e.Sweep, e.Ticks = rec.Undoes, rec.Targets, rec.Sweep, rec.Ticks
		e.PastBoot, e.Foreign = rec.Boot != here.Boot, rec.Namespaces.differs(here.Namespaces)
	}
	planned := slices.Clone(rec.Changes)
	for i := range planned {
		planned[i].Status = attr.Planned // nothing is known of it until the end is
	}
	e.result(planned)
}

// result fills in what is newer: what became of the changes, or a value that was found to
// be another before it was changed. It adds those of threads that were born meanwhile.
func (e *Entry) result(results []attr.Change) {
	index := map[attr.Key]int{}
	for i, c := range e.Changes {
		index[c.Key()] = i
	}
	for _, c := range results {
		if i, ok := index[c.Key()]; ok {
			e.Changes[i] = c
			continue
		}
		e.Changes = append(e.Changes, c)
	}
}

// FromLines puts the lines of one entry, as they were written just now, together. A
// guard that has them needs no disk.
func FromLines(lines []byte) (Entry, error) {
	r := newReading(Where{})
	r.take(lines)
	switch {
	case len(r.damage) > 0:
		return Entry{}, r.damage[0]
	case len(r.entries) != 1:
		return Entry{}, errors.New("no journal entry has begun")
	}
	r.entries[0].PastBoot, r.entries[0].Foreign = false, ""
	return r.entries[0], nil
}
