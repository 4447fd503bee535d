package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// tree is a /proc that the test writes.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T) tree { return tree{t, t.TempDir()} }

// thread writes the files of a thread, and of its process if it is the first.
func (p tree) thread(ppid, pid, tid kernel.TID, migrations int) {
	p.t.Helper()
	stat := fmt.Sprintf("%d (x) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", tid, ppid)
	status := fmt.Sprintf("Name:\tx\nTgid:\t%d\nPid:\t%d\nUid:\t0\t0\t0\t0\n", pid, tid)
	sched := fmt.Sprintf("x (%d, #threads: 1)\n-----\nse.nr_migrations : %d\nnr_voluntary_switches : 0\nnr_involuntary_switches : 0\n", tid, migrations)
	dirs := []string{fmt.Sprintf("%d/task/%d", pid, tid)}
	if pid == tid {
		dirs = append(dirs, fmt.Sprint(pid))
	}
	for _, dir := range dirs {
		dir = filepath.Join(p.root, "proc", dir)
		require.NoError(p.t, os.MkdirAll(dir, 0o755))
		for name, content := range map[string]string{"stat": stat, "status": status, "sched": sched} {
			require.NoError(p.t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
	}
}

func (p tree) remove(elem ...string) {
	require.NoError(p.t, os.RemoveAll(filepath.Join(append([]string{p.root, "proc"}, elem...)...)))
}

func (p tree) fs() procfs.FS { return procfs.New(p.root) }

func read(t *testing.T, s Source) []Count {
	t.Helper()
	var b Batch
	require.NoError(t, s.Read(&b))
	assert.Empty(t, b.Moves)
	return b.Counts
}

func TestGrowthByProc(t *testing.T) {
	p := newTree(t)
	p.thread(1, 10, 10, 100)
	p.thread(1, 10, 11, 5)
	p.thread(1, 20, 20, 1)
	s, err := openProc(p.fs(), Targets{IDs: ids(10)})
	require.NoError(t, err)
	assert.Empty(t, read(t, s), "what was before does not count")
	p.thread(1, 10, 10, 103)
	p.thread(1, 10, 12, 2) // born
	p.thread(1, 20, 20, 9) // not meant
	assert.ElementsMatch(t, []Count{{10, 10, Unknown, Unknown, 3}, {12, 10, Unknown, Unknown, 2}}, read(t, s))
	p.remove("10", "task", "11")
	p.thread(1, 10, 12, 1) // another thread with a number used before
	assert.Equal(t, []Count{{12, 10, Unknown, Unknown, 1}}, read(t, s))
	p.remove("10")
	assert.Empty(t, read(t, s))
	left, err := s.Left()
	require.NoError(t, err)
	assert.False(t, left)
}

func TestScopesByProc(t *testing.T) {
	for scope, want := range map[Scope][]kernel.TID{Thread: {10}, Process: {10, 11}, Tree: {10, 11, 30, 40, 50}} {
		p := newTree(t)
		p.thread(1, 10, 10, 0)
		p.thread(1, 10, 11, 0)
		p.thread(1, 20, 20, 0)
		p.thread(10, 30, 30, 0)
		p.thread(30, 40, 40, 0)
		s, err := openProc(p.fs(), Targets{IDs: ids(10), Scope: scope})
		require.NoError(t, err, scope)
		p.thread(1, 10, 10, 1)
		p.thread(1, 10, 11, 1)
		p.thread(1, 20, 20, 1)
		p.thread(1, 30, 30, 1) // its parent is init now: still one of the tree
		p.thread(30, 40, 40, 1)
		p.thread(40, 50, 50, 1) // born
		var got []kernel.TID
		for _, c := range read(t, s) {
			got = append(got, c.TID)
		}
		assert.ElementsMatch(t, want, got, scope)
	}
}

func TestDescendants(t *testing.T) {
	p := newTree(t)
	for child, parent := range map[kernel.TID]kernel.TID{10: 1, 11: 10, 12: 11, 20: 1, 21: 20} {
		p.thread(parent, child, child, 0)
	}
	got, err := Descendants(p.fs(), ids(11, 10, 99))
	require.NoError(t, err)
	assert.ElementsMatch(t, ids(10, 11, 12), got, "each once, and none that is gone")
}

func TestNoSchedFile(t *testing.T) {
	p := newTree(t)
	p.thread(1, 10, 10, 0)
	p.remove("10", "task", "10", "sched")
	_, err := openProc(p.fs(), Targets{IDs: ids(10)})
	assert.ErrorContains(t, err, "sched")
}
