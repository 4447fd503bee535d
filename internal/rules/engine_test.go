package rules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

const second = time.Second

// next are the names of the rules that are due, with the processes.
func next(e *Engine, now time.Duration) map[kernel.TID]string {
	out := map[kernel.TID]string{}
	for d, ok := e.Next(now); ok; d, ok = e.Next(now) {
		out[d.PID] += d.Rule.Name
	}
	return out
}

func exec(t *testing.T, e *Engine, task *sample.Task, now time.Duration) {
	t.Helper()
	require.NoError(t, e.Exec(task, 0, now))
}

func TestOnceAProcess(t *testing.T) {
	e := New(parsed(t, rule("a: comm = 'a'", "b: comm = 'b'")), Limits{})
	exec(t, e, started(1, "a"), 0)
	exec(t, e, started(1, "a"), 0)
	assert.Equal(t, Stats{Tracked: 1, Queued: 1}, e.Stats())
	assert.Equal(t, map[kernel.TID]string{1: "a"}, next(e, 0))
	exec(t, e, started(1, "a"), second)
	assert.Empty(t, next(e, second), "it was done")

	exec(t, e, started(1, "b"), second)
	assert.Equal(t, map[kernel.TID]string{1: "b"}, next(e, second), "another program")
	exec(t, e, started(1, "sh"), second)
	exec(t, e, started(1, "a"), second)
	assert.Empty(t, next(e, second), "each rule once")

	e.Exit(1, 0, second)
	assert.Zero(t, e.Stats().Tracked)
	exec(t, e, started(1, "a"), second)
	assert.Equal(t, map[kernel.TID]string{1: "a"}, next(e, second), "another process in the same tick")
}

func TestExecWhileQueued(t *testing.T) {
	e := New(parsed(t, rule("a: comm = 'a'", "b: comm = 'b'")), Limits{})
	exec(t, e, started(1, "a"), 0)
	exec(t, e, started(2, "a"), 0)
	exec(t, e, started(1, "b"), second)
	first, _ := e.Next(second)
	then, _ := e.Next(second)
	assert.Equal(t, Decision{ID: ID{2, 2 * tickNs}, StartTicks: 2, Rule: e.set.Rules[0]}, first)
	assert.Equal(t, Decision{ID: ID{1, 1 * tickNs}, StartTicks: 1, Rule: e.set.Rules[1], Asked: second}, then)

	exec(t, e, started(3, "a"), second)
	exec(t, e, started(3, "sh"), second)
	assert.Empty(t, next(e, second), "it matches no more")
	assert.Equal(t, 2, e.Stats().Tracked)
}

func TestReusedNumbers(t *testing.T) {
	e := New(parsed(t, rule("a: comm = 'a'", "b: comm = 'b'")), Limits{})
	old, reused := started(7, "a"), started(7, "a")
	require.NoError(t, e.Exec(old, 7*tickNs+1, 0))
	assert.Len(t, next(e, 0), 1)
	require.NoError(t, e.Exec(reused, 7*tickNs+2, 0))
	assert.Len(t, next(e, 0), 1, "the same tick, and the exit was missed")
	require.NoError(t, e.Exec(reused, 0, 0))
	assert.Empty(t, next(e, 0), "a source without ns says the same process")
	old.ID.Comm = "b"
	require.NoError(t, e.Exec(old, 7*tickNs+1, 0))
	e.Exit(7, 7*tickNs+1, 0)
	assert.Empty(t, next(e, 0), "late events of the old one")
	assert.Equal(t, 1, e.Stats().Tracked)
	e.Exit(7, 7*tickNs+2, 0)
	e.Exit(7, 7*tickNs+2, 0)
	assert.Zero(t, e.Stats().Tracked)
}

func TestConflictsAreNotApplied(t *testing.T) {
	e := New(parsed(t, rule("a: comm = 'a'", "b: command = '^a$'")), Limits{})
	var c *Conflict
	require.ErrorAs(t, e.Exec(started(1, "a"), 0, 0), &c)
	assert.Empty(t, next(e, 0))
	assert.Equal(t, Stats{Conflicts: 1}, e.Stats())

	task := started(2, "a")
	task.ID.Cmdline = "other"
	exec(t, e, task, 0)
	require.ErrorAs(t, e.Exec(started(2, "a"), 0, 0), &c)
	assert.Empty(t, next(e, 0), "queued, and then in conflict")
}

func TestThreadsAndNamesWithoutEnd(t *testing.T) {
	e := New(parsed(t, many(maxDone+2, "comm = 'c%d'")), Limits{})
	exec(t, e, &sample.Task{TID: 2, TGID: 1, ID: &sample.Identity{Comm: "c1"}}, 0)
	assert.Zero(t, e.Stats().Tracked)
	for round := range 3 {
		for i := range maxDone + 2 {
			exec(t, e, started(1, "c"+string(rune('0'+i))), 0)
		}
		if round == 0 {
			assert.Equal(t, 1, e.Stats().Queued, "the last that had room")
		}
		next(e, 0)
	}
	for i := range maxDone + 2 {
		exec(t, e, started(1, "c"+string(rune('0'+i))), 0)
		next(e, 0)
	}
	assert.EqualValues(t, maxDone, e.Stats().Applied)
	assert.Positive(t, e.Stats().Capped)
	assert.Equal(t, 1, e.Stats().Tracked)
}

func TestRateLimit(t *testing.T) {
	e := New(parsed(t, rule("a: comm = 'a'")), Limits{PerSecond: 3})
	_, waits := e.Wait(0)
	assert.False(t, waits)
	for pid := range kernel.TID(7) {
		exec(t, e, started(pid+1, "a"), time.Duration(pid)*100*time.Millisecond)
	}
	now, order := 600*time.Millisecond, []kernel.TID{}
	for range 100 {
		if d, ok := e.Next(now); ok {
			order = append(order, d.PID)
			continue
		}
		wait, waits := e.Wait(now)
		if !waits {
			break
		}
		assert.Equal(t, second, wait)
		now += wait
	}
	assert.Equal(t, []kernel.TID{1, 2, 3, 4, 5, 6, 7}, order)
	assert.Equal(t, 2600*time.Millisecond, now)
	exec(t, e, started(9, "a"), 0)
	d, ok := e.Next(0)
	assert.True(t, ok)
	assert.Equal(t, now, d.Asked, "time does not run backwards")
}

func TestOverflowIsMadeGoodByScan(t *testing.T) {
	e := New(parsed(t, rule("a: comm = 'a'")), Limits{Processes: 2})
	assert.True(t, e.NeedsScan(), "at the start")
	all := []*sample.Task{started(1, "a"), started(2, "a"), started(3, "a"), started(4, "sh")}
	e.Scan(all, 0)
	assert.Equal(t, Stats{Tracked: 2, Queued: 2, Overflow: 1}, e.Stats())
	assert.True(t, e.NeedsScan())
	assert.Equal(t, map[kernel.TID]string{1: "a", 2: "a"}, next(e, 0))
	e.Exit(1, 0, second)
	e.Scan(all[1:], second)
	assert.Equal(t, map[kernel.TID]string{3: "a"}, next(e, second))
	assert.False(t, e.NeedsScan())
	e.Scan([]*sample.Task{started(5, "a")}, second)
	assert.Equal(t, 1, e.Stats().Tracked, "exits that were missed")
}

func TestReload(t *testing.T) {
	tasks := []*sample.Task{started(1, "a"), started(2, "b"), started(3, "c"), started(4, "d")}
	e := New(parsed(t, rule("a: comm = 'a'", "b: comm = 'b'", "c: comm = 'c'")), Limits{PerSecond: 3})
	e.Scan(tasks[:3], 0)
	assert.Len(t, next(e, 0), 3)
	e.Scan([]*sample.Task{tasks[0], tasks[1], tasks[2], started(5, "a"), started(6, "c")}, 0)
	require.Equal(t, 2, e.Stats().Queued)

	// a stays, further down; b is changed; c goes; d is new.
	e.Reload(parsed(t, rule("d: comm = 'd'", "b: comm = 'b'\npriority = 1", "a: comm = 'a'")))
	assert.True(t, e.NeedsScan())
	assert.Equal(t, Stats{Tracked: 2, Queued: 1, Applied: 3}, e.Stats(), "of a, which was done and waits")
	e.Scan(append(tasks, started(5, "a"), started(6, "c")), second)
	assert.Equal(t, map[kernel.TID]string{5: "a", 2: "b", 4: "d"}, next(e, second))
	e.Reload(e.set)
	e.Scan(append(tasks, started(5, "a"), started(6, "c")), 2*second)
	assert.Empty(t, next(e, 3*second))
}

// rates is a model of processes with ping-pongs a second.
func rates(pingPong map[*sample.Task]float32) *model.Model {
	m := &model.Model{Sample: &sample.Sample{}}
	for t, rate := range pingPong {
		m.Sample.Tasks = append(m.Sample.Tasks, t)
		m.Tasks = append(m.Tasks, model.Task{PingPongPerS: rate, MigPerS: 10 * rate})
	}
	return m
}

func TestTrigger(t *testing.T) {
	type reading struct {
		at    int // seconds
		rate  float32
		fires bool
	}
	unknown := model.Unknown
	for name, tt := range map[string]struct {
		when     string
		readings []reading
	}{
		"above for the time":  {"pingpong > 50 for 3s", []reading{{0, 60, false}, {1, 60, false}, {2, 60, false}, {3, 60, true}, {4, 60, false}, {9, 99, false}}},
		"at the limit":        {"pingpong > 50", []reading{{0, 50, false}, {1, 50.5, true}}},
		"interrupted":         {"pingpong > 50 for 3s", []reading{{0, 60, false}, {2, 50, false}, {3, 60, false}, {5, 60, false}, {6, 60, true}}},
		"unknown":             {"pingpong > 50 for 3s", []reading{{0, 60, false}, {2, unknown, false}, {3, 60, false}, {5, 60, false}, {6, 60, true}}},
		"below half":          {"pingpong > 50", []reading{{0, 60, true}, {1, 25, false}, {2, 60, false}, {3, 24, false}, {4, 60, true}}},
		"unknown is not half": {"pingpong > 50", []reading{{0, 60, true}, {1, unknown, false}, {2, 60, false}}},
		"another rate":        {"migrations > 500", []reading{{0, 50, false}, {1, 60, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			e, task := New(parsed(t, rule("a: comm = 'a'\nwhen = '"+tt.when+"'")), Limits{}), started(1, "a")
			exec(t, e, task, 0)
			for _, r := range tt.readings {
				now := time.Duration(r.at) * second
				e.Sample(rates(map[*sample.Task]float32{task: r.rate}), now)
				d, ok := e.Next(now)
				require.Equal(t, r.fires, ok, "at %d s", r.at)
				if ok {
					assert.Equal(t, now, d.Asked)
					assert.Equal(t, "a", d.Rule.Name)
				}
			}
		})
	}
}

func TestTriggerOfAnotherProcess(t *testing.T) {
	e := New(parsed(t, rule("a: comm = 'a'\nwhen = 'pingpong > 50'", "b: comm = 'b'")), Limits{PerSecond: 1})
	a, b := started(1, "a"), started(2, "b")
	exec(t, e, a, 0)
	exec(t, e, b, 0)
	assert.Equal(t, map[kernel.TID]string{2: "b"}, next(e, 0))
	reused := started(1, "a")
	reused.StartTicks++
	thread := &sample.Task{TID: 3, TGID: 1, StartTicks: 1}
	e.Sample(rates(map[*sample.Task]float32{reused: 99, b: 99, thread: 99, started(9, "a"): 99}), 0)
	assert.Empty(t, next(e, second))

	e.Sample(rates(map[*sample.Task]float32{a: 60}), second)
	exec(t, e, started(3, "b"), second)
	e.Sample(rates(map[*sample.Task]float32{a: 1}), second)
	e.Sample(rates(map[*sample.Task]float32{a: 99}), second)
	d, ok := e.Next(second)
	require.True(t, ok)
	assert.Equal(t, ID{1, tickNs}, d.ID)
	assert.InDelta(t, 60, d.Rate, 0, "it fired twice and is queued once")
	assert.Equal(t, map[kernel.TID]string{3: "b"}, next(e, 2*second))

	// What a trigger has seen goes on over a reload of the same rule.
	e.Reload(parsed(t, rule("b: comm = 'b'", "a: comm = 'a'\nwhen = 'pingpong > 50'")))
	e.Sample(rates(map[*sample.Task]float32{a: 99}), 3*second)
	assert.Empty(t, next(e, 3*second))
}
