package sample

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

func TestEveryProcessOfThisMachineIsThere(t *testing.T) {
	s := liveSampler(t, Needs{})
	read := func() []kernel.TID {
		n, err := s.Read()
		require.NoError(t, err)
		tids := make([]kernel.TID, len(n.Tasks))
		for i := range n.Tasks {
			tids[i] = n.Tasks[i].TID
		}
		require.True(t, slices.IsSorted(tids))
		return tids
	}
	before := read()
	parent := startIdle(t, 40)
	children := childrenOf(t, parent)
	require.Len(t, children, 40)
	now := read()
	for _, c := range children {
		assert.NotContains(t, before, c)
		assert.Contains(t, now, c)
	}
	for range 2 * wholeEvery { // partial and whole listings alike
		assert.Subset(t, read(), children)
	}
}

func childrenOf(t *testing.T, parent kernel.TID) []kernel.TID {
	fs := procfs.New("/")
	pids, err := fs.Processes()
	require.NoError(t, err)
	var out []kernel.TID
	for _, pid := range pids {
		if st, err := fs.Stat(pid); err == nil && st.PPID == parent {
			out = append(out, pid)
		}
	}
	return out
}

func TestEndedProcessesAreGone(t *testing.T) {
	s := liveSampler(t, Needs{})
	var children []kernel.TID
	t.Run("while they live", func(t *testing.T) {
		children = childrenOf(t, startIdle(t, 10))
		n, err := s.Read()
		require.NoError(t, err)
		assert.NotNil(t, find(n, children[0]))
	})
	require.Eventually(t, func() bool {
		n, err := s.Read()
		require.NoError(t, err)
		return !slices.ContainsFunc(children, func(c kernel.TID) bool { return find(n, c) != nil })
	}, time.Minute, 20*time.Millisecond, "children that were reaped are still in the samples")
}

func TestThreadsOfThisProcess(t *testing.T) {
	s := liveSampler(t, Needs{Threads: true, Delay: true})
	pid := kernel.TID(os.Getpid())
	for range 3 {
		want, err := procfs.New("/").Threads(pid)
		require.NoError(t, err)
		n, err := s.Read()
		require.NoError(t, err)
		for _, tid := range want {
			task := find(n, tid)
			require.NotNil(t, task, "thread %d", tid)
			assert.Equal(t, pid, task.TGID)
			assert.Equal(t, HaveRun|HaveTime, task.Have&(HaveRun|HaveTime))
		}
	}
	s.SetNeeds(Needs{})
	n, err := s.Read()
	require.NoError(t, err)
	assert.False(t, slices.ContainsFunc(n.Tasks, func(t *Task) bool { return !t.IsProcess() }))
}

// ownThread locks the test to its thread, which ends with the test, masks and all,
// and returns its number.
func ownThread(t *testing.T) kernel.TID {
	t.Helper()
	runtime.LockOSThread()
	link, err := kernel.ReadLink("/proc/thread-self") // "PID/task/TID"
	require.NoError(t, err)
	tid, err := strconv.Atoi(filepath.Base(link))
	require.NoError(t, err)
	return kernel.TID(tid)
}

func TestMigrationsAreExact(t *testing.T) {
	online, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	if online.Len() < 2 {
		t.Skip("one CPU: nothing can migrate")
	}
	me := ownThread(t)
	s := liveSampler(t, Needs{Threads: true, Migrations: true, Watch: []kernel.TID{me}})
	s.ebpf = EBPFNever // which a machine of many tasks would use from the second reading on
	count := func() uint64 {
		n, err := s.Read()
		require.NoError(t, err)
		task := find(n, me)
		require.NotNil(t, task)
		require.Equal(t, SourceSched, task.MigrationSource)
		return task.Migrations
	}
	flip := func(n int) {
		cpus := online.CPUs()[:2]
		for i := range n {
			require.NoError(t, kernel.System().SetAffinity(0, cpuset.Of(cpus[i%2])))
		}
	}
	flip(2) // on the second CPU now, wherever it was
	before := count()
	flip(100)
	assert.EqualValues(t, 100, count()-before)
}

func TestAChangeFromOutsideIsSeen(t *testing.T) {
	child := childrenOf(t, startIdle(t, 1))[0]
	s := liveSampler(t, Needs{})
	nice := func() int8 {
		n, err := s.Read()
		require.NoError(t, err)
		return find(n, child).Nice
	}
	want := nice() + 1
	if want > 19 {
		kerneltest.NeedNice(t, "to leave nice 19")
		want = 7
	}
	require.NoError(t, kerneltest.Of(t, child, child).SetNice(int(want)))
	seen := false
	for range turns { // nobody watches it, so it takes its turn
		seen = seen || nice() == want
	}
	assert.True(t, seen)
	require.NoError(t, kerneltest.Of(t, child, child).SetNice(int(min(want+1, 19))))
	s.SetNeeds(Needs{Watch: []kernel.TID{child}})
	assert.Equal(t, min(want+1, 19), nice(), "at once when it is watched")
}

func TestProcessTimeIsCarried(t *testing.T) {
	s := liveSampler(t, Needs{})
	pid := kernel.TID(os.Getpid())
	_, err := s.Read()
	require.NoError(t, err)
	a, err := s.Read()
	require.NoError(t, err)
	b, err := s.Read()
	require.NoError(t, err)
	assert.Equal(t, HaveTime, find(b, pid).Have&HaveTime)
	assert.Greater(t, find(b, pid).RunNs, find(a, pid).RunNs)
}
