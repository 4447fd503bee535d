package rules

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// storm is a made-up machine that starts processes faster than rules may be applied, with
// few PIDs, and notes what the engine decided.
type storm struct {
	t        *testing.T
	e        *Engine
	random   *rand.Rand
	now      time.Duration
	missExit float64              // share of exits that are not reported
	alive    map[kernel.TID]*life // by PID
	lives    []*life              // all, in the order in which they began
	living   []*life              // those in alive, in some order
	pids     []kernel.TID         // free ones
	given    []time.Duration      // when decisions were given
	asked    time.Duration        // of the last one
	started  uint64               // a clock of starts, ns
	byName   map[string]*Rule     // an oracle of its own
}

// life is one process.
type life struct {
	id      ID
	task    *sample.Task
	want    *Rule
	applied []*Rule
}

func newStorm(t *testing.T, set *Set, seed uint64, limits Limits, pids int) *storm {
	s := &storm{t: t, e: New(set, limits), random: rand.New(rand.NewPCG(seed, 1)), alive: map[kernel.TID]*life{}, started: 5 * tickNs, byName: map[string]*Rule{}}
	for pid := range pids {
		s.pids = append(s.pids, kernel.TID(pid+2))
	}
	for _, r := range set.Rules {
		s.byName[r.Comm] = r
	}
	return s
}

// start starts a process, 1 to 3 µs after the last: many in one tick.
func (s *storm) start(comm string) {
	if len(s.pids) == 0 {
		s.end()
	}
	s.started += 1 + s.random.Uint64N(3000)
	pid := s.pids[0]
	s.pids = s.pids[1:]
	l := &life{id: ID{pid, s.started}, task: started(pid, comm), want: s.byName[comm]}
	l.task.StartTicks = s.started / tickNs
	s.alive[pid] = l
	s.lives, s.living = append(s.lives, l), append(s.living, l)
	require.NoError(s.t, s.e.Exec(l.task, s.started, s.now))
}

// end ends a process.
func (s *storm) end() {
	i := s.random.IntN(len(s.living))
	victim := s.living[i]
	s.living[i] = s.living[len(s.living)-1]
	s.living = s.living[:len(s.living)-1]
	delete(s.alive, victim.id.PID)
	s.pids = append([]kernel.TID{victim.id.PID}, s.pids...) // used again at once
	if s.random.Float64() >= s.missExit {
		s.e.Exit(victim.id.PID, victim.id.StartNs, s.now)
	}
}

// drain carries out what is due.
func (s *storm) drain() {
	for d, ok := s.e.Next(s.now); ok; d, ok = s.e.Next(s.now) {
		s.given = append(s.given, s.now)
		require.GreaterOrEqual(s.t, d.Asked, s.asked, "out of order")
		s.asked = d.Asked
		l := s.alive[d.PID]
		if l == nil || l.task.StartTicks != d.StartTicks {
			require.Positive(s.t, s.missExit, "%v has ended", d.ID)
			continue
		}
		require.NotContains(s.t, l.applied, d.Rule, "twice")
		l.applied = append(l.applied, d.Rule)
	}
}

// list is what a scan would read.
func (s *storm) list() []*sample.Task {
	var out []*sample.Task
	for _, l := range s.living {
		out = append(out, l.task)
	}
	return out
}

// finish lets the queue run empty, and holds every process that lives to its rule.
func (s *storm) finish() {
	for range 100_000 {
		s.drain()
		if s.e.NeedsScan() {
			s.e.Scan(s.list(), s.now)
		}
		if wait, waits := s.e.Wait(s.now); waits {
			s.now += max(wait, time.Microsecond)
		} else if !s.e.NeedsScan() {
			break
		}
	}
	for _, l := range s.lives {
		var want []*Rule
		if l.want != nil {
			want = []*Rule{l.want}
		}
		if s.alive[l.id.PID] == l || len(l.applied) > 0 {
			require.Equal(s.t, want, l.applied, "%v %q", l.id, l.task.ID.Comm)
		}
	}
	for i := s.e.limits.PerSecond; i < len(s.given); i++ {
		require.GreaterOrEqual(s.t, s.given[i]-s.given[i-s.e.limits.PerSecond], time.Second, "too many in a second")
	}
}

// blow has 2,000 execs a second, of which half match, as long as d.
func (s *storm) blow(d time.Duration) {
	const every = 500 * time.Microsecond
	for end := s.now + d; s.now < end; s.now += every {
		s.start(fmt.Sprintf("c%d", s.random.IntN(20)))
		for len(s.alive) > 4000 || s.random.IntN(8) == 0 && len(s.alive) > 100 {
			s.end()
		}
		s.drain()
	}
}

func TestStorm(t *testing.T) {
	minutes := 3 * time.Minute
	if testing.Short() {
		minutes = 8 * time.Second
	}
	set := parsed(t, many(10, "comm = 'c%d'"))
	for _, tt := range []struct {
		name     string
		limits   Limits
		missExit float64
	}{
		{"the usual limits", Limits{}, 0},
		{"a slow daemon", Limits{PerSecond: 100}, 0},
		{"little room", Limits{PerSecond: 500, Processes: 300}, 0},
		{"exits are missed", Limits{PerSecond: 800}, 0.2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStorm(t, set, 7, tt.limits, 5000)
			s.missExit = tt.missExit
			s.blow(minutes)
			require.LessOrEqual(t, s.e.Stats().Tracked, s.e.limits.Processes)
			overflow := s.e.Stats().Overflow
			assert.Equal(t, tt.limits.Processes > 0, overflow > 0)
			if tt.limits.Processes > 0 { // there is room for those that live
				for len(s.alive) > 200 {
					s.end()
				}
			}
			if tt.missExit > 0 {
				s.e.Scan(s.list(), s.now)
			}
			s.finish()
			assert.Zero(t, s.e.Stats().Queued)
		})
	}
}

// TestStormRepeats: the same events are the same decisions.
func TestStormRepeats(t *testing.T) {
	set := parsed(t, many(10, "comm = 'c%d'"))
	var first []Decision
	for range 3 {
		s := newStorm(t, set, 3, Limits{PerSecond: 50}, 300)
		var all []Decision
		for range 2000 {
			s.now += 500 * time.Microsecond
			s.start(fmt.Sprintf("c%d", s.random.IntN(12)))
			if d, ok := s.e.Next(s.now); ok {
				d.Rate = 0
				all = append(all, d)
			}
			if s.random.IntN(500) == 0 {
				s.e.Scan(s.list(), s.now)
				s.e.Reload(set)
			}
		}
		if first == nil {
			first = all
		}
		require.Equal(t, first, all)
	}
	require.NotEmpty(t, first)
}

// TestHostileNames has 10,000 processes whose names and command lines anybody may choose.
func TestHostileNames(t *testing.T) {
	set := parsed(t, rule("a: comm = 'a*'", "b: command = '(x+x*)+[ .]'", "c: unit = '*.service'\npriority = 1", "d: comm = 'd'\ncgroup = '/*/x'"))
	random := rand.New(rand.NewPCG(9, 9))
	bytes := []byte("ad/*?[]\\\x00\x01\x1b\n\xff\xc3 .x\"'(){}%s")
	text := func(n int) string {
		b := make([]byte, random.IntN(n+1))
		for i := range b {
			b[i] = bytes[random.IntN(len(bytes))]
		}
		return string(b)
	}
	var tasks []*sample.Task
	for i := range 10_000 {
		task := started(kernel.TID(i+1), text(maxComm))
		task.ID.Cmdline, task.ID.Cgroup, task.ID.User = text(300), "/"+text(40), text(10)
		if i%100 == 0 {
			task.ID.Cmdline = string(make([]byte, 1<<20))
		}
		tasks = append(tasks, task)
	}
	report := set.Check(tasks)
	require.NotEmpty(t, report.Matches)
	require.NotEmpty(t, report.Refused)
	e := New(set, Limits{PerSecond: len(tasks)})
	for _, task := range tasks {
		_ = e.Exec(task, 0, 0) // conflicts are in the report
		checkExplain(t, set, task)
	}
	assert.Len(t, next(e, 0), len(report.Matches))
	assert.EqualValues(t, len(report.Refused), e.Stats().Conflicts)
}

// TestMemory holds the engine to what Limits say of it.
func TestMemory(t *testing.T) {
	set := parsed(t, rule("a: comm = 'a'"))
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	task, before := started(1, "a"), heap()
	e := New(set, Limits{})
	for i := range 2 * DefaultProcesses {
		task.TID, task.TGID, task.StartTicks = kernel.TID(i+1), kernel.TID(i+1), uint64(i)
		require.NoError(t, e.Exec(task, 0, 0))
	}
	for now := time.Duration(0); e.Stats().Queued > 0; now += time.Second {
		next(e, now)
	}
	took := heap() - before
	assert.EqualValues(t, DefaultProcesses, e.Stats().Overflow)
	assert.Less(t, took, int64(DefaultProcesses*300), "%d bytes a process", took/DefaultProcesses)
	runtime.KeepAlive(e)
}

// BenchmarkExec is one exec of a storm, half of which match.
func BenchmarkExec(b *testing.B) {
	e := New(parsed(b, many(10, "comm = 'c%d'")), Limits{})
	tasks := []*sample.Task{started(1, "c1"), started(2, "other")}
	now := time.Duration(0)
	for b.Loop() {
		now += 500 * time.Microsecond
		for _, t := range tasks {
			_ = e.Exec(t, 0, now)
			e.Next(now)
			e.Exit(t.TID, 0, now)
		}
	}
}
