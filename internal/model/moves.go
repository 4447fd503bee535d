package model

import (
	"cmp"
	"slices"
	"time"

	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology"
)

// MoveSpan is how far back a MoveWindow reaches.
const MoveSpan = time.Minute

// moveRoom bounds the entries a MoveWindow keeps: 12 bytes each, 6 MB in all.
const moveRoom = 1 << 19

// MoveWindow keeps the moves of the last minute by task and pair of CPUs, in
// bounded memory. When there are more than it has room for, it first forgets
// which tasks made the oldest ones, then those ticks altogether; what it still
// covers is Span of a table. The zero value is ready. Not safe for concurrent use.
type MoveWindow struct {
	ticks   []moveTick // oldest first
	entries int
	have    bool
	room    int              // moveRoom, or less in tests
	names   map[int32]string // of tasks in ticks, as far as a sample had them
	spare   []moveEntry
}

// moveEntry is one sample.Move; a tid of 0 stands for tasks that were forgotten.
type moveEntry struct {
	tid      int32
	count    uint32
	from, to uint16
}

// moveTick is the moves between two samples.
type moveTick struct {
	took   time.Duration
	moves  []moveEntry
	lost   uint64
	folded bool // by pair of CPUs alone
}

// Have reports whether the newest model's source tells moves apart.
func (w *MoveWindow) Have() bool { return w.have }

// Add takes in the moves of a model's interval. Every model has to be added, in
// order; a source without moves empties the window.
func (w *MoveWindow) Add(m *Model) {
	s := m.Sample
	if w.have = s.HaveMoves; !w.have {
		w.ticks, w.entries, w.spare, w.names = nil, 0, nil, nil
		return
	}
	if m.Elapsed <= 0 {
		return // nothing says how long these took
	}
	w.expire(m.Elapsed)
	t := moveTick{took: m.Elapsed, lost: s.MovesLost, moves: slices.Grow(w.spare[:0], len(s.Moves))}
	w.spare = nil
	for i := range s.Moves {
		v := &s.Moves[i]
		t.moves = append(t.moves, moveEntry{int32(v.TID), v.Count, uint16(v.From), uint16(v.To)})
	}
	w.ticks = append(w.ticks, t)
	w.entries += len(t.moves)
	w.shrink()
	w.note(s)
}

// Name is the last known name of a task that moved in the window, also of one that has
// ended; "" when no sample had it.
func (w *MoveWindow) Name(tid kernel.TID) string { return w.names[int32(tid)] }

// note keeps the names of the tasks that moved, for when they have ended.
func (w *MoveWindow) note(s *sample.Sample) {
	const spare = 1024
	if w.names == nil || len(w.names) > w.entries+spare {
		kept := make(map[int32]string, len(w.names))
		for i := range w.ticks {
			for _, e := range w.ticks[i].moves {
				if name, ok := w.names[e.tid]; ok {
					kept[e.tid] = name
				}
			}
		}
		w.names = kept
	}
	for i := range s.Moves {
		tid := s.Moves[i].TID
		if w.names[int32(tid)] != "" {
			continue
		}
		if at, ok := sample.Find(s.Tasks, tid); ok && s.Tasks[at].ID != nil {
			w.names[int32(tid)] = s.Tasks[at].ID.Comm
		}
	}
}

// expire drops the ticks that are not needed to cover the span beside a new one.
func (w *MoveWindow) expire(next time.Duration) {
	covered, keep := next, len(w.ticks)
	for keep > 0 && covered < MoveSpan {
		keep--
		covered += w.ticks[keep].took
	}
	w.drop(keep)
}

// drop forgets the n oldest ticks.
func (w *MoveWindow) drop(n int) {
	for i := range n {
		w.entries -= len(w.ticks[i].moves)
		w.spare = w.ticks[i].moves
	}
	w.ticks = slices.Delete(w.ticks, 0, n)
}

// shrink makes the entries fit their room.
func (w *MoveWindow) shrink() {
	if w.room == 0 {
		w.room = moveRoom
	}
	for i := 0; i < len(w.ticks) && w.entries > w.room; i++ {
		if t := &w.ticks[i]; !t.folded {
			w.entries -= t.fold()
		}
	}
	for w.entries > w.room && len(w.ticks) > 1 {
		w.drop(1)
	}
	if over := w.entries - w.room; over > 0 { // a single tick
		t := &w.ticks[0]
		for _, e := range t.moves[w.room:] {
			t.lost += uint64(e.count)
		}
		t.moves = t.moves[:w.room]
		w.entries = w.room
	}
}

// fold forgets the tasks and says how many entries fewer there are.
func (t *moveTick) fold() (fewer int) {
	pairs := make([]uint64, len(t.moves)) // from, to, count: plain numbers sort fastest
	for i, e := range t.moves {
		pairs[i] = uint64(e.from)<<48 | uint64(e.to)<<32 | uint64(e.count)
	}
	slices.Sort(pairs)
	var out []moveEntry
	for _, p := range pairs {
		e := moveEntry{0, uint32(p), uint16(p >> 48), uint16(p >> 32)}
		if n := len(out); n > 0 && out[n-1].from == e.from && out[n-1].to == e.to {
			out[n-1].count += e.count
			continue
		}
		out = append(out, e)
	}
	fewer = len(t.moves) - len(out)
	t.folded, t.moves = true, out
	return fewer
}

// over returns the newest ticks that cover span, or all there are, and how long
// they took.
func (w *MoveWindow) over(span time.Duration) (ticks []moveTick, took time.Duration) {
	from := len(w.ticks)
	// A tick is never exactly as long as it should be: half of one is forgiven.
	for from > 0 && (took == 0 || took+w.ticks[from-1].took/2 < span) {
		from--
		took += w.ticks[from].took
	}
	return w.ticks[from:], took
}

// MoveTable is the moves of a window between groups of CPUs.
type MoveTable struct {
	*MoveGroups
	Span    time.Duration // what the counts were gathered over
	Total   uint64        // of all moves, also those that Counts has no place for
	Classes [topology.OtherNode + 1]uint64
	// Lost had no room in the kernel's table or in the window: neither their
	// CPUs nor their tasks are known. They are not in Total.
	Lost uint64
	// Elsewhere are moves from or to CPUs that are not online any more.
	Elsewhere uint64

	counts []uint32 // by from, then by to
	inner  [][topology.OtherNode + 1]uint32
}

// Table counts the moves of the newest ticks that cover span.
func (w *MoveWindow) Table(span time.Duration, g *MoveGroups) *MoveTable {
	n := len(g.Groups)
	t := &MoveTable{MoveGroups: g, counts: make([]uint32, n*n), inner: make([][topology.OtherNode + 1]uint32, n)}
	ticks, took := w.over(span)
	t.Span = took
	for i := range ticks {
		t.Lost += ticks[i].lost
		t.add(ticks[i].moves)
	}
	return t
}

func (t *MoveTable) add(moves []moveEntry) {
	n := len(t.Groups)
	var classes [topology.OtherNode + 1]uint64
	for i := range moves {
		e := &moves[i]
		from, to := t.at(e.from), t.at(e.to)
		class := between(from, to)
		classes[class] += uint64(e.count)
		switch {
		case from.group < 0 || to.group < 0:
			t.Elsewhere += uint64(e.count)
			continue
		case from.group == to.group:
			t.inner[from.group][class] += e.count
		}
		t.counts[int(from.group)*n+int(to.group)] += e.count
	}
	for class, c := range classes {
		t.Classes[class] += c
		t.Total += c
	}
}

// Count is the number of moves from group i to group j.
func (t *MoveTable) Count(i, j int) uint32 { return t.counts[i*len(t.Groups)+j] }

// Within says how the moves inside group i divide by class.
func (t *MoveTable) Within(i int) [topology.OtherNode + 1]uint32 { return t.inner[i] }

// PerS is a count as a rate per second of the window.
func (t *MoveTable) PerS(count uint64) float64 {
	if t.Span <= 0 {
		return 0
	}
	return float64(count) / t.Span.Seconds()
}

// MoveTask is one task's share of the moves between two groups.
type MoveTask struct {
	TID   kernel.TID
	Count uint32
}

// Tasks ranks the tasks behind the moves from group i to group j, most moves
// first. Unnamed moves are those whose tasks are not kept.
func (w *MoveWindow) Tasks(span time.Duration, g *MoveGroups, i, j int) (tasks []MoveTask, unnamed uint32) {
	count := map[int32]uint32{}
	ticks, _ := w.over(span)
	for k := range ticks {
		for _, e := range ticks[k].moves {
			if int(g.at(e.from).group) == i && int(g.at(e.to).group) == j {
				count[e.tid] += e.count
			}
		}
	}
	unnamed = count[0]
	delete(count, 0)
	tasks = make([]MoveTask, 0, len(count))
	for tid, n := range count {
		tasks = append(tasks, MoveTask{kernel.TID(tid), n})
	}
	slices.SortFunc(tasks, func(a, b MoveTask) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.TID, b.TID))
	})
	return tasks, unnamed
}

// ClassOf is the distance of the moves from group i to group j; of those inside
// one group, the class that most of them are of.
func (t *MoveTable) ClassOf(i, j int) topology.Distance {
	if i != j {
		return t.Apart(i, j)
	}
	best, most := topology.SameCPU, uint32(0)
	for class, n := range t.inner[i] {
		if n > most {
			best, most = topology.Distance(class), n
		}
	}
	return best
}

// TrailLen is the number of moves that a Trail keeps.
const TrailLen = 512

// Trail is the last moves of one task in their order. The zero value is ready.
type Trail struct {
	TID   kernel.TID
	Steps []sample.Step // oldest first
	Lost  uint64        // moves that the source had no room for
}

// Add takes in the moves of the traced task. Another task than the last one
// begins a new trail.
func (t *Trail) Add(tid kernel.TID, s *sample.Sample) {
	if tid != t.TID {
		*t = Trail{TID: tid}
	}
	t.Steps = append(t.Steps, s.Steps...)
	t.Lost += s.StepsLost
	if over := len(t.Steps) - TrailLen; over > 0 {
		t.Steps = append(t.Steps[:0], t.Steps[over:]...)
	}
}
