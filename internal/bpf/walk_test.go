package bpf

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

type masksByRow []cpuset.Set

func (m masksByRow) of(r *Record) string {
	if r.Mask == NoMask {
		return "none"
	}
	return m[r.Mask].String()
}

// eachRung runs a test on the rungs that work here.
func eachRung(t *testing.T, test func(t *testing.T, w *Walk)) {
	for rung, since := range map[Rung][2]int{RungArray: {6, 2}, RungSeq: {5, 8}} {
		t.Run(string(rung), func(t *testing.T) {
			w := bpftest.Must(t, since[0], since[1], func() (*Walk, error) { return OpenWalk(WalkOptions{Rung: rung}) })
			t.Cleanup(w.Close)
			test(t, w)
		})
	}
}

// oddNames are names that break parsers of /proc.
var oddNames = []string{") R 1 (", "a b\tc", "line\nfeed", "\x1b[31mred", "\xff\xfe\x01", "fifteen bytes!!", " ", "()"}

// mixed starts children of all kinds and returns the numbers of all their tasks.
func mixed(t *testing.T) []kernel.TID {
	sleeper := start(t, append([]string{"sleep"}, hex(oddNames...)...)...)
	require.NotContains(t, sleeper.TIDs, kernel.TID(-1), "naming a thread failed")
	tids := append([]kernel.TID{sleeper.PID}, sleeper.TIDs...)
	tasks := sleeper.Tasks(t)
	require.NoError(t, tasks[0].SetNice(7))
	require.NoError(t, tasks[1].SetPolicy(kernel.Batch, 0, false))
	require.NoError(t, tasks[2].SetPolicy(kernel.Idle, 0, false))
	cpus := onlineCPUs(t)
	require.NoError(t, tasks[3].SetAffinity(cpuset.Of(cpus[0])))
	require.NoError(t, tasks[5].SetAffinity(cpuset.Of(cpus[len(cpus)/2], cpus[len(cpus)-1])))
	if err := tasks[4].SetPolicy(kernel.FIFO, 7, false); err != nil {
		t.Logf("no FIFO task among the children: %v", err)
	}
	stopped := start(t, "sleep", "73")
	require.NoError(t, syscall.Kill(int(stopped.PID), syscall.SIGSTOP))
	zombie := start(t, "end") // its end is read, its status not yet
	waitFor(t, stopped.PID, 'T')
	waitFor(t, zombie.PID, 'Z')
	return append(tids, stopped.PID, zombie.PID)
}

func waitFor(t *testing.T, pid kernel.TID, state byte) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, ok := see(fmt.Sprintf("/proc/%d", pid))
		return ok && s.stat.State == state
	}, bpftest.Patience, bpftest.Tick, "task %d never came into state %c", pid, state)
}

// TestWalkEqualsProc compares own tasks and kernel threads with /proc: others may be changed and
// changed back between two looks.
func TestWalkEqualsProc(t *testing.T) {
	eachRung(t, func(t *testing.T, w *Walk) {
		own := mixed(t)
		missing := own
		var equal, all int
		for end := time.Now().Add(bpftest.Patience); len(missing) > 0 && time.Now().Before(end); { // on a busy machine a task may not rest at first
			before := seeAll(t)
			records, _, stats, err := w.Read(true)
			require.NoError(t, err)
			after := seeAll(t)
			require.Zero(t, stats.Truncated)
			require.Zero(t, stats.NoMasks)
			walked := map[kernel.TID]bool{}
			for i := range records {
				r := &records[i]
				a, inA := before[r.TID]
				b, inB := after[r.TID]
				walked[r.TID] = true
				if !inA || !inB || a.stat.StartTicks != b.stat.StartTicks || r.Flags&kernelThread == 0 && !slices.Contains(own, r.TID) {
					continue
				}
				all++
				first, last := before[r.TGID], after[r.TGID]
				processRested := int(r.TGID) != os.Getpid() && first.stat.UserTicks+first.stat.SystemTicks == last.stat.UserTicks+last.stat.SystemTicks
				if compare(t, r, stats.Masks, &a, &b, processRested) {
					equal++
					missing = slices.DeleteFunc(slices.Clone(missing), func(tid kernel.TID) bool { return tid == r.TID })
				}
			}
			hidden := !walked[1]
			for tid, a := range before {
				b, there := after[tid]
				missed := !walked[tid] && there && a.stat.StartTicks == b.stat.StartTicks && !(hidden && a.status.TGID == 1)
				assert.False(t, missed, "task %d was there all the time, but not in the walk", tid)
			}
		}
		assert.Empty(t, missing, "own tasks that were never seen at rest")
		assert.GreaterOrEqual(t, equal, len(own))
		t.Logf("%d of %d tasks rested and are equal in everything", equal, all)
	})
}

func TestWalkProcesses(t *testing.T) {
	eachRung(t, func(t *testing.T, w *Walk) {
		sleeper := start(t, append([]string{"sleep"}, hex(oddNames...)...)...)
		require.Eventually(t, func() bool {
			before := liveMigrations(t, sleeper.PID)
			records, threads, stats, err := w.Read(false)
			require.NoError(t, err)
			assert.Equal(t, stats.Tasks, len(records)+len(threads), "threads are no records")
			for i := range records {
				require.True(t, records[i].IsProcess())
			}
			at := slices.IndexFunc(records, func(r Record) bool { return r.TID == sleeper.PID })
			require.GreaterOrEqual(t, at, 0)
			assert.GreaterOrEqual(t, records[at].Threads, int32(len(oddNames)))
			assert.GreaterOrEqual(t, records[at].Migrations, before)
			return before == records[at].Migrations
		}, bpftest.Patience, bpftest.Tick, "migrations of a process are those of its threads")
	})
}

// liveMigrations is the sum over the threads of a process.
func liveMigrations(t *testing.T, pid kernel.TID) (sum uint64) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	for _, thread := range threads {
		s, ok := see(fmt.Sprintf("/proc/%d/task/%s", pid, thread.Name()))
		require.True(t, ok)
		sum += s.sched.Migrations
	}
	return sum
}

// A walk ends each run after some tasks and goes on from there: none that lives through it
// is lost or there twice, however many others begin and end meanwhile.
func TestWalkGoesOnWhereItStopped(t *testing.T) {
	w := bpftest.Must(t, 6, 2, func() (*Walk, error) { return OpenWalk(WalkOptions{Rung: RungArray, briefly: true}) })
	defer w.Close()
	own := mixed(t)
	for range 2 {
		churn := exec.Command("sh", "-c", "while kill -0 $PPID 2>/dev/null; do (:) & (:) & (:) & (:) & wait; done")
		require.NoError(t, churn.Start())
		t.Cleanup(func() {
			_ = churn.Process.Kill()
			_ = churn.Wait()
		})
	}
	came, began := forks(t), time.Now()
	for round := range 12 {
		all := round%2 == 0
		before := numbers(t)
		records, threads, stats, err := w.Read(all)
		require.NoError(t, err)
		after := numbers(t)
		require.Greater(t, w.rung.(*arrayWalk).runs, stats.Tasks/64, "64 numbers are at most 4 runs, but some are nobody's")
		require.Equal(t, stats.Tasks, len(records)+len(threads))
		seen := map[kernel.TID]bool{}
		for i := range records {
			require.True(t, i == 0 || records[i-1].TID < records[i].TID, "rising, so none is there twice")
			seen[records[i].TID] = true
		}
		for i := range threads {
			require.True(t, i == 0 || threads[i-1].TID < threads[i].TID, "rising, so none is there twice")
			require.False(t, seen[threads[i].TID])
			seen[threads[i].TID] = true
		}
		for tid := range before {
			require.True(t, !after[tid] || seen[tid], "task %d was there all the time, but not in the walk", tid)
		}
		for _, tid := range own {
			require.True(t, seen[tid])
		}
	}
	t.Logf("%.0f tasks came each second", float64(forks(t)-came)/time.Since(began).Seconds())
}

// forks is how many tasks have been made since boot.
func forks(t *testing.T) uint64 {
	t.Helper()
	c, err := procfs.New("/").Counters()
	require.NoError(t, err)
	return c.Forks
}

// numbers are those of all tasks. In the time of a walk none is another's.
func numbers(t *testing.T) map[kernel.TID]bool {
	t.Helper()
	all := map[kernel.TID]bool{}
	threads, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	require.NoError(t, err)
	for _, path := range threads {
		tid, err := strconv.Atoi(filepath.Base(path))
		require.NoError(t, err)
		all[kernel.TID(tid)] = true
	}
	return all
}

func TestWalkGrows(t *testing.T) {
	w := bpftest.Must(t, 6, 2, func() (*Walk, error) { return OpenWalk(WalkOptions{Rung: RungArray}) })
	defer w.Close()
	require.NoError(t, w.rung.(*arrayWalk).records.grow(3))
	records, _, stats, err := w.Read(true)
	require.NoError(t, err)
	assert.Zero(t, stats.Truncated)
	assert.InDelta(t, stats.Tasks, len(records), 0)
	assert.Greater(t, len(records), 3)
}

// When there are more masks than the table has rows, a walk says which records
// have none, and the next one begins a new table.
func TestWalkManyMasks(t *testing.T) {
	cpus := twoCPUs(t)
	eachRung(t, func(t *testing.T, w *Walk) {
		sleeper := start(t, append([]string{"sleep"}, hex("a", "b")...)...)
		for i, task := range sleeper.Tasks(t) {
			require.NoError(t, task.SetAffinity(cpuset.Of(cpus[i])))
		}
		w.common.masks.used = maxMasks - 1 // full of masks that no task has any more
		w.common.masks.decoded = make([]cpuset.Set, maxMasks-1)
		records, _, stats, err := w.Read(true)
		require.NoError(t, err)
		assert.NotZero(t, stats.NoMasks)
		assert.Len(t, stats.Masks, maxMasks)
		without := 0
		for i := range records {
			if records[i].Mask == NoMask {
				without++
			}
		}
		assert.Equal(t, stats.NoMasks, without)

		records, _, stats, err = w.Read(true)
		require.NoError(t, err)
		assert.Zero(t, stats.NoMasks)
		for i, tid := range sleeper.TIDs {
			at := slices.IndexFunc(records, func(r Record) bool { return r.TID == tid })
			require.GreaterOrEqual(t, at, 0)
			assert.Equal(t, cpuset.Of(cpus[i]).String(), masksByRow(stats.Masks).of(&records[at]))
		}
	})
}

func TestRunQueuesOfOnlineCPUs(t *testing.T) {
	eachRung(t, func(t *testing.T, w *Walk) {
		cpus := onlineCPUs(t)
		busy := cpus[len(cpus)-1]
		spinner := start(t, "spin", "73")
		require.NoError(t, spinner.Tasks(t)[0].SetAffinity(cpuset.Of(busy)))
		var stats WalkStats
		require.Eventually(t, func() bool {
			var err error
			_, _, stats, err = w.Read(false)
			require.NoError(t, err)
			if stats.Have&HaveRunQueues == 0 {
				t.Skip("this kernel has no CONFIG_FAIR_GROUP_SCHED")
			}
			q := stats.RunQueues[busy]
			return q.Running >= 1 && q.Load() > 500 && q.Switches > 0
		}, bpftest.Patience, bpftest.Tick, "a spinner on CPU %d loads its queue", busy)
		for _, cpu := range cpus {
			assert.True(t, stats.RunQueues[cpu].OK, "CPU %d is online and has kernel threads", cpu)
		}
	})
}

func onlineCPUs(tb testing.TB) []cpuset.CPU {
	tb.Helper()
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	require.NoError(tb, err)
	set, err := cpuset.Parse(strings.TrimSpace(string(text)))
	require.NoError(tb, err)
	return set.CPUs()
}

func TestReadAfterClose(t *testing.T) {
	eachRung(t, func(t *testing.T, w *Walk) {
		w.Close()
		w.Close()
		_, _, _, err := w.Read(true)
		assert.ErrorIs(t, err, object.ErrClosed)
		assert.Contains(t, t.Name(), strings.ReplaceAll(string(w.Rung()), " ", "_"))
	})
}

// A reader of the file may get any number of bytes at a time.
func TestReadRecordsInPieces(t *testing.T) {
	want := make([]Record, 3*chunk)
	for i := range want {
		want[i] = Record{Thread: Thread{TID: kernel.TID(i), TGID: kernel.TID(i), RunNs: uint64(i) * 3}}
	}
	for _, piece := range []int{1000, 4096, 177, 1 << 20} {
		got, err := readRecords(&pieces{object.BytesOfAll(want), piece}, nil)
		require.NoError(t, err)
		require.Equal(t, want, got, "pieces of %d bytes", piece)
	}
}

type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.left)
	p.left = p.left[n:]
	return n, nil
}
