package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/procfs"
)

// groupTree is a host with the tasks' cgroup and autogroup files.
func groupTree(t *testing.T, mount string, files map[string]string) *Groups {
	t.Helper()
	root := t.TempDir()
	files["proc/self/mountinfo"] = mount
	files["proc/sys/kernel/sched_autogroup_enabled"] = "1\n"
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return NewGroups(procfs.New(root))
}

func process(tid kernel.TID) *Task { return &Task{TID: tid, TGID: tid} }

const unified = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"

func TestGroupsOfTheUnifiedHierarchy(t *testing.T) {
	files := map[string]string{
		"sys/fs/cgroup/a/cpu.weight":   "200\n",
		"sys/fs/cgroup/a/b/cpu.weight": "10\n",
		"sys/fs/cgroup/i/cpu.weight":   "1\n", // 0 on Linux 6.1
		"sys/fs/cgroup/i/cpu.idle":     "1\n",
	}
	for tid, path := range []string{"", "/", "/a/b", "/a/b/c", "/i", "/none", "/a/b"} {
		files[fmt.Sprintf("proc/%d/cgroup", tid)] = "0::" + path + "\n"
		files[fmt.Sprintf("proc/%d/autogroup", tid)] = fmt.Sprintf("/autogroup-%d nice 5\n", tid)
	}
	files["proc/5/autogroup"] = "/autogroup-1 nice 5\n"
	files["proc/6/task/16/cgroup"] = "0::/i\n"
	g := groupTree(t, unified, files)
	inner := g.Of(process(2))
	assert.Equal(t, &place.Group{Parent: &place.Group{Weight: 2048}, Weight: 102.4}, inner)
	assert.Same(t, inner, g.Of(process(3)), "without the controller it is in the group above")
	assert.Equal(t, &place.Group{Weight: 3}, g.Of(process(4)))
	session := g.Of(process(1))
	assert.Equal(t, &place.Group{Weight: 335}, session)
	assert.Same(t, session, g.Of(process(5)), "the same session")
	assert.Same(t, g.Of(process(4)), g.Of(&Task{TID: 16, TGID: 6}), "a threaded cgroup")
	assert.Nil(t, g.Of(process(99)), "it has ended")
	assert.Nil(t, g.Of(&Task{TID: 2, TGID: 2, Flags: FlagKernelThread}))
}

func TestGroupsOfVersion1(t *testing.T) {
	g := groupTree(t, unified+"31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n", map[string]string{
		"sys/fs/cgroup/cpu/cpu.shares":   "1024\n",
		"sys/fs/cgroup/cpu/a/cpu.shares": "102\n",
		"proc/1/cgroup":                  "3:cpuset:/x\n1:cpuacct,cpu:/a\n0::/\n",
		"proc/2/cgroup":                  "1:cpuacct,cpu:/\n0::/x\n",
		"proc/2/autogroup":               "/autogroup-7 nice 0\n",
	})
	assert.Equal(t, &place.Group{Weight: 102}, g.Of(process(1)))
	assert.Equal(t, &place.Group{Weight: 1024}, g.Of(process(2)), "its session: the root group has no weight")
}

func TestGroupsBelowACgroupNamespace(t *testing.T) {
	g := groupTree(t, "30 24 0:26 /pod /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", map[string]string{
		"sys/fs/cgroup/cpu.weight":   "50\n",
		"sys/fs/cgroup/a/cpu.weight": "100\n",
		"proc/1/cgroup":              "0::/pod/a\n",
	})
	assert.Equal(t, 1024., g.Of(process(1)).Weight)
	assert.Equal(t, &place.Group{Weight: 512}, g.Of(process(1)).Parent)
}

func TestNoGroups(t *testing.T) {
	g := groupTree(t, "", map[string]string{"proc/1/autogroup": "/autogroup-7 nice 0\n", "proc/2/autogroup": ""})
	assert.Equal(t, &place.Group{Weight: 1024}, g.Of(process(1)))
	assert.Nil(t, g.Of(process(2)), "in no session")
	g.auto = false
	assert.Nil(t, g.Of(process(1)), "autogroup is off")
}

// What a choice of CPUs takes for each task that it looks up.
func BenchmarkGroups(b *testing.B) {
	g := NewGroups(procfs.New("/"))
	self := process(kernel.TID(os.Getpid()))
	for b.Loop() {
		g.Of(self)
	}
}
