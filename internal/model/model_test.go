package model

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// at is a sample s seconds after the start with these tasks.
func at(s float64, tasks ...*sample.Task) *sample.Sample {
	return &sample.Sample{
		At:    time.Duration(s * float64(time.Second)),
		Host:  sample.Host{TicksPerSecond: 100, PageBytes: 4096, MemTotalBytes: 4096 * 1000},
		Tasks: tasks,
	}
}

func task(tid kernel.TID, change func(*sample.Task)) *sample.Task {
	t := &sample.Task{TID: tid, TGID: tid, StartTicks: 100, State: 'S', Threads: 1, ID: &sample.Identity{Comm: "t"}}
	if change != nil {
		change(t)
	}
	return t
}

func known(t *testing.T, want float64, got float32, msg string) {
	t.Helper()
	if math.IsNaN(want) {
		assert.False(t, Known(got), "%s: %v", msg, got)
		return
	}
	assert.InDelta(t, want, float64(got), 1e-3, msg)
}

func TestTaskRates(t *testing.T) {
	nan := math.NaN()
	type rates struct{ cpu, mig, vol, invol, delay float64 }
	for _, tc := range []struct {
		name        string
		before, now func(*sample.Task)
		want        rates
		since       uint8
	}{
		{
			name:   "by nanoseconds",
			before: func(t *sample.Task) { t.Have = sample.HaveRun | sample.HaveTime; t.RunNs, t.RunDelayNs = 1e9, 5e8 },
			now: func(t *sample.Task) {
				t.Have = sample.HaveRun | sample.HaveTime
				t.RunNs, t.RunDelayNs, t.UserTicks = 2e9, 9e8, 777 // the ticks are not used
			},
			want: rates{50, nan, nan, nan, 20},
		},
		{
			name: "several threads, by ticks",
			before: func(t *sample.Task) {
				t.Threads, t.UserTicks, t.Have = 3, 10, sample.HaveRun
			},
			now: func(t *sample.Task) {
				t.Threads, t.UserTicks, t.SystemTicks, t.Have = 3, 310, 100, sample.HaveRun
			},
			want: rates{200, nan, nan, nan, nan}, // of the delay only the first thread's is known
		},
		{
			name:   "more than the interval is cut",
			before: func(t *sample.Task) { t.Have = sample.HaveRun | sample.HaveTime },
			now:    func(t *sample.Task) { t.Have, t.RunNs = sample.HaveRun|sample.HaveTime, 2.1e9 },
			want:   rates{100, nan, nan, nan, 0},
		},
		{
			name: "exact migrations and switches",
			before: func(t *sample.Task) {
				t.Have = sample.HaveMigrations | sample.HaveSwitches
				t.MigrationSource = sample.SourceSched
				t.Migrations = 10
			},
			now: func(t *sample.Task) {
				t.Have, t.MigrationSource = sample.HaveMigrations|sample.HaveSwitches, sample.SourceSched
				t.Migrations, t.VoluntarySwitches, t.InvoluntarySwitches = 30, 4, 2
			},
			want: rates{0, 10, 2, 1, nan}, since: 255,
		},
		{
			name:   "the source changed",
			before: func(t *sample.Task) { t.Have, t.MigrationSource = sample.HaveMigrations, sample.SourceSampled },
			now: func(t *sample.Task) {
				t.Have, t.MigrationSource, t.Migrations = sample.HaveMigrations, sample.SourceSched, 9
			},
			want: rates{0, nan, nan, nan, nan}, since: 255,
		},
		{
			name: "counters ran backwards",
			before: func(t *sample.Task) {
				t.Have, t.RunNs, t.RunDelayNs, t.Migrations = sample.HaveRun|sample.HaveTime|sample.HaveMigrations|sample.HaveSwitches, 9, 9, 9
				t.VoluntarySwitches, t.InvoluntarySwitches = 9, 9
			},
			now: func(t *sample.Task) {
				t.Have = sample.HaveRun | sample.HaveTime | sample.HaveMigrations | sample.HaveSwitches
			},
			want: rates{nan, nan, nan, nan, nan},
		},
		{
			name:   "another task with the number",
			before: nil,
			now:    func(t *sample.Task) { t.StartTicks = 101; t.UserTicks = 10 },
			want:   rates{nan, nan, nan, nan, nan}, since: 255,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := Next(Next(nil, at(1, task(5, tc.before)), nil), at(3, task(5, tc.now)), nil)
			require.Len(t, m.Tasks, 1)
			r := m.Tasks[0]
			known(t, tc.want.cpu, r.CPUPercent, "cpu")
			known(t, tc.want.mig, r.MigPerS, "migrations")
			known(t, tc.want.vol, r.VolPerS, "voluntary")
			known(t, tc.want.invol, r.InvolPerS, "involuntary")
			known(t, tc.want.delay, r.DelayPercent, "delay")
			assert.Equal(t, tc.since, r.SinceTick)
		})
	}
}

func TestFirstModelKnowsNoRates(t *testing.T) {
	s := at(1, task(5, func(t *sample.Task) { t.RSSPages = 100 }))
	s.CPUs = []sample.CPU{{ID: 0, UserTicks: 5, HaveIn: true}}
	m := Next(nil, s, nil)
	assert.Zero(t, m.Elapsed)
	known(t, math.NaN(), m.Tasks[0].CPUPercent, "cpu")
	known(t, 10, m.Tasks[0].MEMPercent, "memory needs no rate")
	known(t, math.NaN(), m.CPUs[0].Busy, "busy")
	known(t, math.NaN(), m.MigrationsPerS, "migrations")
	assert.Empty(t, m.Loads(nil))
	assert.Equal(t, cpuset.CPU(-1), m.LeastLoaded)
}

func TestTasksComeAndGo(t *testing.T) {
	used := func(ticks uint64) func(*sample.Task) {
		return func(t *sample.Task) { t.UserTicks = ticks }
	}
	m := Next(nil, at(0, task(1, nil), task(3, used(5)), task(9, used(7))), nil)
	m = Next(m, at(1, task(2, nil), task(3, used(15)), task(4, nil), task(9, used(57)), task(10, nil)), nil)
	want := []float64{math.NaN(), 10, math.NaN(), 50, math.NaN()}
	for i := range m.Tasks {
		known(t, want[i], m.Tasks[i].CPUPercent, "task")
	}
	assert.Equal(t, Counts{Processes: 5, Threads: 5}, m.Counts)
}

func TestBounce(t *testing.T) {
	var m *Model
	for tick := range 20 {
		m = Next(m, at(float64(tick), task(5, func(t *sample.Task) { t.LastCPU = int32(tick % 3) })), nil)
		if tick == 1 {
			assert.Equal(t, [BounceLen]int16{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1}, m.Tasks[0].Bounce)
			assert.Equal(t, uint8(2), m.Tasks[0].CPUsSeen)
		}
	}
	assert.Equal(t, uint8(3), m.Tasks[0].CPUsSeen)
	for tick := range 20 { // pinned now: the history turns flat
		m = Next(m, at(float64(20+tick), task(5, func(t *sample.Task) { t.LastCPU = 7 })), nil)
	}
	assert.Equal(t, uint8(1), m.Tasks[0].CPUsSeen)
	m = Next(m, at(50, task(5, func(t *sample.Task) { t.LastCPU = 1 })), nil)
	assert.Equal(t, int16(1), m.Tasks[0].Bounce[BounceLen-1])
	assert.Equal(t, int16(7), m.Tasks[0].Bounce[BounceLen-2])
}

func TestSinceTickSaturates(t *testing.T) {
	var m *Model
	for tick := range 300 {
		m = Next(m, at(float64(tick), task(5, nil)), nil)
	}
	assert.Equal(t, uint8(255), m.Tasks[0].SinceTick)
}

// A row that is shared with the sample before gives what one read again would.
func TestSharedRowsAreAsThoseReadAgain(t *testing.T) {
	rows := func(second int) []*sample.Task {
		ran := uint64(min(second, 3)) // then it rests
		return []*sample.Task{
			task(5, func(t *sample.Task) {
				t.Have = sample.HaveTime | sample.HaveRun | sample.HaveMigrations | sample.HaveSwitches | sample.HavePingPongs
				t.MigrationSource = sample.SourceBPF
				t.RunNs, t.Migrations, t.PingPongs, t.VoluntarySwitches = ran*1e8, ran*9, ran, ran
				t.LastCPU = int32(ran)
			}),
			task(6, func(t *sample.Task) { t.State, t.RSSPages = 'R', 100 }),
			task(7, nil),
		}
	}
	var read, shared *Model
	var before []*sample.Task
	for second := range 300 {
		now := rows(second)
		s := at(float64(second), now...)
		if second > 200 {
			s.Host.MemTotalBytes *= 2
		}
		read = Next(read, s, nil)
		other := *s
		other.Tasks = slices.Clone(now)
		for i, t := range before {
			if assert.ObjectsAreEqual(t, now[i]) {
				other.Tasks[i] = t
			}
		}
		before = other.Tasks
		shared = Next(shared, &other, nil)
		for i := range read.Tasks {
			a, b := read.Tasks[i], shared.Tasks[i]
			assert.False(t, a.still)
			b.still = false
			require.Equal(t, fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b), "second %d", second) // NaN differs from itself
		}
	}
	assert.True(t, shared.Tasks[0].still)
	assert.False(t, shared.Tasks[1].still, "it runs")
}
