package kernelfake

import (
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// The machine that samples show.
const (
	TicksPerS = 100 // USER_HZ
	PageBytes = 4096
	// UpTime is how long it ran before its first sample.
	UpTime = 12*24*time.Hour + 3*time.Hour + 41*time.Minute
)

// Counters are what the samples of a made-up machine have beside tasks: its clock, its CPUs,
// and the moves of tasks between these.
type Counters struct {
	Source sample.Source // of the moves; SourceBPF lists them
	Trace  kernel.TID    // whose steps are listed, too
	Began  time.Time     // the time of day at first
	Now    time.Duration // since then
	CPUs   []sample.CPU  // by number, offline ones included

	seq   uint64
	moves map[sample.Move]uint32 // since the last sample, with a Count of 0
	steps []sample.Step
}

// Up is the time since boot.
func (c *Counters) Up() time.Duration { return UpTime + c.Now }

// Move puts a task on another CPU; it is the nth move of so many in a second.
func (c *Counters) Move(t *sample.Task, to cpuset.CPU, nth, of int) {
	from := cpuset.CPU(t.LastCPU)
	c.CPUs[from].MigrationsOut++
	c.CPUs[to].MigrationsIn++
	t.LastCPU = int32(to)
	t.Migrations++
	if c.moves == nil {
		c.moves = map[sample.Move]uint32{}
	}
	c.moves[sample.Move{TID: t.TID, From: from, To: to}]++
	if t.TID == c.Trace {
		at := uint64(c.Now) + uint64(nth)*uint64(time.Second)/uint64(of)
		c.steps = append(c.steps, sample.Step{AtNs: at, From: from, To: to})
	}
}

// Sample is one without tasks; online are the CPUs that it has.
func (c *Counters) Sample(online cpuset.Set) *sample.Sample {
	c.seq++
	s := &sample.Sample{Seq: c.seq, At: c.Now, Wall: c.Began.Add(c.Now), Migrations: c.Source, HaveMoves: c.Source == sample.SourceBPF,
		Host: sample.Host{Uptime: c.Up(), Boot: c.Began.Add(-UpTime), TicksPerSecond: TicksPerS, PageBytes: PageBytes,
			HaveLoad: true, HaveMemUsed: true, HaveSwap: true, HaveSwapUsed: true}}
	for id := range online.All() {
		cpu := c.CPUs[id]
		cpu.ID, cpu.HaveIn, cpu.HaveOut = id, true, s.HaveMoves
		s.CPUs = append(s.CPUs, cpu)
	}
	if s.HaveMoves {
		for move, n := range c.moves {
			move.Count = n
			s.Moves = append(s.Moves, move)
		}
		s.Traced, s.Steps = c.Trace, c.steps
	}
	c.moves, c.steps = nil, nil
	return s
}
