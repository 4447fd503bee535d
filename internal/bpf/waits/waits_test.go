package waits

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/why"
)

// The parts of the waits sum to what the kernel counts, whatever happens meanwhile.
func TestPartsSumToRunDelay(t *testing.T) {
	cpu := lastCPU(t)
	loads := map[string]func(t *testing.T) (watched *child, meanwhile func()){
		"spinners":        func(t *testing.T) (*child, func()) { return start(t, cpu, "spin", 3), nil },
		"sleepers":        func(t *testing.T) (*child, func()) { return start(t, cpu, "nap", 4), nil },
		"another process": func(t *testing.T) (*child, func()) { start(t, cpu, "nap", 2); return start(t, cpu, "spin", 1), nil },
		"real time": func(t *testing.T) (*child, func()) {
			rival := start(t, cpu, "nap", 1)
			if err := rival.Tasks(t)[0].SetPolicy(kernel.FIFO, 1, false); err != nil {
				t.Skip(err)
			}
			return start(t, cpu, "spin", 2), nil
		},
		"moves": func(t *testing.T) (*child, func()) {
			c := start(t, cpu, "spin", 4)
			return c, func() {
				for i := range 60 {
					to := cpu
					if i%2 == 0 {
						to = 0
					}
					for _, task := range c.Tasks(t) {
						require.NoError(t, task.SetAffinity(cpuset.Of(to)))
					}
					time.Sleep(5 * time.Millisecond)
				}
			}
		},
		"a limit": func(t *testing.T) (*child, func()) {
			group := cgroup(t, fmt.Sprintf("/piton-waits-%d", os.Getpid()), 0.3)
			return start(t, cpu, "spin", 2).join(t, group), nil
		},
	}
	for name, load := range loads {
		t.Run(name, func(t *testing.T) {
			if name != "spinners" {
				needGuest(t)
			}
			c, meanwhile := load(t)
			o, delay := watch(t, c, 400*time.Millisecond, meanwhile)
			assert.InEpsilon(t, float64(delay), float64(o.Waited), 0.005)
			assert.Less(t, causes(o)[why.Unknown], delay/4) // the walk may be late on a busy machine
			holdsTogether(t, o)
		})
	}
}

// holdsTogether asks for what is so in every observation.
func holdsTogether(t *testing.T, o why.Observation) {
	t.Helper()
	var sum time.Duration
	var waits uint64
	for _, by := range o.By {
		sum += by.Time
		var counted uint64
		last := 0
		for bin, n := range by.Bins {
			if counted += n; n > 0 {
				last = bin
			}
		}
		assert.Equal(t, by.Waits, counted, "%+v", by.By)
		assert.Equal(t, why.Bin(uint64(by.Longest)), last, "the kernel's bins are those of package why: %v", by.Longest)
	}
	assert.Equal(t, o.Waited, sum)
	for bin := range o.Woken {
		waits += o.Woken[bin] + o.Preempted[bin]
	}
	assert.Positive(t, waits)
	sum = 0
	for _, part := range o.Longest.Parts {
		sum += part.Time
	}
	assert.InDelta(t, float64(o.Longest.Time), float64(sum), 1e3, "%+v", o.Longest)
	assert.WithinDuration(t, time.Now(), o.Longest.End, o.Span+time.Minute) // clocks of emulated machines jump
}

// rounds is how often each cause is to be found at the first try; 0 of an ordinary run, which may try
// again.
func rounds() int {
	n, _ := strconv.Atoi(os.Getenv("PITON_TEST_CAUSES"))
	return n
}

// TestNothing is of a task that waits for nobody. On a busy machine there is none.
func TestNothing(t *testing.T) {
	needGuest(t)
	if rounds() == 0 {
		t.Skip("runs where PITON_TEST_CAUSES asks for it, on a quiet machine")
	}
	c := start(t, lastCPU(t), "nap", 1)
	all, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	for _, task := range c.Tasks(t) {
		require.NoError(t, task.SetAffinity(all)) // the test is not to be in its way
	}
	for round := range rounds() {
		o, _ := watch(t, c, 300*time.Millisecond, nil)
		assert.Equal(t, why.Nothing, why.Explain(o, &why.Target{}).Verdict.Word, round)
	}
}

// Each cause that is made on purpose is the largest.
func TestCauses(t *testing.T) {
	needGuest(t)
	cpu := lastCPU(t)
	name := fmt.Sprintf("/piton-waits-%d", os.Getpid())
	heavy := cgroup(t, name, 0)
	// Real-time tasks of other tests may have all of the CPU for a second, so it is tried again.
	largest := func(t *testing.T, c *child, cause why.Cause) (o why.Observation, by why.Waited) {
		t.Helper()
		var sum [why.Causes]time.Duration
		for round := range rounds() {
			o, _ = watch(t, c, 300*time.Millisecond, nil)
			sum = causes(o)
			assert.Equal(t, slices.Max(sum[:]), sum[cause], "round %d: %v", round, sum)
		}
		for try := 0; try < 5 && (try == 0 || slices.Max(sum[:]) > sum[cause]); try++ {
			o, _ = watch(t, c, 300*time.Millisecond, nil)
			sum = causes(o)
		}
		require.Equal(t, slices.Max(sum[:]), sum[cause], "%v", sum)
		at := slices.IndexFunc(o.By, func(by why.Waited) bool { return by.Cause == cause })
		require.GreaterOrEqual(t, at, 0)
		return o, o.By[at]
	}
	t.Run("its own threads", func(t *testing.T) {
		c := start(t, cpu, "spin", 4).join(t, heavy)
		o, by := largest(t, c, why.Self)
		assert.Equal(t, c.PID, by.PID)
		assert.Equal(t, 4, o.Threads)
	})
	t.Run("a hog in another group", func(t *testing.T) {
		hog := start(t, cpu, "spin", 1).join(t, heavy)
		_, by := largest(t, start(t, cpu, "spin", 1), why.Neighbour)
		assert.Equal(t, why.By{Cause: why.Neighbour, Group: heavy, Command: "exe", PID: hog.PID}, by.By)
	})
	t.Run("real time", func(t *testing.T) {
		rival := start(t, cpu, "spin", 1)
		if err := rival.Tasks(t)[0].SetPolicy(kernel.FIFO, 3, false); err != nil {
			t.Skip(err)
		}
		_, by := largest(t, start(t, cpu, "spin", 1), why.RealTime)
		assert.Equal(t, rival.PID, by.PID)
		assert.Equal(t, kernel.FIFO, by.Policy)
		assert.Equal(t, 3, by.Priority)
	})
	t.Run("softirqs", func(t *testing.T) {
		start(t, cpu, "flood", 1).join(t, heavy)
		o, _ := largest(t, start(t, cpu, "spin", 1), why.Neighbour)
		at := slices.IndexFunc(o.By, func(by why.Waited) bool { return by.Command == "softirq NET_RX" })
		require.GreaterOrEqual(t, at, 0)
		assert.Equal(t, why.Kernel, o.By[at].Cause)
		assert.Greater(t, o.By[at].Time, o.Waited/20)
	})
	t.Run("the limit of its group", func(t *testing.T) {
		group := cgroup(t, name+"-own", 0.2)
		c := start(t, cpu, "spin", 1).join(t, group)
		c.hold(t, true)
		before := throttled(t, group)
		_, by := largest(t, c, why.Limit)
		assert.Equal(t, group, by.Group)
		// One task on one CPU: the group's own count, which also grows while the task is stopped.
		grown := throttled(t, group) - before
		t.Logf("limit %v, %.2f %% of the group's count", by.Time, 100*by.Time.Seconds()/grown.Seconds())
		assert.LessOrEqual(t, by.Time, grown+grown/20)
	})
	t.Run("the limit of a group above", func(t *testing.T) {
		above := cgroup(t, name+"-above", 0.2)
		_, by := largest(t, start(t, cpu, "spin", 1).join(t, cgroup(t, above+"/below", 0)), why.Limit)
		assert.Equal(t, above, by.Group)
	})
	t.Run("the limit of one of two", func(t *testing.T) {
		above := cgroup(t, name+"-both", 0.3)
		start(t, cpu, "spin", 2).join(t, cgroup(t, above+"/beside", 0))
		_, by := largest(t, start(t, cpu, "spin", 1).join(t, cgroup(t, above+"/below", 0.29)), why.Limit)
		assert.Equal(t, above, by.Group)
	})
}

// Processes are watched with the threads that they start later, groups with all in them.
func TestTargets(t *testing.T) {
	needGuest(t)
	cpu := lastCPU(t)
	c := start(t, cpu, "spin", 2)
	t.Run("process", func(t *testing.T) {
		o, err := readSoon(t, Targets{Processes: []kernel.TID{c.PID}})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, o.Threads, 3)
		assert.Positive(t, o.Ran)
	})
	t.Run("group", func(t *testing.T) {
		group := cgroup(t, fmt.Sprintf("/piton-waits-target-%d", os.Getpid()), 0)
		c.join(t, cgroup(t, group+"/below", 0))
		o, err := readSoon(t, Targets{Groups: []string{group}})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, o.Threads, 3)
		assert.Positive(t, o.Ran)
	})
	t.Run("no such group", func(t *testing.T) {
		_, err := Open(Targets{Groups: []string{"/no/such"}})
		if errors.Is(err, feature.ErrNotSupported) {
			t.Skip(err)
		}
		assert.ErrorContains(t, err, "there is no control group /no/such")
	})
}

func readSoon(t *testing.T, targets Targets) (why.Observation, error) {
	w := need(t, targets)
	time.Sleep(100 * time.Millisecond)
	all, err := w.Read()
	return all[0], err
}

// A wait that goes on is told so far, and the rest of it later.
func TestOpenWaits(t *testing.T) {
	needGuest(t)
	cpu := lastCPU(t)
	rival := start(t, cpu, "spin", 1)
	if err := rival.Tasks(t)[0].SetPolicy(kernel.FIFO, 3, false); err != nil {
		t.Skip(err)
	}
	c := start(t, cpu, "spin", 1)
	begun := time.Now()
	w := need(t, Targets{Threads: c.TIDs})
	opened, told, least := time.Now(), time.Duration(0), time.Duration(0)
	for range 3 {
		time.Sleep(100 * time.Millisecond)
		least = time.Since(opened)
		all, err := w.Read()
		require.NoError(t, err)
		o := all[0]
		assert.Positive(t, o.Waited+o.Ran)
		told += o.Waited + o.Ran // it always does either
	}
	const little = 10 * time.Millisecond // of clocks that are read one after another
	assert.GreaterOrEqual(t, told+little, least)
	assert.LessOrEqual(t, told, time.Since(begun)+little)
}

func TestAfterClose(t *testing.T) {
	w := need(t, Targets{})
	w.Close()
	w.Close()
	_, err := w.Read()
	assert.ErrorIs(t, err, object.ErrClosed)
}

// Avoidable is what was waited while a CPU was idle that the task was kept from. On a busy machine
// there is none.
func TestAvoidable(t *testing.T) {
	needGuest(t)
	all, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	cpus := all.CPUs()
	if len(cpus) < 3 {
		t.Skip("it takes a CPU for the tests, one that is busy, and one that is idle")
	}
	busy, free := cpus[1], cpus[2]
	watchBesideIdle := func(t *testing.T, c *child) why.Observation {
		t.Helper()
		var idle bool
		o, _ := watch(t, c, 0, func() {
			before, begun := idleTime(t, free), time.Now()
			time.Sleep(300 * time.Millisecond)
			idle = idleTime(t, free)-before > time.Since(begun)*9/10
		})
		t.Logf("%+v", o.Avoidable)
		if !idle {
			t.Skip("no CPU is idle here")
		}
		return o
	}
	t.Run("left out by the mask", func(t *testing.T) {
		c := start(t, busy, "spin", 2)
		o := watchBesideIdle(t, c)
		assert.InEpsilon(t, float64(o.Waited), float64(o.Avoidable.Mask), 0.2)
		assert.False(t, o.Avoidable.Idle.Has(busy))
		assert.False(t, o.Avoidable.Idle.Empty())
		assert.LessOrEqual(t, o.Avoidable.Missed+o.Avoidable.Cpuset, o.Waited/5)
	})
	t.Run("left out by the cpuset", func(t *testing.T) {
		group := confined(t, busy)
		c := start(t, busy, "spin", 2)
		require.NoError(t, os.WriteFile(group, []byte(fmt.Sprint(c.PID)), 0))
		o := watchBesideIdle(t, c)
		assert.InEpsilon(t, float64(o.Waited), float64(o.Avoidable.Cpuset), 0.2)
	})
	t.Run("not while the limit is the wall", func(t *testing.T) {
		c := start(t, busy, "spin", 1).join(t, cgroup(t, fmt.Sprintf("/piton-waits-%d", os.Getpid()), 0.2))
		o, _ := watch(t, c, 500*time.Millisecond, nil)
		assert.Less(t, o.Avoidable.Mask, o.Waited/5)
	})
}
