package model

import "piton/internal/sample"

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
