package model

import (
	"piton/internal/kernel"
	"piton/internal/sample"
)

// Group names the threads of a process that stand out in the interval. A TID of 0
// names none.
type Group struct {
	// Delayed is the thread that waited the longest for a CPU, and DelayPercent how
	// long, as Task.DelayPercent.
	Delayed      kernel.TID
	DelayPercent float32
	// Mover is the thread that moved most, MovesPerS how often.
	Mover     kernel.TID
	MovesPerS float32
}

// delay is a counter of run delay as a share of the interval. The kernel counts a
// wait when it ends (sched_info_arrive), so one that began before the interval is
// longer than it: the rest belongs to the interval before.
func (m *Model) delay(before, now uint64) float32 {
	return clamp(m.perS(before, now)*100/1e9, 100)
}

// delayOf is the run delay of row i: of a process with several threads the mean over
// those that ran.
func (m *Model) delayOf(i int, before, t *sample.Task) float32 {
	switch {
	case !t.IsProcess() || t.Threads < 2 && before.Threads < 2:
		return m.Tasks[i].ownDelay
	case before.Group != nil && t.Group != nil && before.Group.Have&t.Group.Have&sample.HaveRun != 0:
		g, mean := m.compareThreads(before.Group.List, t.Group.List)
		if m.groups == nil {
			m.groups = map[int]*Group{}
		}
		m.groups[i] = g
		return mean
	case before.Have&t.Have&sample.HaveTime != 0 && t.RunNs == before.RunNs:
		return m.perS(0, 0) // none ran, and a wait counts when it ends
	}
	return Unknown
}

// compareThreads finds what stands out among the threads, and their mean run delay.
func (m *Model) compareThreads(before, threads []sample.Thread) (g *Group, mean float32) {
	g = &Group{}
	if m.perSecond == 0 {
		return g, Unknown
	}
	sum, ran, j := float32(0), 0, 0
	for i := range threads {
		now := &threads[i]
		for j < len(before) && before[j].TID < now.TID {
			j++
		}
		var was sample.Thread // of one that was born in the interval
		if j < len(before) && before[j].TID == now.TID {
			was = before[j]
		}
		if moves := m.movesOf(&was, now); moves > g.MovesPerS {
			g.Mover, g.MovesPerS = now.TID, moves
		}
		if now.Slices == was.Slices {
			continue
		}
		d := m.delay(was.RunDelayNs, now.RunDelayNs)
		if !Known(d) {
			continue
		}
		sum, ran = sum+d, ran+1
		if d > g.DelayPercent {
			g.Delayed, g.DelayPercent = now.TID, d
		}
	}
	return g, sum / float32(max(1, ran))
}

// movesOf is how often a thread moved, a second; 0 also when that is not known.
func (m *Model) movesOf(was, now *sample.Thread) float32 {
	if !m.Sample.HaveMoves {
		if was.TID == 0 || was.Migrations == 0 { // it may not have been read
			return 0
		}
		return max(0, m.perS(was.Migrations, now.Migrations))
	}
	if m.moved == nil {
		m.moved = make(map[kernel.TID]uint32, len(m.Sample.Moves))
		for i := range m.Sample.Moves {
			m.moved[m.Sample.Moves[i].TID] += m.Sample.Moves[i].Count
		}
	}
	return float32(float64(m.moved[now.TID]) * m.perSecond)
}
