package model

import (
	"maps"
	"math/bits"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// Sum is a row that stands for several tasks.
type Sum struct {
	Of []int32 // indices in Tasks
	// At is the row that shows the sums instead of its own figures; -1: the sum is a
	// row of its own behind all tasks, which TID, below 0, StartTicks and ID name.
	At         int32
	TID        kernel.TID
	StartTicks uint64
	ID         *sample.Identity
}

// WithSums is the model with rows that stand for several tasks. Those of their own are
// behind the tasks, in the order of sums; so Tasks are in order of TID up to them only.
// The model itself is not changed.
func (m *Model) WithSums(sums []Sum) *Model {
	if len(sums) == 0 {
		return m
	}
	out, s := *m, *m.Sample
	out.Sample = &s
	out.Tasks = append(make([]Task, 0, len(m.Tasks)+len(sums)), m.Tasks...)
	s.Tasks = append(make([]*sample.Task, 0, len(s.Tasks)+len(sums)), s.Tasks...)
	out.io = make(map[int]*IO, len(m.io))
	maps.Copy(out.io, m.io)
	for i := range sums {
		at := int(sums[i].At)
		if at < 0 {
			at = len(out.Tasks)
			out.Tasks, s.Tasks = append(out.Tasks, Task{}), append(s.Tasks, nil)
		}
		var io *IO
		s.Tasks[at], out.Tasks[at], io = m.sum(&sums[i])
		if io != nil {
			out.io[at] = io
		}
	}
	return &out
}

// sumHave are the figures that can be added up.
const sumHave = sample.HaveRun | sample.HaveSwitches | sample.HaveMigrations | sample.HavePingPongs | sample.HaveTime

// sum adds up: a counter or rate is the sum of those that are known, Unknown when none
// is; the run delay is the mean of the tasks that ran.
func (m *Model) sum(of *Sum) (*sample.Task, Task, *IO) {
	t := &sample.Task{TID: of.TID, TGID: of.TID, StartTicks: of.StartTicks, LastCPU: -1, MigrationSource: sample.SourceBPF}
	if of.At < 0 {
		id := *of.ID
		t.ID = &id
	} else {
		own := *m.Sample.Tasks[of.At] // what cannot be added up stays the task's own
		t = &own
		t.UserTicks, t.SystemTicks, t.RSSPages, t.MinorFaults, t.MajorFaults, t.Threads = 0, 0, 0, 0, 0, 0
		t.RunNs, t.RunDelayNs, t.Slices, t.Migrations, t.PingPongs, t.VoluntarySwitches, t.InvoluntarySwitches = 0, 0, 0, 0, 0, 0, 0
		t.Pressure, t.Extra, t.Have = 0, nil, t.Have&^sumHave
	}
	r := Task{CPUPercent: Unknown, MEMPercent: Unknown, MigPerS: Unknown, VolPerS: Unknown, InvolPerS: Unknown, DelayPercent: Unknown,
		ownDelay: Unknown, PingPongPerS: Unknown, PingPongShare: Unknown, SinceTick: 255, Moves: noMoves}
	for i := range r.Bounce {
		r.Bounce[i] = -1
	}
	var a addition
	for _, i := range of.Of {
		one := m.Sample.Tasks[i]
		a.counters(t, one)
		a.rates(&r, &m.Tasks[i])
		a.moves(m.Tasks[i].Moves)
		a.storage(m.IO(int(i)))
		if of.At < 0 {
			a.settings(t, one)
		}
	}
	a.finish(&r, len(m.Sample.CPUs))
	if of.At < 0 {
		t.Group = &a.group
	} else {
		r.Bounce, r.CPUsSeen = m.Tasks[of.At].Bounce, m.Tasks[of.At].CPUsSeen
	}
	return t, r, a.io
}

// addition is a sum in the making.
type addition struct {
	n     int // tasks
	ran   int // those whose run delay counts
	delay float32
	steps [BounceLen]int // migrations a second at each tick, -1 while not known
	known bool           // of any tick
	group sample.Threads // what the tasks of a row of its own have in common
	io    *IO
}

func (a *addition) counters(t, one *sample.Task) {
	t.UserTicks += one.UserTicks
	t.SystemTicks += one.SystemTicks
	t.RSSPages += max(0, one.RSSPages)
	t.MinorFaults += one.MinorFaults
	t.MajorFaults += one.MajorFaults
	t.Threads += one.Threads
	t.RunNs += one.RunNs
	t.RunDelayNs += one.RunDelayNs
	t.Slices += one.Slices
	t.PingPongs += one.PingPongs
	t.VoluntarySwitches += one.VoluntarySwitches
	t.InvoluntarySwitches += one.InvoluntarySwitches
	t.Pressure += one.Pressure
	t.Have |= one.Have & sumHave
	if one.Have&sample.HaveMigrations != 0 {
		t.Migrations += one.Migrations
		t.MigrationSource = min(t.MigrationSource, one.MigrationSource) // as good as the worst one
	}
	if e := one.Extra; e != nil && e.Have&(sample.HaveMemory|sample.HaveIO) != 0 {
		if t.Extra == nil {
			t.Extra = &sample.Extra{}
		}
		t.Extra.Have |= e.Have & (sample.HaveMemory | sample.HaveIO)
		t.Extra.VirtPages += e.VirtPages
		t.Extra.SharePages += e.SharePages
		t.Extra.ReadBytes += e.ReadBytes
		t.Extra.WriteBytes += e.WriteBytes
	}
}

func (a *addition) rates(r, one *Task) {
	a.n++
	add(&r.CPUPercent, one.CPUPercent)
	add(&r.MEMPercent, one.MEMPercent)
	add(&r.MigPerS, one.MigPerS)
	add(&r.VolPerS, one.VolPerS)
	add(&r.InvolPerS, one.InvolPerS)
	add(&r.PingPongPerS, one.PingPongPerS)
	r.SinceTick = min(r.SinceTick, one.SinceTick)
	if Known(one.DelayPercent) {
		r.DelayPercent = 0
		if one.SinceTick == 0 || one.DelayPercent > 0 {
			a.delay += one.DelayPercent
			a.ran++
		}
	}
}

// add adds what is known.
func add(sum *float32, v float32) {
	switch {
	case !Known(v):
	case Known(*sum):
		*sum += v
	default:
		*sum = v
	}
}

// moves adds a row's history. Of a step only its bounds are known: the middle counts.
func (a *addition) moves(h MoveHistory) {
	if !a.known {
		for tick := range a.steps {
			a.steps[tick] = -1
		}
	}
	a.known = true
	if h == 0 { // as most are
		for tick := range a.steps {
			a.steps[tick] = max(a.steps[tick], 0)
		}
		return
	}
	for tick := range a.steps {
		switch s := h.Step(tick); {
		case s == 0:
			a.steps[tick] = max(a.steps[tick], 0)
		case s == 1:
			a.steps[tick] = max(a.steps[tick], 0) + 1
		case s > 1:
			a.steps[tick] = max(a.steps[tick], 0) + 3<<(s-2)
		}
	}
}

func (a *addition) storage(io *IO) {
	if io == nil {
		return
	}
	if a.io == nil {
		a.io = &IO{Unknown, Unknown}
	}
	add(&a.io.ReadPerS, io.ReadPerS)
	add(&a.io.WritePerS, io.WritePerS)
}

// settings are those of the first task, and whether others differ. The owner is not
// known when there are several.
func (a *addition) settings(t, one *sample.Task) {
	g := &a.group
	if a.n == 1 {
		t.Nice, t.Policy, t.RTPrio, t.Flags = one.Nice, one.Policy, one.RTPrio, one.Flags&sample.FlagKernelThread
		g.Have, g.CPUs = one.Have&sample.HaveAffinity, one.Affinity
		t.ID.User = owner(one)
		return
	}
	t.Flags &= one.Flags
	g.NiceDiffers = g.NiceDiffers || one.Nice != t.Nice
	g.PolicyDiffers = g.PolicyDiffers || one.Policy != t.Policy || one.RTPrio != t.RTPrio
	if g.Have &= one.Have; g.Have&sample.HaveAffinity != 0 && !g.CPUs.Equal(one.Affinity) {
		g.AffinityDiffers, g.CPUs = true, g.CPUs.Or(one.Affinity)
	}
	if t.ID.User != owner(one) {
		t.ID.User = ""
	}
}

func owner(t *sample.Task) string {
	if t.ID == nil {
		return ""
	}
	return t.ID.User
}

// finish makes figures of what was added. Memory that tasks share was counted for each,
// and no share is above all there is.
func (a *addition) finish(r *Task, cpus int) {
	r.MEMPercent = clamp(r.MEMPercent, 100)
	if cpus > 0 {
		r.CPUPercent = clamp(r.CPUPercent, 100*float32(cpus))
	}
	if a.ran > 0 {
		r.DelayPercent = a.delay / float32(a.ran)
	}
	if r.PingPongPerS >= 0 && r.MigPerS > 0 {
		r.PingPongShare = min(1, r.PingPongPerS/r.MigPerS)
	}
	for tick := range a.steps {
		step := MoveHistory(unknownStep)
		if n := a.steps[tick]; a.known && n >= 0 {
			step = MoveHistory(min(bits.Len(uint(n)), MoveSteps))
		}
		r.Moves = r.Moves<<4 | step
	}
}
