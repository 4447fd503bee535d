package model

import (
	"math"
	"slices"

	"piton/internal/sample"
)

// nextTasks walks the tasks of both samples side by side; both are in order of TID.
func (m *Model) nextTasks(prev *Model) {
	now := m.Sample.Tasks
	m.Tasks = make([]Task, len(now))
	var before []*sample.Task
	sameMemory := false
	if prev != nil {
		before = prev.Sample.Tasks
		sameMemory = prev.Sample.Host.MemTotalBytes == m.Sample.Host.MemTotalBytes
	}
	j := 0
	for i := range now {
		t := now[i]
		m.count(t)
		for j < len(before) && before[j].TID < t.TID {
			j++
		}
		if j < len(before) && before[j].TID == t.TID && before[j].StartTicks == t.StartTicks {
			was := &prev.Tasks[j]
			if was.still && before[j] == t && sameMemory && m.perSecond != 0 {
				m.Tasks[i].rest(was, t)
				continue
			}
			m.again(i, was, before[j], t)
		} else {
			m.first(&m.Tasks[i], t)
		}
		m.Tasks[i].MEMPercent = m.memory(t)
	}
}

func (m *Model) count(t *sample.Task) {
	if t.State == 'R' {
		m.Counts.Running++
	}
	if !t.IsProcess() {
		return
	}
	m.Counts.Processes++
	m.Counts.Threads += int(t.Threads)
	if t.IsKernel() {
		m.Counts.KernelThreads++
	}
}

// first is a task that the sample before did not have.
func (m *Model) first(r *Task, t *sample.Task) {
	*r = Task{CPUPercent: Unknown, MigPerS: Unknown, VolPerS: Unknown, InvolPerS: Unknown,
		DelayPercent: Unknown, ownDelay: Unknown, Moves: noMoves, PingPongPerS: Unknown, PingPongShare: Unknown, SinceTick: math.MaxUint8}
	if t.State == 'R' {
		r.SinceTick = 0
	}
	for i := range r.Bounce {
		r.Bounce[i] = -1
	}
	r.bounce(t.LastCPU)
}

// again is a task that the sample before had too, with the rates was.
func (m *Model) again(i int, was *Task, before, t *sample.Task) {
	r := &m.Tasks[i]
	r.Bounce, r.CPUsSeen = was.Bounce, was.CPUsSeen
	r.bounce(t.LastCPU)
	r.CPUPercent = m.settle(was.CPUPercent, m.cpuPercent(before, t))
	r.ownDelay, r.MigPerS, r.VolPerS, r.InvolPerS = Unknown, Unknown, Unknown, Unknown
	both := before.Have & t.Have
	if both&sample.HaveRun != 0 {
		r.ownDelay = m.delay(before.RunDelayNs, t.RunDelayNs)
	}
	if both&sample.HaveMigrations != 0 && before.MigrationSource == t.MigrationSource {
		r.MigPerS = m.perS(before.Migrations, t.Migrations)
	}
	r.Moves = was.Moves.add(r.MigPerS)
	r.DelayPercent = m.settle(was.DelayPercent, m.delayOf(i, before, t))
	m.ioOf(i, before, t)
	r.pingPongs(m, before, t)
	// Where the kernel counts, it counts the threads too that ended before piton began.
	if both&sample.HaveSwitches != 0 && (before.MigrationSource == sample.SourceBPF) == (t.MigrationSource == sample.SourceBPF) {
		r.VolPerS = m.perS(before.VoluntarySwitches, t.VoluntarySwitches)
		r.InvolPerS = m.perS(before.InvoluntarySwitches, t.InvoluntarySwitches)
	}
	if ran(before, t) {
		r.SinceTick = 0
		r.starved = both&sample.HaveTime != 0 && t.State == 'R' && before.State == 'R' && t.RunNs == before.RunNs
	} else {
		r.SinceTick = was.SinceTick + min(1, math.MaxUint8-was.SinceTick)
		r.still = before == t && m.perSecond != 0 && !(r.CPUPercent > 0) && !(r.DelayPercent > 0)
	}
}

// rest is a task that was still and is: again without a second look.
func (r *Task) rest(was *Task, t *sample.Task) {
	*r = *was
	r.bounce(t.LastCPU)
	r.Moves = r.Moves.add(r.MigPerS)
	r.SinceTick += min(1, math.MaxUint8-r.SinceTick)
}

func (r *Task) pingPongs(m *Model, before, t *sample.Task) {
	r.PingPongPerS, r.PingPongShare = Unknown, Unknown
	if before.Have&t.Have&sample.HavePingPongs == 0 {
		return
	}
	r.PingPongPerS = m.perS(before.PingPongs, t.PingPongs)
	if r.PingPongPerS >= 0 && r.MigPerS > 0 {
		// Tasks and moves are not counted at the very same moment.
		r.PingPongShare = min(1, r.PingPongPerS/r.MigPerS)
	}
}

func ran(before, t *sample.Task) bool {
	return t.State == 'R' || t.UserTicks+t.SystemTicks != before.UserTicks+before.SystemTicks ||
		before.Have&t.Have&sample.HaveTime != 0 && t.RunNs != before.RunNs
}

// cpuPercent is exact where the time is known in ns, else in steps of a clock tick.
func (m *Model) cpuPercent(before, t *sample.Task) float32 {
	// More than all of the interval, on all CPUs, is the time between this task's
	// reading and the sample's.
	most := 100 * float32(max(t.Threads, 1))
	if t.Odd {
		most = math.MaxFloat32 // its number of threads is unknown
	}
	if n := len(m.Sample.CPUs); n > 0 {
		most = min(most, 100*float32(n))
	}
	if !t.IsProcess() {
		most = 100
	}
	if before.Have&t.Have&sample.HaveTime != 0 {
		return clamp(m.perS(before.RunNs, t.RunNs)*100/1e9, most)
	}
	if before.Odd || t.Odd {
		return Unknown
	}
	ticks := m.perS(before.UserTicks+before.SystemTicks, t.UserTicks+t.SystemTicks)
	return clamp(ticks*100/float32(m.Sample.Host.TicksPerSecond), most)
}

// clamp leaves Unknown alone.
func clamp(v, most float32) float32 {
	if v > most {
		return most
	}
	return v
}

func (m *Model) memory(t *sample.Task) float32 {
	h := &m.Sample.Host
	if h.MemTotalBytes == 0 || t.RSSPages < 0 {
		return Unknown
	}
	return float32(float64(t.RSSPages) * float64(h.PageBytes) * 100 / float64(h.MemTotalBytes))
}

// bounce adds a tick to the history.
func (t *Task) bounce(cpu int32) {
	next := int16(max(-1, min(cpu, math.MaxInt16)))
	never := t.CPUsSeen == 1 && next >= 0 && t.Bounce[BounceLen-1] == next // it never moved
	if never && t.Bounce[0] == next {
		return // and the history is full
	}
	copy(t.Bounce[:], t.Bounce[1:])
	t.Bounce[BounceLen-1] = next
	if !never {
		t.CPUsSeen = distinct(&t.Bounce)
	}
}

func distinct(bounce *[BounceLen]int16) uint8 {
	n := uint8(0)
	for i, cpu := range bounce {
		if cpu >= 0 && !slices.Contains(bounce[:i], cpu) {
			n++
		}
	}
	return n
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
	if !t.IsProcess() || t.Threads < 2 && before.Threads < 2 {
		return m.Tasks[i].ownDelay
	}
	was, read := threadsOf(before)
	now, readNow := threadsOf(t)
	switch {
	case read && readNow:
		return m.meanDelay(was, now)
	case before.Have&t.Have&sample.HaveTime != 0 && t.RunNs == before.RunNs:
		return m.perS(0, 0) // none ran, and a wait counts when it ends
	}
	return Unknown
}

// threadsOf are the threads of a process with their run delay, if that was read of all.
func threadsOf(t *sample.Task) (list []sample.Thread, read bool) {
	switch {
	case t.Group != nil:
		return t.Group.List, t.Group.Have&sample.HaveRun != 0
	case t.Threads < 2:
		return []sample.Thread{{TID: t.TID, RunDelayNs: t.RunDelayNs, Slices: t.Slices}}, t.Have&sample.HaveRun != 0
	}
	return nil, false
}

// meanDelay is the mean run delay of the threads that ran.
func (m *Model) meanDelay(before, threads []sample.Thread) float32 {
	if m.perSecond == 0 {
		return Unknown
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
		if now.Slices == was.Slices {
			continue
		}
		if d := m.delay(was.RunDelayNs, now.RunDelayNs); Known(d) {
			sum, ran = sum+d, ran+1
		}
	}
	return sum / float32(max(1, ran))
}
