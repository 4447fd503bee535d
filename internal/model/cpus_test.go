package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

func withCPUs(s *sample.Sample, cpus ...sample.CPU) *sample.Sample {
	s.CPUs = cpus
	return s
}

func TestCPUShares(t *testing.T) {
	before := sample.CPU{ID: 0, UserTicks: 100, NiceTicks: 100, SystemTicks: 100, IdleTicks: 100, IOWaitTicks: 100,
		IRQTicks: 100, SoftIRQTicks: 100, StealTicks: 100, GuestTicks: 50, MigrationsIn: 5, HaveIn: true}
	now := sample.CPU{ID: 0, UserTicks: 120, NiceTicks: 110, SystemTicks: 105, IdleTicks: 155, IOWaitTicks: 99,
		IRQTicks: 101, SoftIRQTicks: 102, StealTicks: 107, GuestTicks: 60, MigrationsIn: 25, HaveIn: true}
	m := Next(Next(nil, withCPUs(at(0), before), nil), withCPUs(at(2), now), nil)
	c := m.CPUs[0]
	known(t, 0.45, c.Busy, "busy")
	known(t, 0.20, c.User, "user")
	known(t, 0.10, c.Nice, "nice")
	known(t, 0.05, c.System, "system")
	known(t, 0.01, c.IRQ, "irq")
	known(t, 0.02, c.SoftIRQ, "softirq")
	known(t, 0.07, c.Steal, "steal")
	known(t, 0.10, c.Guest, "guest")
	known(t, 0, c.IOWait, "the kernel took some iowait back")
	known(t, 10, c.InPerS, "in")
	known(t, math.NaN(), c.OutPerS, "out is not known to perf")
	known(t, 10, m.MigrationsPerS, "all")
	assert.Equal(t, uint16(20), c.In[HistoryLen-1])
	assert.Equal(t, 1, c.Ticks)

	now.UserTicks = 1 // came back from offline with counters of its own
	m = Next(m, withCPUs(at(3), now), nil)
	known(t, math.NaN(), m.CPUs[0].Busy, "busy")
	assert.Equal(t, 2, m.CPUs[0].Ticks)

	lost := sample.CPU{ID: 0, NoTimes: true, MigrationsIn: 35, HaveIn: true}
	m = Next(m, withCPUs(at(4), lost), nil)
	known(t, math.NaN(), m.CPUs[0].Busy, "its row could not be used")
	known(t, 10, m.CPUs[0].InPerS, "in")
}

func TestATaskWithACutStatFile(t *testing.T) {
	row := func(ns uint64) *sample.Sample {
		return withCPUs(at(float64(ns)/1e9, &sample.Task{TID: 5, TGID: 5, Odd: true, LastCPU: -1, RSSPages: -1, Have: sample.HaveTime, RunNs: 2 * ns,
			ID: &sample.Identity{Comm: "x"}}), sample.CPU{ID: 0}, sample.CPU{ID: 1}, sample.CPU{ID: 2})
	}
	m := Next(Next(nil, row(1e9), nil), row(2e9), nil)
	known(t, 200, m.Tasks[0].CPUPercent, "of its threads, however many")
	known(t, math.NaN(), m.Tasks[0].MEMPercent, "memory")
	timeless := row(3e9)
	timeless.Tasks[0].Have = 0
	known(t, math.NaN(), Next(m, timeless, nil).Tasks[0].CPUPercent, "ticks")
}

// TestPartsAddUp divides what is busy, and no more than all of the interval.
func TestPartsAddUp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	n := func() uint64 { return rnd.Uint64N(120) }
	var before sample.CPU
	m := Next(nil, withCPUs(at(0), before), nil)
	for s := range 500 {
		now := before
		now.UserTicks += n()
		now.NiceTicks += n()
		now.SystemTicks += n()
		now.IRQTicks += n()
		now.SoftIRQTicks += n()
		now.StealTicks += n()
		now.IdleTicks += n() - min(now.IdleTicks, 20) // it may run backwards
		now.IOWaitTicks += n() - min(now.IOWaitTicks, 20)
		m = Next(m, withCPUs(at(float64(s+1)), now), nil)
		c, sum := &m.CPUs[0], float32(0)
		for _, part := range c.Parts() {
			assert.GreaterOrEqual(t, part, float32(0))
			sum += part
		}
		assert.InDelta(t, c.Busy, sum, 1e-5)
		assert.LessOrEqual(t, c.Busy, float32(1))
		before = now
	}
}

func TestCPUHotplug(t *testing.T) {
	cpu := func(id cpuset.CPU, idle uint64) sample.CPU { return sample.CPU{ID: id, IdleTicks: idle, HaveIn: true} }
	m := Next(nil, withCPUs(at(0), cpu(0, 1), cpu(1, 1), cpu(4, 1)), nil)
	m = Next(m, withCPUs(at(1), cpu(0, 101), cpu(4, 101)), nil)
	known(t, 0, m.CPUs[1].Busy, "cpu 4 is known by its number")
	m = Next(m, withCPUs(at(2), cpu(0, 201), cpu(1, 101), cpu(4, 201)), nil)
	known(t, math.NaN(), m.CPUs[1].Busy, "cpu 1 is new")
	known(t, 0, m.CPUs[2].Busy, "cpu 4")
	assert.Equal(t, []int{2, 0, 2}, []int{m.CPUs[0].Ticks, m.CPUs[1].Ticks, m.CPUs[2].Ticks})
	assert.Len(t, m.Loads(nil), 2, "a CPU that just came is no candidate")
}

func TestSeatAndLoads(t *testing.T) {
	second := func(s float64) *sample.Sample {
		ns := uint64(s * 1e9)
		run := func(tid kernel.TID, cpu int32, share float64, more func(*sample.Task)) *sample.Task {
			return task(tid, func(t *sample.Task) {
				t.LastCPU, t.Have, t.RunNs = cpu, sample.HaveRun|sample.HaveTime|sample.HaveAffinity, uint64(share*float64(ns))
				t.Affinity = cpuset.Of(0, 1)
				if more != nil {
					more(t)
				}
			})
		}
		rt := func(t *sample.Task) { t.Policy = kernel.FIFO }
		smp := at(s,
			run(1, 0, 0.3, rt), run(2, 0, 0.5, rt), run(3, 1, 0.001, rt),
			run(4, 1, 0.4, func(t *sample.Task) { t.Affinity, t.RunDelayNs = cpuset.Of(1), ns/4 }),
			run(5, 1, 0.4, func(t *sample.Task) { t.Affinity, t.RunDelayNs, t.Nice = cpuset.Of(1), ns/4, 5 }),
			run(6, 1, 0, func(t *sample.Task) { t.Affinity, t.Flags = cpuset.Of(1), sample.FlagKernelThread }),
		)
		ticks := uint64(s * 100)
		return withCPUs(smp, sample.CPU{ID: 0, UserTicks: 80 * ticks / 100, IdleTicks: 20 * ticks / 100},
			sample.CPU{ID: 1, UserTicks: 30 * ticks / 100, NiceTicks: 40 * ticks / 100, SoftIRQTicks: 10 * ticks / 100, IdleTicks: 20 * ticks / 100})
	}
	m := Next(Next(nil, second(1), nil), second(2), nil)
	assert.Equal(t, 1, m.CPUs[0].RT, "the busier of two")
	assert.Equal(t, -1, m.CPUs[1].RT, "it hardly ran")
	assert.Equal(t, []int{0, 2}, []int{m.CPUs[0].Pinned, m.CPUs[1].Pinned}, "a kernel thread does not count")

	loads := m.Loads(nil)
	require.Len(t, loads, 2)
	assert.InDelta(t, 0.8, loads[0].Busy, 1e-6)
	assert.True(t, loads[0].RTBusy)
	assert.InDelta(t, 0.8, loads[1].Busy, 1e-6)
	assert.InDelta(t, 0.1, loads[1].IRQ, 1e-6)
	assert.Equal(t, 2, loads[1].Pinned)

	require.Len(t, loads[1].Rivals, 3)
	for i, want := range []place.Rival{
		{TID: 3, Process: 3, Used: 0.001, Queued: 0.001, Weight: 1024, RealTime: true},
		{TID: 4, Process: 4, Used: 0.4, Queued: 0.65, Weight: 1024},
		{TID: 5, Process: 5, Used: 0.4, Queued: 0.65, Weight: 335},
	} {
		got := loads[1].Rivals[i]
		assert.InDelta(t, want.Used, got.Used, 1e-6)
		assert.InDelta(t, want.Queued, got.Queued, 1e-6)
		got.Used, got.Queued = want.Used, want.Queued
		assert.Equal(t, want, got)
	}

	target := m.PlaceTarget(3)
	assert.InDelta(t, 0.4, target.BusyShare, 1e-6)
	assert.InDelta(t, 0.4, target.Share[1], 1e-6)
	assert.Equal(t, 1, target.BusyThreads)
	assert.Equal(t, cpuset.CPU(1), target.LastCPU)
}

func TestPlaceTargetOfThreads(t *testing.T) {
	process := func(s float64, threads bool) *sample.Sample {
		ticks := uint64(100 * s)
		leader := task(5, func(t *sample.Task) { t.Threads, t.UserTicks = 3, ticks*15/10 })
		if !threads {
			return at(s, leader)
		}
		thread := func(tid kernel.TID, cpu int32, share float64) *sample.Task {
			return task(tid, func(t *sample.Task) {
				t.TGID, t.LastCPU, t.Have, t.RunNs = 5, cpu, sample.HaveTime, uint64(share*s*1e9)
			})
		}
		return at(s, leader, thread(6, 2, 1), thread(7, 3, 0.3))
	}
	m := Next(Next(nil, process(1, true), nil), process(2, true), nil)
	target := m.PlaceTarget(0)
	assert.Equal(t, 3, target.BusyThreads, "the first thread has what the others leave")
	for cpu, want := range map[cpuset.CPU]float64{0: 0.2, 2: 1, 3: 0.3} {
		assert.InDelta(t, want, target.Share[cpu], 1e-3, "cpu %d", cpu)
	}
	m = Next(Next(nil, process(1, false), nil), process(2, false), nil)
	target = m.PlaceTarget(0)
	assert.Equal(t, 2, target.BusyThreads)
	assert.Len(t, target.Share, 1)
	assert.InDelta(t, 1.5, target.Share[-1], 1e-3, "nobody knows where they ran")
}

// A process's first thread has no row of its own: it did what the others did not.
func TestFirstThreadCounts(t *testing.T) {
	second := func(s float64, threads ...kernel.TID) *sample.Sample {
		ns := uint64(s * 1e9)
		row := func(tid kernel.TID, share float64) *sample.Task {
			return task(tid, func(t *sample.Task) {
				t.TGID, t.Threads, t.LastCPU = 5, 3, 1
				t.Have, t.RunNs = sample.HaveRun|sample.HaveTime|sample.HaveAffinity, uint64(share*float64(ns))
				t.Affinity = cpuset.Of(1)
			})
		}
		rows := []*sample.Task{row(5, 0.9)}
		for _, tid := range threads {
			rows = append(rows, row(tid, 0.1))
		}
		ticks := uint64(s * 100)
		return withCPUs(at(s, rows...), sample.CPU{ID: 0, IdleTicks: ticks}, sample.CPU{ID: 1, UserTicks: ticks})
	}
	m := Next(Next(nil, second(1, 6, 7), nil), second(2, 6, 7), nil)
	assert.Len(t, m.Loads(nil)[1].Rivals, 3)
	assert.InDelta(t, 0.9, m.Loads(nil)[1].Fixed, 1e-6)
	target := m.PlaceTarget(0)
	assert.InDelta(t, 0.9, target.Share[1], 1e-6)
	assert.Equal(t, 3, target.BusyThreads)

	m = Next(Next(nil, second(1), nil), second(2), nil)
	assert.Empty(t, m.Loads(nil)[1].Rivals, "nobody knows where its threads are")
	assert.InDelta(t, 0.9, m.Loads(nil)[1].Fixed, 1e-6, "but they are pinned as the first is")
}

// The mark follows a difference that lasts, or a large one.
func TestTheMarkKeepsItsPlace(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{Nodes: 1, CoresPerLLC: 2, Threads: 1})
	var m *Model
	cpus := []sample.CPU{{ID: 0}, {ID: 1}}
	tick := 0
	next := func(busy0, busy1 uint64) cpuset.CPU {
		for i, busy := range []uint64{busy0, busy1} {
			cpus[i].UserTicks += busy
			cpus[i].IdleTicks += 100 - busy
		}
		m = Next(m, withCPUs(at(float64(tick)), slices.Clone(cpus)...), topo)
		tick++
		return m.LeastLoaded
	}
	assert.EqualValues(t, -1, next(0, 0))
	assert.EqualValues(t, 0, next(3, 3))
	assert.EqualValues(t, 0, next(12, 3))
	assert.EqualValues(t, 0, next(12, 3))
	assert.EqualValues(t, 0, next(3, 3), "it was not for long")
	assert.EqualValues(t, 0, next(12, 3))
	assert.EqualValues(t, 0, next(12, 3))
	assert.EqualValues(t, 1, next(12, 3))
	assert.EqualValues(t, 1, next(3, 12))
	assert.EqualValues(t, 0, next(3, 70), "at once")
}
