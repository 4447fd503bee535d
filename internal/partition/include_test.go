package partition

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

func TestIncludeIsTheInverse(t *testing.T) {
	w := server(t)
	before := w.masks()
	w.isolate("4-7")
	out := w.include("4-7")
	assert.Equal(t, []uint64{1}, out.Undo)
	assert.Empty(t, out.Requests)
	assert.Equal(t, before, w.masks())
	past := Past(w.entries)
	assert.True(t, past.Apart().Empty())
}

func TestIncludeInParts(t *testing.T) {
	w := server(t)
	before := w.masks()
	w.isolate("4-7")
	out := w.include("4")
	assert.Empty(t, out.Undo)
	got := w.masks()
	for tid, want := range map[kernel.TID]string{1: "0-4", 10: "2-4", 11: "0-3", 12: "0-3", 15: "3"} {
		if tid == 15 {
			want = "4" // home again
		}
		assert.Equal(t, want, got[taskKey(tid)], "task %d", tid)
	}
	assert.Equal(t, "0-4,8-15", got[fileKey("/sys/devices/virtual/workqueue/cpumask")])
	assert.Equal(t, "0-4", got[fileKey("/proc/irq/24/smp_affinity_list")])
	assert.Equal(t, "0-3", got[fileKey("/proc/irq/26/smp_affinity_list")])
	past := Past(w.entries)
	assert.Equal(t, "5-7", past.Apart().String())
	out = w.include("5-7")
	assert.Equal(t, []uint64{2, 1}, out.Undo, "the rest undoes both entries")
	assert.Equal(t, before, w.masks())
}

// An isolated CPU that is offline stays isolated when others are included: no mask is
// widened to it, and no entry undone that would.
func TestIncludeBesideOneThatIsOffline(t *testing.T) {
	for _, steps := range [][]string{{"6-7"}, {"7", "6"}} {
		w := newWorld(t, "0-7")
		w.task(10, 1, "0-7")
		for _, cpus := range steps {
			w.isolate(cpus)
		}
		w.f.Online = set(t, "0-6")
		out := w.include("6")
		assert.Empty(t, out.Undo)
		require.Len(t, out.Requests, 1)
		assert.False(t, out.Requests[0].Restore, "it is asked for as it is")
		assert.Equal(t, "0-6", w.masks()[taskKey(10)])
		w.f.Online = set(t, "0-7")
		past := Past(w.entries)
		assert.Equal(t, "7", past.Apart().String())
		w.include("7")
		assert.Equal(t, "0-7", w.masks()[taskKey(10)])
	}
}

// A kernel thread from whose mask the kernel had taken an offline CPU is given that, too.
func TestIncludeGivesAKernelThreadWhatWasOffline(t *testing.T) {
	w := newWorld(t, "0-7")
	w.task(10, 2, "0-4,6-7")
	w.isolate("2-3")
	w.entries[0].Changes[0].Had = set(t, "0-7")
	w.include("2")
	assert.Equal(t, "0-2,4-7", w.masks()[taskKey(10)])
}

// TestIncludeBorn: what was born since has what its parent gets, and what pinned
// itself has not.
func TestIncludeBorn(t *testing.T) {
	w := server(t)
	w.isolate("4-7")
	w.fork(100, 0)                      // of init: 0-3 for 0-7
	w.fork(101, 6)                      // of 10: 2-3 for 2-5
	w.fork(102, 8)                      // of 12, which was pinned to 0-3 before
	w.fork(103, 0)                      // pins itself
	w.f.Tasks[15].Mask = set(t, "1")    // 103
	w.f.Tasks = append(w.f.Tasks, Task{ // a thread of 10
		Task: attr.Task{PID: 10, TID: 104, StartTicks: w.f.Ticks, Comm: "thread"}, PPID: 1, Mask: set(t, "2-3")})
	w.f.Ticks++
	w.include("4-7")
	for i, want := range map[int]string{12: "0-7", 13: "2-5", 14: "0-3", 15: "1", 16: "2-5"} {
		assert.Equal(t, want, w.f.Tasks[i].Mask.String(), "task %d", w.f.Tasks[i].TID)
	}
}

// TestIncludeOfAProfile: of an entry that did more than to isolate, only that is
// undone.
func TestIncludeOfAProfile(t *testing.T) {
	w := server(t)
	before := w.masks()
	out, err := Isolate(w.f, set(t, "4-7"))
	require.NoError(t, err)
	w.carryOut(out.Requests, journal.Origin{Kind: journal.ByProfile, CPUs: set(t, "4-7")})
	e, pinned := &w.entries[0], w.f.Tasks[0].key()
	placed := w.f.Tasks[6].key() // 10, had 2-5
	for i := range e.Changes {
		if c := &e.Changes[i]; c.Key() == pinned {
			c.After, *w.at(pinned) = set(t, "6"), set(t, "6") // where the profile wants it
		} else if c.Key() == placed {
			c.After, *w.at(placed) = set(t, "2"), set(t, "2")
		}
	}
	past := Past(w.entries)
	assert.Equal(t, "4-7", past.Apart().String())
	included := w.include("4-7")
	assert.Empty(t, included.Undo, "the entry did more")
	assert.Empty(t, included.Refused)
	before[pinned], before[placed] = "6", "2"
	assert.Equal(t, before, w.masks())
	past = Past(w.entries)
	assert.True(t, past.Apart().Empty())
}

func TestIncludeLeavesDrift(t *testing.T) {
	w := server(t)
	w.isolate("4-7")
	w.f.Tasks[6].Mask = set(t, "0") // 10, by somebody else
	out := w.include("4-5")
	require.Len(t, out.Refused, 1)
	assert.EqualValues(t, 10, out.Refused[0].TID)
	assert.Equal(t, "changed by someone else since: piton left 2-3, it is 0 now; left alone without --force", out.Refused[0].Reason)
	assert.Equal(t, "0", w.f.Tasks[6].Mask.String())
	forced, err := Include(w.f, set(t, "6"), Past(w.entries), true)
	require.NoError(t, err)
	assert.Empty(t, forced.Refused)
}

// TestIncludeForeign: CPUs that another tool has taken away.
func TestIncludeForeign(t *testing.T) {
	w := newWorld(t, "0-7")
	w.task(1, 0, "0-3").Comm = "init"
	w.task(2, 0, "0-7").Comm = "kthreadd"
	w.task(10, 1, "0-3")
	w.task(11, 1, "2")
	w.line(24, irq.Settable, "0-3")
	w.line(25, irq.Settable, "1")
	w.mask(attr.DefaultIRQAffinity, "/proc/irq/default_smp_affinity", "0-3")
	w.mask(attr.WorkqueueMask, "/sys/devices/virtual/workqueue/cpumask", "0-7")
	w.mask(attr.WorkqueueMask, "/sys/devices/virtual/workqueue/writeback/cpumask", "1-2") // chosen
	out := w.include("4-5")
	assert.Equal(t, []string{
		"piton did not isolate CPUs 4-5: added to threads with the mask of init (0-3), 2 in all",
		"piton did not isolate CPUs 4-5: added to /proc/irq/default_smp_affinity (0-3)",
	}, out.Notes)
	got := w.masks()
	for k, want := range map[attr.Key]string{
		taskKey(1): "0-5", taskKey(2): "0-7", taskKey(10): "0-5", taskKey(11): "2",
		fileKey("/proc/irq/24/smp_affinity_list"): "0-5", fileKey("/proc/irq/25/smp_affinity_list"): "1",
		fileKey("/proc/irq/default_smp_affinity"):                   "0-5",
		fileKey("/sys/devices/virtual/workqueue/writeback/cpumask"): "1-2",
	} {
		assert.Equal(t, want, got[k], "%v", k)
	}
	_, err := Include(w.f, set(t, "0"), Past(w.entries), false)
	assert.EqualError(t, err, "CPU 0: not isolated by piton in this boot, nor missing from the masks that tasks inherit")
}

// TestIncludeIsolatedAtBoot: the kernel balances no tasks onto such CPUs, whatever
// their masks say.
func TestIncludeIsolatedAtBoot(t *testing.T) {
	w := newWorld(t, "0-3")
	w.task(1, 0, "0-2").Comm = "init"
	w.f.Reserved = set(t, "3")
	out := w.include("3")
	assert.Contains(t, out.Notes, "isolated at boot (isolcpus=): CPU 3; tasks run there only if they may run nowhere else")
	assert.Equal(t, "0-3", w.f.Tasks[0].Mask.String())
}

func TestPast(t *testing.T) {
	entries := []change.Entry{
		{ID: 1, Origin: isolated(t, "4-7")}, {ID: 2, Reason: "isolate 3"}, {ID: 3, Origin: isolated(t, "2"), Undone: true},
		{ID: 4, Origin: isolated(t, "1"), PastBoot: true}, {ID: 5, Origin: journal.Origin{Kind: journal.ByInclude, CPUs: set(t, "4")}},
		{ID: 6, Origin: isolated(t, "5"), Undoes: []uint64{3}},
	}
	past := Past(entries)
	assert.Equal(t, "5-7", past.Apart().String())
	for _, tt := range []struct {
		remaining string
		ids       []uint64
		until     int
	}{{"", []uint64{5, 1}, -1}, {"4-7", []uint64{5}, 0}, {"5", nil, -1}} {
		ids, until := past.since(set(t, tt.remaining))
		assert.Equal(t, tt.ids, ids)
		assert.Equal(t, tt.until, until)
	}
}

// TestCrashedIsolate: piton was killed before it could say what it did.
func TestCrashedIsolate(t *testing.T) {
	w := server(t)
	before := w.masks()
	w.isolate("4-7")
	e := &w.entries[0]
	e.Finished = false
	for i := range e.Changes {
		e.Changes[i].Status = attr.Planned
		if i%2 == 0 { // its turn had not come
			*w.at(e.Changes[i].Key()) = attr.CPUs(e.Changes[i].Before)
		}
	}
	out := w.include("4-5")
	assert.Empty(t, out.Refused)
	for _, k := range []attr.Key{taskKey(1), taskKey(2)} {
		assert.Equal(t, "0-5", w.masks()[k])
	}
	w.include("6-7")
	assert.Equal(t, before, w.masks())
}

// stranger is a task that somebody else pins at random, and that has no children.
const stranger = kernel.TID(99)

// TestAnyOrder isolates and includes CPUs at random while tasks are born, and a
// stranger is pinned: nothing else that can be moved is on an isolated CPU,
// nobody has a CPU that was not his, and at the end everybody has what was his.
func TestAnyOrder(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		w := newWorld(t, "0-11")
		some := func(most int) string {
			var words []string
			for range 1 + r.Intn(most) {
				words = append(words, fmt.Sprint(r.Intn(12)))
			}
			return strings.Join(words, ",")
		}
		w.task(1, 0, "0-11")
		for i := range 12 {
			w.task(kernel.TID(10+i), 1, some(5))
			w.line(i, irq.Settable, some(5))
		}
		w.mask(attr.WorkqueueMask, "/wq", "0-15")
		whole := w.masks()
		if seed%2 == 1 {
			w.task(stranger, 1, "0-11")
		}
		for step := range 12 {
			if seed%2 == 1 && r.Intn(3) == 0 {
				*w.at(taskKey(stranger)) = set(t, some(5))
			}
			past := Past(w.entries)
			apart := past.Apart()
			cpus := set(t, some(3)).AndNot(apart)
			switch {
			case r.Intn(3) == 0 && step > 0:
				parent := r.Intn(len(w.f.Tasks))
				if w.f.Tasks[parent].TID == stranger {
					parent = 0
				}
				w.fork(kernel.TID(1000*(step+1)), parent)
				continue
			case r.Intn(2) == 0 && !apart.Empty():
				all := apart.CPUs()
				w.include(cpuset.Of(all[r.Intn(len(all))], all[r.Intn(len(all))]).String())
			case !cpus.Empty() && w.f.Online.AndNot(apart).AndNot(cpus).Len() > 2:
				w.isolate(cpus.String())
			}
			w.check(seed, step)
		}
		past := Past(w.entries)
		if !past.Apart().Empty() {
			w.include(past.Apart().String())
		}
		got := w.masks()
		for k, want := range whole {
			require.Equal(t, want, got[k], "seed %d: %v", seed, k)
		}
		for i := range w.f.Tasks {
			task := &w.f.Tasks[i]
			if task.TID == stranger {
				continue
			}
			require.Equal(t, w.whole[task.TID].String(), task.Mask.String(), "seed %d: task %d, child of %d", seed, task.TID, task.PPID)
		}
	}
}

func (w *world) check(seed int64, step int) {
	w.Helper()
	past := Past(w.entries)
	apart := past.Apart()
	for i := range w.f.Tasks {
		task := &w.f.Tasks[i]
		if task.TID == stranger {
			continue
		}
		require.True(w, task.Mask.And(apart).Empty(), "seed %d, step %d: task %d has %s of %s", seed, step, task.TID, task.Mask, apart)
		if left := w.whole[task.TID].AndNot(apart); !left.Empty() {
			require.True(w, left.SubsetOf(task.Mask) || task.Mask.SubsetOf(left), "seed %d, step %d: task %d has %s for %s", seed, step, task.TID, task.Mask, left)
		}
	}
}
