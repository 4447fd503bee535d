// Package model turns samples into what piton shows: rates, percentages,
// histories. It is pure: Next computes from the previous model and a sample and
// touches nothing else, so live, replayed and headless runs agree.
//
// A figure whose counter is missing or ran backwards is not there (NaN, see
// Known), never 0. Start at Next.
package model

import (
	"math"
	"time"

	"piton/internal/cpuset"
	"piton/internal/sample"
	"piton/internal/topology"
)

// HistoryLen is the number of past ticks that sparklines can show.
const HistoryLen = 64

// BounceLen is the number of past ticks of which a row keeps a task's last CPU and
// its migrations.
const BounceLen = 16

// Unknown is the value of a figure that could not be computed.
var Unknown = float32(math.NaN())

// Known reports whether a figure has a value.
func Known(v float32) bool { return v == v }

// Model is the machine over the interval between two samples. It is immutable.
type Model struct {
	Sample   *sample.Sample // the newer one
	Topology *topology.Topology
	Elapsed  time.Duration // between the samples, 0 for the first
	CPUs     []CPU         // aligned with Sample.CPUs
	Tasks    []Task        // aligned with Sample.Tasks
	Counts   Counts
	// MigrationsPerS of the whole machine, from CPUs' source.
	MigrationsPerS float32
	// LeastLoaded is the CPU that internal/place would give a new task, or would have
	// given it a few ticks ago while the difference is small; -1 when not known yet.
	LeastLoaded cpuset.CPU

	calm      bool
	doubted   int // for how many ticks there was a better CPU than LeastLoaded
	io        map[int]*IO
	groups    map[string]*CPUGroup
	perSecond float64 // 1 / Elapsed in seconds, 0 for the first
}

// Counts of the tasks in the sample.
type Counts struct{ Processes, Threads, Running, KernelThreads int }

// CPU is one CPU's rates over the interval. Shares are 0..1 of the interval.
type CPU struct {
	ID   cpuset.CPU
	Busy float32 // all but idle and iowait
	// The parts of the interval; Guest is contained in User, as in /proc/stat.
	User, Nice, System, IRQ, SoftIRQ, Steal, Guest, IOWait float32
	InPerS, OutPerS                                        float32
	// In holds migrations into the CPU per tick, oldest first, newest last.
	In [HistoryLen]uint16
	// Ticks is how many entries of In, from the end, are filled.
	Ticks int
	// Pinned is the number of user tasks whose mask is this CPU alone, among the
	// tasks whose affinity is known.
	Pinned int
	// RT is the index in Tasks of the busiest FIFO, RR or DEADLINE task seen
	// here that took at least 1 % of a CPU, -1 for none.
	RT int
}

// Task is one task's rates over the interval. There are many, so what few have is in
// Model.IO, and it holds no pointers.
type Task struct {
	CPUPercent float32 // 100 is one CPU fully used
	MEMPercent float32 // of the machine's memory
	MigPerS    float32
	VolPerS    float32
	InvolPerS  float32
	// DelayPercent is the share of the interval runnable but waiting, 100 is all of it;
	// of a process, the mean over its threads that ran.
	DelayPercent float32
	ownDelay     float32 // the same of the first thread of a process, or of a thread
	// PingPongPerS are moves back within 100 ms to a CPU just left, and PingPongShare
	// their part of the task's moves, 0..1.
	PingPongPerS, PingPongShare float32
	// Bounce is the CPU the task was last on at each tick, oldest first, newest
	// last; -1 before it was seen.
	Bounce [BounceLen]int16
	// CPUsSeen is the number of distinct CPUs in Bounce.
	CPUsSeen uint8
	// SinceTick is how many ticks ago the task ran last (saturates), 0 = in this one.
	SinceTick uint8

	starved bool // runnable at both samples, and never on a CPU between them: the kernel counts its delay only then
	still   bool // its row is that of the sample before, and it did not run: its rates are 0 or Unknown, and stay so

	// Moves are the migrations of the last ticks.
	Moves MoveHistory
}

// IO are the rates of row i to and from storage; nil when they were not read.
func (m *Model) IO(i int) *IO { return m.io[i] }

// Next computes the model of a sample from the model of the one before, which
// is nil for the first. Neither is changed.
func Next(prev *Model, cur *sample.Sample, topo *topology.Topology) *Model {
	return next(prev, &Model{Sample: cur, Topology: topo, LeastLoaded: -1})
}

// NextCalm is Next for a list that is watched: CPUPercent and DelayPercent follow small
// changes slowly, so that rows in their order do not change places for noise.
func NextCalm(prev *Model, cur *sample.Sample, topo *topology.Topology) *Model {
	return next(prev, &Model{Sample: cur, Topology: topo, LeastLoaded: -1, calm: true})
}

func next(prev, m *Model) *Model {
	cur := m.Sample
	if prev != nil && cur.At > prev.Sample.At {
		m.Elapsed = cur.At - prev.Sample.At
		m.perSecond = 1 / m.Elapsed.Seconds()
	}
	m.nextTasks(prev)
	m.nextGroups(prev)
	m.nextCPUs(prev)
	m.tasksOnCPUs()
	m.LeastLoaded = m.leastLoaded(prev)
	return m
}

// perS is a counter's rate; Unknown when it ran backwards or time stood still.
func (m *Model) perS(before, now uint64) float32 {
	if now < before || m.perSecond == 0 {
		return Unknown
	}
	return float32(float64(now-before) * m.perSecond)
}
