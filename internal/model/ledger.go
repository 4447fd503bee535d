package model

import (
	"cmp"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// runRoom bounds the run intervals that a RunWindow keeps: 88 bytes each, 11 MB in all.
const runRoom = 1 << 17

// RunWindow keeps who ran where over the last minute, in bounded memory: the
// oldest ticks go when there are more of them than it has room for. The zero value
// is ready. Not safe for concurrent use.
type RunWindow struct {
	ticks     []runTick // oldest first
	intervals int
	room      int // runRoom, or less in tests
}

type runTick struct {
	took      time.Duration
	intervals []sample.RunInterval
}

// Add takes in the run intervals of a model's interval. Samples without any add nothing:
// nobody wrote them down.
func (w *RunWindow) Add(m *Model) {
	if m.Elapsed <= 0 || len(m.Sample.RunIntervals) == 0 {
		return
	}
	if w.room == 0 {
		w.room = runRoom
	}
	w.ticks = append(w.ticks, runTick{m.Elapsed, m.Sample.RunIntervals})
	w.intervals += len(m.Sample.RunIntervals)
	covered, keep := time.Duration(0), len(w.ticks)
	for keep > 0 && covered < MoveSpan {
		keep--
		covered += w.ticks[keep].took
	}
	for keep < len(w.ticks)-1 && w.intervals-count(w.ticks[:keep]) > w.room {
		keep++
	}
	w.intervals -= count(w.ticks[:keep])
	w.ticks = slices.Delete(w.ticks, 0, keep)
}

func count(ticks []runTick) int {
	n := 0
	for i := range ticks {
		n += len(ticks[i].intervals)
	}
	return n
}

// Reset forgets everything, as when the ledger was closed for a while.
func (w *RunWindow) Reset() { *w = RunWindow{} }

// Have reports whether any were added.
func (w *RunWindow) Have() bool { return len(w.ticks) > 0 }

// Ledger is who took the time of one CPU.
type Ledger struct {
	CPU     cpuset.CPU
	Span    time.Duration
	Entries []LedgerEntry // most time first
	Idle    time.Duration
}

// LedgerEntry is what one task, interrupt line or softirq took of a CPU.
type LedgerEntry struct {
	Kind    sample.RunKind
	TID     kernel.TID // of a task
	Number  int        // of an interrupt line, or the vector of a softirq
	Name    string
	Run     time.Duration
	Wait    time.Duration // runnable before it ran; tasks only
	Longest time.Duration
	Times   uint64 // switches to it, or times it was raised
}

// Share is the entry's part of the time, 0..1. CPUs are read one after the other, so
// the time taken of one can be more than that between two samples.
func (l *Ledger) Share(e *LedgerEntry) float32 {
	if l.Span <= 0 {
		return 0
	}
	return min(1, float32(e.Run.Seconds()/l.Span.Seconds()))
}

type runKey struct {
	kind sample.RunKind
	id   int
}

// Ledger adds up what was taken of a CPU over the newest ticks that cover span.
func (w *RunWindow) Ledger(span time.Duration, cpu cpuset.CPU) Ledger {
	l := Ledger{CPU: cpu}
	at := map[runKey]int{}
	covered := time.Duration(0)
	for i := len(w.ticks) - 1; i >= 0 && (covered == 0 || covered+w.ticks[i].took/2 < span); i-- {
		covered += w.ticks[i].took
		l.Span += l.tick(at, &w.ticks[i])
	}
	slices.SortFunc(l.Entries, func(a, b LedgerEntry) int {
		return cmp.Or(cmp.Compare(b.Run, a.Run), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Number, b.Number))
	})
	return l
}

// tick adds what was taken in one tick and says how much of it is known: where
// the idle time is told, everything is, so that the sum is the time since the
// writing down began.
func (l *Ledger) tick(at map[runKey]int, t *runTick) time.Duration {
	sum, idle := time.Duration(0), l.Idle
	for i := range t.intervals {
		if s := &t.intervals[i]; s.CPU == l.CPU {
			sum += time.Duration(s.RunNs)
			l.add(at, s)
		}
	}
	if l.Idle > idle && sum < t.took {
		return sum
	}
	return t.took
}

// add comes from the newest interval to the oldest, so the newest name stays.
func (l *Ledger) add(at map[runKey]int, s *sample.RunInterval) {
	key := runKey{s.Kind, s.Number}
	if s.Kind == sample.RunOfTask {
		if s.TID == 0 { // swapper, the idle task
			l.Idle += time.Duration(s.RunNs)
			return
		}
		key.id = int(s.TID)
	}
	i, ok := at[key]
	if !ok {
		i = len(l.Entries)
		at[key] = i
		l.Entries = append(l.Entries, LedgerEntry{Kind: s.Kind, TID: s.TID, Number: s.Number})
	}
	e := &l.Entries[i]
	if e.Name == "" {
		e.Name = s.Name
	}
	e.Run += time.Duration(s.RunNs)
	e.Wait += time.Duration(s.WaitNs)
	e.Longest = max(e.Longest, time.Duration(s.LongestNs))
	e.Times += s.Times
}
