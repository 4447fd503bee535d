package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology"
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

func TestPressureOfTheTargetIsTakenOff(t *testing.T) {
	topo := topology.New(topology.Topology{CPUs: []topology.CPU{{ID: 0, Online: true}, {ID: 1, Online: true}}})
	load := func(s float64) *sample.Sample {
		thread := func(tid kernel.TID, cpu int32, pressure float32) *sample.Task {
			return task(tid, func(t *sample.Task) {
				t.TGID, t.LastCPU, t.Threads = 7, cpu, 3
				t.Have, t.Pressure, t.RunNs = sample.HavePressure|sample.HaveTime, pressure, uint64(s*3e8)
			})
		}
		out := at(s, thread(7, 0, 1.5), thread(8, 1, 0.5), thread(9, 1, 0.25))
		out.CPUs = []sample.CPU{{ID: 0, UserTicks: uint64(s * 100), Pressure: 2, HavePressure: true},
			{ID: 1, UserTicks: uint64(s * 100), Pressure: 1, HavePressure: true}}
		return out
	}
	m := Next(Next(nil, load(0), topo), load(1), topo)
	target := m.PlaceTarget(0)
	assert.InDeltaMapValues(t, map[cpuset.CPU]float64{0: 0.75, 1: 0.75}, target.Pressure, 1e-6)
	require.True(t, m.Loads()[0].HavePressure)
	assert.EqualValues(t, 2, m.Loads()[0].Pressure)

	m.Sample.Tasks[0].Policy = kernel.FIFO
	m.Sample.Tasks = m.Sample.Tasks[:1]
	assert.InDelta(t, 0.3, m.PlaceTarget(0).Pressure[-1], 1e-6, "real time has no average by task, and nobody knows where the threads are")
}
