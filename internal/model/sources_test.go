package model

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// Another source counts from another moment on: what lies between is no rate.
func TestAChangeOfSourceIsNoRate(t *testing.T) {
	row := func(from sample.Source, n uint64) *sample.Task {
		return task(7, func(t *sample.Task) {
			t.Have = sample.HaveMigrations | sample.HaveSwitches | sample.HaveTime
			t.MigrationSource, t.Migrations, t.VoluntarySwitches, t.RunNs = from, n, n, n
		})
	}
	moved := func(s float64, from sample.Source, n uint64) *sample.Sample {
		out := at(s, row(from, n))
		out.Migrations = from
		out.CPUs = []sample.CPU{{ID: 0, IdleTicks: n, MigrationsIn: n, MigrationsOut: n, HaveIn: true, HaveOut: true}}
		return out
	}
	proc := Next(Next(nil, moved(0, sample.SourceSched, 1e3), nil), moved(1, sample.SourceSched, 2e3), nil)
	assert.EqualValues(t, 1000, proc.Tasks[0].MigPerS)
	assert.EqualValues(t, 1000, proc.CPUs[0].InPerS)
	first := Next(proc, moved(2, sample.SourceBPF, 9e3), nil)
	for _, v := range []float32{first.Tasks[0].MigPerS, first.Tasks[0].VolPerS, first.CPUs[0].InPerS, first.CPUs[0].OutPerS, first.MigrationsPerS} {
		assert.False(t, Known(v))
	}
	assert.True(t, Known(first.Tasks[0].CPUPercent), "time means the same everywhere")
	assert.EqualValues(t, 500, Next(first, moved(3, sample.SourceBPF, 9500), nil).Tasks[0].MigPerS)
}

func TestPingPong(t *testing.T) {
	row := func(moves, returns uint64) *sample.Task {
		return task(7, func(t *sample.Task) {
			t.Have = sample.HaveMigrations | sample.HavePingPongs
			t.MigrationSource, t.Migrations, t.PingPongs = sample.SourceBPF, moves, returns
		})
	}
	m := Next(Next(nil, at(0, row(100, 50)), nil), at(2, row(140, 80)), nil)
	assert.EqualValues(t, 15, m.Tasks[0].PingPongPerS)
	assert.EqualValues(t, 0.75, m.Tasks[0].PingPongShare)
	quiet := Next(m, at(3, row(140, 80)), nil)
	assert.EqualValues(t, 0, quiet.Tasks[0].PingPongPerS)
	assert.False(t, Known(quiet.Tasks[0].PingPongShare), "a share of nothing")
	assert.False(t, Known(Next(nil, at(0, row(1, 1)), nil).Tasks[0].PingPongPerS))
}

// What the run queue's average has more than the tasks that are known is the rest's.
func TestTheRestOfTheRunQueue(t *testing.T) {
	load := func(s float64, threads bool) *sample.Sample {
		ticks := uint64(s * 100)
		thread := func(tid kernel.TID, cpu int32, pressure float32) *sample.Task {
			return task(tid, func(t *sample.Task) {
				t.TGID, t.LastCPU, t.Threads, t.Nice = 7, cpu, 3, 5
				t.Have, t.Pressure, t.RunNs = sample.HavePressure|sample.HaveTime, pressure, uint64(s*2e8)
			})
		}
		tasks := []*sample.Task{thread(7, 0, 1.5), thread(8, 1, 0.5), thread(9, 1, 0.25)}
		tasks[0].RunNs = uint64(s * 6e8) // of all three
		if !threads {
			tasks = tasks[:1]
		}
		out := at(s, tasks...)
		out.CPUs = []sample.CPU{{ID: 0, NiceTicks: ticks, Pressure: 2, HavePressure: true},
			{ID: 1, NiceTicks: ticks, Pressure: 1, HavePressure: true}, {ID: 2, NiceTicks: ticks}}
		return out
	}
	rests := func(threads bool) (rest, niced []float64) {
		for _, l := range Next(Next(nil, load(0, threads), nil), load(1, threads), nil).Loads(nil) {
			rest, niced = append(rest, l.Rest), append(niced, l.RestNiced)
		}
		return rest, niced
	}
	rest, niced := rests(true)
	assert.InDeltaSlice(t, []float64{1.25, 0.25, 0}, rest, 1e-6)
	assert.InDeltaSlice(t, []float64{0.8, 0.6, 0}, niced, 1e-6)
	rest, niced = rests(false)
	assert.InDeltaSlice(t, []float64{2, 1, 0}, rest, 1e-6, "nobody knows where the threads are")
	assert.InDeltaSlice(t, []float64{1, 1, 0}, niced, 1e-6)
}
